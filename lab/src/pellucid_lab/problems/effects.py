"""Problems with known partial dependence: five functions (exact) and the LCBench surrogates (densely sampled).

Everything is encoded: X is in the unit cube, the effect of a parameter is on a grid of [0, 1], and averages are over
uniformly distributed other parameters. Values are losses; on LCBench 1 - balanced accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from scipy.special import erf

from pellucid.numerics import low_discrepancy
from pellucid.space.encoding import Space
from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.problems.functions import HARTMANN, HARTMANN_ALPHA, SYNTHETIC

Array = NDArray[np.float64]

FUNCTIONS = ("branin", "camel", "styblinski-tang", "hartmann3", "hartmann6")
LCBENCH_TASKS = (
    *("3945", "34539", "7593", "126025", "126026", "126029", "146212", "167104"),
    *("167149", "167152", "167161", "167168", "167185", "167200", "189908"),
)
# The tuned parameters; all others are fixed.
LCBENCH_SPACE: dict[str, BaseDistribution] = {
    "learning_rate": FloatDistribution(1e-4, 1e-1, log=True),
    "max_dropout": FloatDistribution(0.0, 1.0),
    "max_units": IntDistribution(64, 512, log=True),
    "momentum": FloatDistribution(0.1, 0.99),
    "weight_decay": FloatDistribution(1e-5, 1e-1),
}
LCBENCH_FIXED = {"batch_size": 512.0, "num_layers": 5.0, "epoch": 52.0}
# Values at which effects are compared; configurations over which the true effects on LCBench are averaged; nodes per
# coordinate of the quadrature of the formulas.
GRID_SIZE = 20
_N_TRUTH = 2048
_NODES = 64


@dataclass(frozen=True)
class KnownEffects:
    """``losses`` maps encoded configurations (n, d) to (n,); ``effect`` maps a column and a grid to the true partial
    dependence on that grid."""

    name: str
    space: Space
    losses: Callable[[Array], Array]
    effect: Callable[[int, Array], Array]
    optimum: float

    @property
    def dimension(self) -> int:
        return len(self.space)


def known_effects(name: str, data: str | None = None) -> KnownEffects:
    """One of ``FUNCTIONS``, or ``lcbench-TASK``."""
    if name in FUNCTIONS:
        return _function(name)
    prefix, _, task = name.partition("-")
    if prefix == "lcbench" and task in LCBENCH_TASKS:
        return _lcbench(task, data)
    raise Mistake(
        f"Problems with known effects are {', '.join(FUNCTIONS)} and lcbench-TASK with a task of "
        f"{', '.join(LCBENCH_TASKS)}; got `{name}`."
    )


def grid_of(space: Space, column: int) -> Array:
    """Evenly spaced values from 0 to 1; for a discrete parameter, the centres of its cells."""
    return np.unique(space.dimensions[column].snap(np.linspace(0.0, 1.0, GRID_SIZE)))


# ---------------------------------------------------------------------- formulas


@cache
def _function(name: str) -> KnownEffects:
    formula, box, optimum = SYNTHETIC[name]
    low, high = np.array(box, dtype=float).T
    distributions: Mapping[str, BaseDistribution] = {f"x{j}": FloatDistribution(a, b) for j, (a, b) in enumerate(box)}
    effect = partial(_hartmann_effect, name) if name in HARTMANN else partial(_quadrature, formula, low, high)
    return KnownEffects(name, Space.of(distributions), lambda X: formula(low + X * (high - low)), effect, optimum)


def _hartmann_effect(name: str, column: int, grid: Array) -> Array:
    """Every term is a product of Gaussians: its average over a coordinate is a difference of error functions."""
    widths, centres = HARTMANN[name]
    root = np.sqrt(widths)
    averages = np.sqrt(np.pi) / (2.0 * root) * (erf(root * (1.0 - centres)) + erf(root * centres))
    rest = np.delete(averages, column, axis=1).prod(axis=1)
    bumps = np.exp(-widths[:, column] * (grid[:, None] - centres[:, column]) ** 2)
    return np.asarray(-(bumps * rest) @ HARTMANN_ALPHA)


def _quadrature(formula: Callable[[Array], Array], low: Array, high: Array, column: int, grid: Array) -> Array:
    """Gauss-Legendre quadrature over the other one or two coordinates."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    d = len(low)
    axes = [grid if j == column else nodes for j in range(d)]
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = np.moveaxis(formula(low + mesh * (high - low)), column, 0)
    for _ in range(d - 1):
        values = values @ weights
    return np.asarray(values)


# ---------------------------------------------------------------------- tuned networks


@lru_cache(maxsize=len(LCBENCH_TASKS))
def _lcbench(task: str, data: str | None) -> KnownEffects:
    space = Space.of(LCBENCH_SPACE)
    losses = partial(_lcbench_losses, space, task, data)
    sampled_losses = losses(low_discrepancy(0, _N_TRUTH, np.full(len(space), 0.5)))

    @cache
    def on_grid(column: int) -> tuple[Array, Array]:
        grid, u = grid_of(space, column), low_discrepancy(0, _N_TRUTH, np.full(len(space), 0.25))
        rows = np.repeat(u[None], len(grid), axis=0)
        rows[:, :, column] = grid[:, None]
        return grid, losses(rows.reshape(-1, len(space))).reshape(len(grid), -1).mean(axis=1)

    def effect(column: int, grid: Array) -> Array:
        known_grid, values = on_grid(column)
        if not np.array_equal(known_grid, grid):
            raise ValueError("The effects of a task are known on `grid_of(space, column)` only.")
        return values

    return KnownEffects(f"lcbench-{task}", space, losses, effect, float(sampled_losses.min()))


def _lcbench_losses(space: Space, task: str, data: str | None, X: Array) -> Array:
    from pellucid_lab.problems.yahpo import LCBENCH, load_surrogate

    surrogate = load_surrogate(LCBENCH, data)
    columns = {
        name: np.array(d.decode(X[:, j])) for j, (name, d) in enumerate(zip(space.names, space.dimensions, strict=True))
    }
    columns |= {name: np.full(len(X), value) for name, value in LCBENCH_FIXED.items()}
    numbers = np.stack([columns[name] for name in LCBENCH.numbers], axis=1).astype(np.float32)
    codes = np.full((len(X), 1), surrogate.codes[LCBENCH.task][task], dtype=np.int32)
    return np.asarray(1.0 - surrogate.run(codes, numbers)[:, LCBENCH.outputs.index(LCBENCH.target)])
