"""Problems on which errors are reported. No rule and no default may be chosen on them."""

from __future__ import annotations

import numpy as np

from pellucid_lab.truth.shapes import bowl, step
from pellucid_lab.truth.spaces import Array, Positions, TruthProblem, choice, real, whole


def _valley(p: Positions) -> Array:
    off = p["learning_rate"] - 0.55 - 0.5 * (p["batch_size"] - 0.5)
    inertia = (0.3 + p["learning_rate"]) * bowl(p["momentum"], 0.8)
    return 0.1 + 3.0 * off**2 + 0.6 * bowl(p["weight_decay"], 0.4) + 0.8 * inertia


def _cliff(p: Positions) -> Array:
    stress = p["learning_rate"] + 0.35 * p["momentum"] - 0.25 * (1.0 - p["clip"])
    smooth = 0.25 + 1.1 * bowl(p["learning_rate"], 0.9) + 0.25 * bowl(p["dropout"], 0.3)
    return smooth + 2.5 * step(35.0 * (stress - 0.72))


def _plateau(p: Positions) -> Array:
    distance = np.sqrt(1.6 * bowl(p["learning_rate"], 0.42) + 0.7 * bowl(p["depth"], 0.6) + 0.4 * bowl(p["width"], 0.7))
    return 0.1 + 0.84 * step((0.38 - distance) / 0.07) - 0.06 * distance


def _dominant(p: Positions) -> Array:
    small = 0.02 * bowl(p["subsample"], 0.8) + 0.03 * bowl(p["min_child"], 0.3) + 0.02 * p["gamma"] * p["lambda"]
    return 0.93 - 0.9 * bowl(p["eta"], 0.35) - small


def _dummies(p: Positions) -> Array:
    return 1.0 + 2.0 * bowl(p["a"], 0.7) + 1.2 * np.abs(p["b"] - 0.25) ** 1.5


def _kernels(p: Positions) -> Array:
    linear = 0.905 - 0.05 * bowl(p["C_linear"], 0.6)
    poly = 0.92 - 0.12 * bowl(p["C_poly"], 0.5) - 0.15 * bowl(p["degree"], 0.4) - 0.03 * bowl(p["coef0"], 0.8)
    rbf = 0.62 + 0.34 * np.exp(-0.5 * (bowl(p["C_rbf"], 0.7, 0.22) + bowl(p["gamma_rbf"], 0.35, 0.16)))
    shared = 0.02 * bowl(p["tolerance"], 0.5)
    return np.asarray(np.select([p["kernel"] == 0, p["kernel"] == 1], [linear, poly], rbf) - shared)


def _border(p: Positions) -> Array:
    return 0.3 + 0.5 * bowl(p["rounds"], 1.35) + 0.8 * bowl(p["eta"], 0.45) + 0.25 * p["eta"] * p["depth"]


def _narrow(p: Positions) -> Array:
    wide = 0.75 * np.exp(-0.5 * (bowl(p["x"], 0.3, 0.3) + bowl(p["y"], 0.6, 0.35)))
    well = np.exp(-0.5 * (bowl(p["x"], 0.85, 0.06) + bowl(p["y"], 0.15, 0.07)))
    return 1.2 - np.maximum(wide, well) + 0.1 * bowl(p["z"], 0.5)


def _partners(p: Positions) -> Array:
    cross = (p["alpha"] - 0.5) * (p["beta"] - 0.5)
    return 0.6 + 2.4 * cross + 0.35 * bowl(p["gamma"], 0.4)


def _forest(p: Positions) -> Array:
    features = np.select([p["features"] == 0, p["features"] == 1], [0.0, 0.015], 0.05)
    booster = np.select([p["booster"] == 0, p["booster"] == 1], [0.0, 0.01], 0.12)
    size = 0.25 * bowl(p["depth"], 0.55) * (1.4 - p["leaves"]) + 0.12 * bowl(p["leaves"], 0.7)
    rest = 0.3 * bowl(p["eta"], 0.4) + 0.04 * bowl(p["subsample"], 0.9)
    return np.asarray(0.91 - booster - features - size - rest)


def _optimizers(p: Positions) -> Array:
    sgd = 0.32 + 1.5 * bowl(p["lr"], 0.75) + 0.5 * bowl(p["momentum"], 0.85)
    adam = 0.28 + 1.8 * bowl(p["lr"], 0.4) + 0.05 * bowl(p["beta2"], 0.9)
    deep = p["layers"] > 0.25
    width = 0.25 * bowl(p["units_1"], 0.6) + np.where(deep, 0.2 * bowl(p["units_2"], 0.4) - 0.05, 0.0)
    return np.asarray(np.where(p["optimizer"] == 0, sgd, adam) + width)


def _ridge(p: Positions) -> Array:
    a, b, c, d = (p[name] - 0.5 for name in ("a", "b", "c", "d"))
    return 0.2 + 2.0 * (a + b - 0.15) ** 2 + 1.5 * (b - c + 0.1) ** 2 + 0.4 * (c + d) ** 2 + 0.1 * (a - d) ** 2


def _shrinkage(p: Positions) -> Array:
    loss = 0.5 * bowl(p["penalty"], -0.3) + 0.4 * bowl(p["ratio"], 0.6) + 0.3 * np.abs(p["scale"] - 0.3)
    return 0.95 - loss


def _wells(p: Positions) -> Array:
    waves = 0.25 * (1.0 - np.cos(3.0 * np.pi * (p["a"] - 0.38))) + 0.15 * (1.0 - np.cos(2.0 * np.pi * (p["b"] - 0.2)))
    return 0.4 + waves + 0.9 * bowl(p["a"], 0.4) + 0.6 * bowl(p["b"], 0.3) + 0.5 * bowl(p["c"], 0.65)


REPORTED = {
    problem.name: problem
    for problem in (
        TruthProblem(
            "valley",
            "minimize",
            (
                real("learning_rate", 1e-5, 1.0, log=True),
                whole("batch_size", 16, 512, log=True),
                real("weight_decay", 1e-6, 1e-1, log=True),
                real("momentum", 0.0, 0.99),
                real("label_smoothing", 0.0, 0.3),
                whole("warmup", 0, 20),
            ),
            _valley,
        ),
        TruthProblem(
            "cliff",
            "minimize",
            (
                real("learning_rate", 1e-4, 10.0, log=True),
                real("momentum", 0.0, 0.99),
                real("clip", 0.1, 10.0, log=True),
                real("dropout", 0.0, 0.6),
                real("epsilon", 1e-10, 1e-6, log=True),
            ),
            _cliff,
        ),
        TruthProblem(
            "plateau",
            "maximize",
            (
                real("learning_rate", 1e-5, 1e-1, log=True),
                whole("depth", 1, 12),
                whole("width", 16, 1024, log=True),
                real("gain", 0.5, 2.0),
                real("jitter", 0.0, 1.0),
            ),
            _plateau,
        ),
        TruthProblem(
            "dominant",
            "maximize",
            (
                real("eta", 1e-3, 1.0, log=True),
                real("subsample", 0.3, 1.0),
                whole("min_child", 1, 64, log=True),
                real("gamma", 1e-4, 10.0, log=True),
                real("lambda", 1e-3, 100.0, log=True),
            ),
            _dominant,
        ),
        TruthProblem(
            "dummies",
            "minimize",
            tuple(real(name, 0.0, 1.0) for name in ("a", "b", "n1", "n2", "n3", "n4", "n5", "n6")),
            _dummies,
        ),
        TruthProblem(
            "kernels",
            "maximize",
            (
                choice("kernel", "linear", "poly", "rbf"),
                real("C_linear", 1e-3, 1e3, log=True, where=("kernel", "linear")),
                real("C_poly", 1e-3, 1e3, log=True, where=("kernel", "poly")),
                whole("degree", 1, 6, where=("kernel", "poly")),
                real("coef0", 0.0, 1.0, where=("kernel", "poly")),
                real("C_rbf", 1e-3, 1e3, log=True, where=("kernel", "rbf")),
                real("gamma_rbf", 1e-5, 1e1, log=True, where=("kernel", "rbf")),
                real("tolerance", 1e-6, 1e-2, log=True),
            ),
            _kernels,
            safe=False,
        ),
        TruthProblem(
            "border",
            "minimize",
            (
                whole("rounds", 10, 300),
                real("eta", 1e-3, 1.0, log=True),
                whole("depth", 2, 12),
                real("colsample", 0.2, 1.0),
            ),
            _border,
        ),
        TruthProblem(
            "narrow", "minimize", (real("x", 0.0, 1.0), real("y", 0.0, 1.0), real("z", 0.0, 1.0)), _narrow, safe=False
        ),
        TruthProblem(
            "partners",
            "minimize",
            (
                real("alpha", 0.0, 1.0),
                real("beta", 0.0, 1.0),
                real("gamma", 0.0, 1.0),
                real("delta", 0.0, 1.0),
                real("kappa", 0.0, 1.0),
            ),
            _partners,
        ),
        TruthProblem(
            "forest",
            "maximize",
            (
                choice("booster", "gbtree", "dart", "linear"),
                choice("features", "sqrt", "log2", "all"),
                whole("depth", 2, 14),
                whole("leaves", 4, 256, log=True),
                real("eta", 1e-3, 1.0, log=True),
                real("subsample", 0.3, 1.0),
            ),
            _forest,
        ),
        TruthProblem(
            "optimizers",
            "minimize",
            (
                choice("optimizer", "sgd", "adam"),
                real("lr", 1e-5, 1.0, log=True),
                real("momentum", 0.0, 0.99, where=("optimizer", "sgd")),
                real("beta2", 0.9, 0.9999, where=("optimizer", "adam")),
                whole("layers", 1, 3),
                whole("units_1", 16, 512, log=True),
                whole("units_2", 16, 512, log=True, where=("layers", (2, 3))),
            ),
            _optimizers,
            safe=False,
        ),
        TruthProblem("ridge", "minimize", tuple(real(name, -2.0, 2.0) for name in "abcd"), _ridge),
        TruthProblem(
            "shrinkage",
            "maximize",
            (
                real("penalty", 1e-3, 1e3, log=True),
                real("ratio", 0.0, 1.0),
                real("scale", 0.1, 10.0, log=True),
                choice("solver", "saga", "lbfgs"),
            ),
            _shrinkage,
        ),
        TruthProblem(
            "wells", "minimize", tuple(real(name, 0.0, 1.0) for name in ("a", "b", "c", "idle")), _wells, safe=False
        ),
    )
}
