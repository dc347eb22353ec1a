"""Problems with two objectives whose fronts are known: the points of each front, and its best second objective.

Everything comes from the formulas of `problems.several_formulas`, on configurations that hold the front.

Notation
    front (n, 2)   outcomes that no other dominates, in the order of the first objective; both are minimised
    phi(a)         the least second objective among outcomes whose first is at most a
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from pellucid.pareto import front
from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.problems import several_formulas as formulas
from pellucid_lab.problems.several_formulas import Array, Constraints, Objectives

DESIGN_FRONTS = ("shifted-zdt1", "small-dtlz7", "branin-currin", "vlmop2-noisy", "tnk")
REPORTED_FRONTS = ("zdt1", "zdt2", "zdt3", "zdt6", "dtlz2-2", "dtlz7-2", "wfg4-2", "c2-dtlz2")
FRONTS = {"design": DESIGN_FRONTS, "reported": REPORTED_FRONTS}
# Points along a parameter that sweeps the front, and along each side of a grid.
_N_SWEEP, _N_GRID = 20_001, 1_501
# A longer step along the first objective is a gap of the front, as a share of its length.
_GAP = 0.03
# Noise is this share of the distance between the ends of the front, in every objective.
NOISE = 0.05


def _sweep(d: int, rest: float) -> Array:
    """The first parameter sweeps the unit interval, the others stay."""
    return np.asarray(np.c_[np.linspace(0.0, 1.0, _N_SWEEP), np.full((_N_SWEEP, d - 1), rest)])


def _line(d: int) -> Array:
    """Between the two centres of VLMOP2."""
    return np.repeat(np.linspace(-1.0, 1.0, _N_SWEEP)[:, None] / math.sqrt(d), d, axis=1)


def _grid() -> Array:
    side = np.linspace(0.0, 1.0, _N_GRID)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def _wave() -> Array:
    """Along the wave of TNK, a hair inside."""
    angles = np.linspace(0.0, 0.5 * math.pi, _N_SWEEP)
    radius = np.sqrt(1.0 + 0.1 * np.cos(16.0 * angles)) * (1.0 + 1e-12)
    return np.asarray(radius[:, None] * np.c_[np.sin(angles), np.cos(angles)])


def _wfg_sweep(d: int) -> Array:
    """Positions together over their ranges, distances at their best."""
    shares = np.c_[np.repeat(np.linspace(0.35, 1.0, _N_SWEEP)[:, None], 2, axis=1), np.full((_N_SWEEP, d - 2), 0.35)]
    low = np.c_[np.repeat(np.linspace(0.0, 0.35, _N_SWEEP)[:, None], 2, axis=1), np.full((_N_SWEEP, d - 2), 0.35)]
    return np.vstack([low, shares]) * 2.0 * np.arange(1, d + 1)


_Source = tuple[Objectives, Callable[[], Array], Constraints | None]
_SOURCES: dict[str, _Source] = {
    "shifted-zdt1": (formulas.shifted_zdt1, partial(_sweep, 5, 0.3), None),
    "small-dtlz7": (partial(formulas.dtlz7, k=2), partial(_sweep, 4, 0.0), None),
    "branin-currin": (formulas.branin_currin, _grid, None),
    "vlmop2-noisy": (formulas.vlmop2, partial(_line, 3), None),
    "tnk": (formulas.tnk, _wave, formulas.tnk_constraints),
    "zdt1": (formulas.zdt1, partial(_sweep, 6, 0.0), None),
    "zdt2": (formulas.zdt2, partial(_sweep, 6, 0.0), None),
    "zdt3": (formulas.zdt3, partial(_sweep, 5, 0.0), None),
    "zdt6": (formulas.zdt6, partial(_sweep, 6, 0.0), None),
    "dtlz2-2": (partial(formulas.dtlz2, k=2), partial(_sweep, 6, 0.5), None),
    "dtlz7-2": (partial(formulas.dtlz7, k=2), partial(_sweep, 6, 0.0), None),
    "wfg4-2": (partial(formulas.wfg4, k=2, positions=2), partial(_wfg_sweep, 6), None),
    "c2-dtlz2": (partial(formulas.dtlz2, k=2), partial(_sweep, 5, 0.5), formulas.c2_dtlz2),
}


# Of all other problems it is the first parameter.
_TRADING = {
    "branin-currin": ("x1", "x2"),
    "vlmop2-noisy": ("x1", "x2", "x3"),
    "tnk": ("x1", "x2"),
    "wfg4-2": ("x1", "x2"),
}


def check_front(name: str) -> None:
    if name not in _SOURCES:
        raise Mistake(f"The problems whose fronts are known are {', '.join(_SOURCES)}; got `{name}`.")


def outcomes_at(name: str, x: Array) -> Array:
    """(n, 2) of configurations x (n, d), feasible or not."""
    check_front(name)
    return np.asarray(_SOURCES[name][0](x))


@cache
def true_front(name: str) -> Array:
    """(n, 2)"""
    check_front(name)
    objectives, configurations, constraints = _SOURCES[name]
    x = configurations()
    if constraints is not None:
        x = x[np.all([values <= 0.0 for values in constraints(x).values()], axis=0)]
    outcomes = objectives(x)
    outcomes = outcomes[front(outcomes)]
    return np.asarray(outcomes[np.argsort(outcomes[:, 0])])


def spread(name: str) -> Array:
    """(2,) Distance between the ends of the front, in every objective."""
    return np.asarray(np.ptp(true_front(name), axis=0))


def best_second(name: str, first: float) -> float:
    """phi; infinite if nothing reaches it. Between points that are close it is a straight line; else the front has a
    gap there."""
    A, B = true_front(name).T
    i = int(np.searchsorted(A, first, side="right")) - 1
    if i < 0:
        return math.inf
    if i + 1 == len(A) or A[i + 1] - A[i] > _GAP * (A[-1] - A[0]):
        return float(B[i])
    return float(np.interp(first, A[i : i + 2], B[i : i + 2]))


def trading(name: str) -> tuple[str, ...]:
    """The parameters that trade one objective against the other: the best value of each is not the same all along the
    front."""
    return _TRADING.get(name, ("x1",))
