"""Problems on which rules and defaults are chosen."""

from __future__ import annotations

import numpy as np

from pellucid_lab.truth.shapes import bowl, step
from pellucid_lab.truth.spaces import Array, Positions, TruthProblem, choice, real, whole


def _trench(p: Positions) -> Array:
    return (
        0.05
        + 4.0 * (p["lr"] + 0.6 * p["wd"] - 0.85) ** 2
        + 0.8 * bowl(p["wd"], 0.3)
        + 0.4 * p["lr"] * bowl(p["beta"], 0.9)
    )


def _divergence(p: Positions) -> Array:
    return (
        0.4
        + 0.9 * bowl(p["rate"], 0.6)
        + 0.3 * bowl(p["size"], 0.5)
        + 1.6 * step(50.0 * (p["rate"] * (0.6 + p["size"]) - 0.75))
    )


def _chance(p: Positions) -> Array:
    return (
        0.5
        + 0.45 * np.exp(-((bowl(p["lr"], 0.55, 0.3) + bowl(p["units"], 0.7, 0.55)) ** 2))
        - 0.01 * bowl(p["decay"], 0.2)
    )


def _leader(p: Positions) -> Array:
    return 0.2 + 1.5 * np.abs(p["C"] - 0.62) + 0.08 * bowl(p["gamma"], 0.4) + 0.05 * p["shrink"]


def _models(p: Positions) -> Array:
    ridge = 0.84 - 0.06 * bowl(p["alpha"], 0.5)
    trees = 0.88 - 0.1 * bowl(p["depth"], 0.5) - 0.05 * bowl(p["samples"], 0.2)
    boosting = 0.60 + 0.33 * np.exp(-0.5 * (bowl(p["rate"], 0.4, 0.18) + bowl(p["rounds"], 0.75, 0.25)))
    return np.select([p["model"] == 0, p["model"] == 1], [ridge, trees], boosting)


def _beyond(p: Positions) -> Array:
    return 0.9 - 0.35 * bowl(p["epochs"], 1.5) - 0.6 * bowl(p["lr"], 0.5) - 0.1 * bowl(p["mix"], 0.3)


def _deceptive(p: Positions) -> Array:
    wide = 0.8 * np.exp(-0.5 * (bowl(p["x"], 0.65, 0.3) + bowl(p["y"], 0.4, 0.3)))
    well = np.exp(-0.5 * (bowl(p["x"], 0.12, 0.07) + bowl(p["y"], 0.88, 0.06)))
    return 1.0 - np.maximum(wide, well)


def _mixed(p: Positions) -> Array:
    kind = np.select([p["kind"] == 0, p["kind"] == 1, p["kind"] == 2], [0.0, 0.05, 0.1], 0.3)
    return 0.3 + kind + 0.8 * bowl(p["lr"], 0.35 + 0.1 * (p["kind"] == 1)) + 0.3 * bowl(p["depth"], 0.5) * p["lr"]


def _quiet(p: Positions) -> Array:
    return 0.5 + 1.5 * bowl(p["a"], 0.4) * (0.5 + p["b"]) + 0.2 * p["b"]


DESIGN = {
    problem.name: problem
    for problem in (
        TruthProblem(
            "trench",
            "minimize",
            (
                real("lr", 1e-5, 1e-1, log=True),
                real("wd", 1e-6, 1.0, log=True),
                real("beta", 0.5, 0.999),
                real("seed_scale", 0.0, 1.0),
                whole("patience", 1, 30),
            ),
            _trench,
        ),
        TruthProblem(
            "divergence",
            "minimize",
            (real("rate", 1e-3, 10.0, log=True), whole("size", 8, 256, log=True), real("idle", 0.0, 1.0)),
            _divergence,
        ),
        TruthProblem(
            "chance",
            "maximize",
            (
                real("lr", 1e-5, 1.0, log=True),
                whole("units", 8, 512, log=True),
                real("decay", 0.0, 0.1),
                real("dropout", 0.0, 0.5),
            ),
            _chance,
        ),
        TruthProblem(
            "leader",
            "minimize",
            (
                real("C", 1e-3, 1e3, log=True),
                real("gamma", 1e-4, 1.0, log=True),
                real("shrink", 0.0, 1.0),
                real("cache", 100.0, 1000.0),
            ),
            _leader,
        ),
        TruthProblem(
            "models",
            "maximize",
            (
                choice("model", "ridge", "trees", "boosting"),
                real("alpha", 1e-4, 1e2, log=True, where=("model", "ridge")),
                whole("depth", 2, 20, where=("model", "trees")),
                whole("samples", 1, 50, log=True, where=("model", "trees")),
                real("rate", 1e-3, 1.0, log=True, where=("model", "boosting")),
                whole("rounds", 20, 500, log=True, where=("model", "boosting")),
            ),
            _models,
            safe=False,
        ),
        TruthProblem(
            "beyond",
            "maximize",
            (whole("epochs", 5, 60), real("lr", 1e-5, 1e-1, log=True), real("mix", 0.0, 1.0), real("tick", 0.0, 1.0)),
            _beyond,
        ),
        TruthProblem("deceptive", "minimize", (real("x", 0.0, 1.0), real("y", 0.0, 1.0)), _deceptive, safe=False),
        TruthProblem(
            "mixed",
            "minimize",
            (
                choice("kind", "a", "b", "c", "d"),
                real("lr", 1e-4, 1.0, log=True),
                whole("depth", 1, 10),
                choice("flag", "on", "off"),
            ),
            _mixed,
        ),
        TruthProblem(
            "quiet",
            "minimize",
            tuple(real(name, 0.0, 1.0) for name in ("a", "b", "n1", "n2", "n3", "n4", "n5")),
            _quiet,
        ),
    )
}
