"""What is true of a problem: Sobol indices, average and best values along a parameter, the optimum.

Everything is computed from the formula on many evenly spread configurations, so that its own error is far below the
differences that the bench looks for. Indices of a conditional parameter are among the configurations that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import qmc

from pellucid_lab.base import stable_seed
from pellucid_lab.truth.problems import find_problem
from pellucid_lab.truth.spaces import Array, TruthProblem

# Configurations behind an index, an average, and a search for the best value: the error of each is below 1%.
_N_INDEX, _N_AVERAGE, _N_SEARCH = 2**14, 2**12, 2**12
# A search continues around this many of the best configurations, in rounds with shorter and shorter steps.
_N_KEPT, _N_AROUND, _STEPS = 12, 24, (0.12, 0.05, 0.02, 0.008, 0.003, 0.001)
# An index below this is that of a parameter without an effect.
NO_EFFECT = 1e-6


@dataclass(frozen=True)
class TrueIndex:
    """First-order and total Sobol index of a parameter, among configurations that have it. `branch`: its parent and
    the values of it for which it exists, as text; empty if it always exists."""

    name: str
    first: float
    total: float
    branch: str

    @property
    def dummy(self) -> bool:
        return self.total < NO_EFFECT


@cache
def indices(name: str) -> tuple[TrueIndex, ...]:
    """Of all parameters, by Jansen's estimators on a Sobol sequence."""
    problem = find_problem(name)
    return tuple(_index(problem, parameter.name) for parameter in problem.parameters)


def _index(problem: TruthProblem, name: str) -> TrueIndex:
    d, j = len(problem.parameters), problem.names.index(name)
    draws = qmc.Sobol(2 * d, seed=stable_seed("indices", problem.name)).random(_N_INDEX)
    first, second = draws[:, :d], draws[:, d:]
    held: dict[str, tuple[Any, ...]] = {}
    parameter = problem.by_name[name]
    branch = f"{parameter.parent} in {parameter.values}" if parameter.parent else ""
    if branch:
        held = {parameter.parent: parameter.values}
        grandparent = problem.by_name[parameter.parent]
        assert not grandparent.parent, "the bench has no nested conditions"
    first, second = (_restricted(problem, u, held) for u in (first, second))
    swapped = first.copy()
    swapped[:, j] = second[:, j]
    a, b, c = (problem.values_at(u) for u in (first, second, swapped))
    variance = float(np.var(np.r_[a, b]))
    total = float(np.mean((a - c) ** 2)) / (2.0 * variance)
    only = second.copy()
    only[:, j] = first[:, j]
    main = 1.0 - float(np.mean((a - problem.values_at(only)) ** 2)) / (2.0 * variance)
    return TrueIndex(name, max(main, 0.0), total, branch)


def _restricted(problem: TruthProblem, u: Array, held: Mapping[str, Sequence[Any]]) -> Array:
    """Uniform draws (n, d) with the held parameters at one of their values, each equally often."""
    out: Array = u.copy()
    for name, values in held.items():
        j, parameter = problem.names.index(name), problem.by_name[name]
        grid = (np.arange(4096) + 0.5) / 4096
        allowed = grid[[value in values for value in parameter.decoded(grid)]]
        out[:, j] = allowed[np.minimum((u[:, j] * len(allowed)).astype(int), len(allowed) - 1)]
    return out


def _ancestors(problem: TruthProblem, name: str) -> dict[str, tuple[Any, ...]]:
    parameter = problem.by_name[name]
    return {parameter.parent: parameter.values} if parameter.parent else {}


@cache
def averages(name: str, param: str, values: tuple[Any, ...]) -> Array:
    """The average value of the function at values of a parameter, over the configurations that have it."""
    problem = find_problem(name)
    u = qmc.Sobol(len(problem.parameters), seed=stable_seed("averages", name)).random(_N_AVERAGE)
    u = _restricted(problem, u, _ancestors(problem, param))
    return np.array([problem.values_at(at).mean() for at in _held_at(problem, u, param, values)])


@cache
def best_values(name: str, param: str, values: tuple[Any, ...]) -> Array:
    """The best value that any configuration with each of these values reaches."""
    problem = find_problem(name)
    u = qmc.Sobol(len(problem.parameters), seed=stable_seed("best", name)).random(_N_SEARCH)
    u = _restricted(problem, u, _ancestors(problem, param))
    fixed = (param, *_ancestors(problem, param))
    return np.array([_search(problem, at, fixed)[0] for at in _held_at(problem, u, param, values)])


def _held_at(problem: TruthProblem, u: Array, param: str, values: Sequence[Any]) -> list[Array]:
    j, parameter = problem.names.index(param), problem.by_name[param]
    grid = (np.arange(8192) + 0.5) / 8192
    decoded = parameter.positions(parameter.decoded(grid))
    out = []
    for position in parameter.positions(values):
        at = u.copy()
        at[:, j] = grid[int(np.argmin(np.abs(decoded - position)))]
        out.append(at)
    return out


def _search(
    problem: TruthProblem, u: Array, fixed: Sequence[str] = (), losses_at: Callable[[Array], Array] | None = None
) -> tuple[float, Array]:
    """The best value and the draw that it belongs to; `fixed` parameters keep the values that they have.

    `losses_at`: what is minimised, if it is not the function itself.
    """
    rng = np.random.default_rng(stable_seed("search", problem.name))
    keep = [problem.names.index(name) for name in fixed]
    if losses_at is None:
        losses_at = _losses_of(problem)
    losses = losses_at(u)
    for step in _STEPS:
        top = u[np.argsort(losses, kind="stable")[:_N_KEPT]]
        around = np.repeat(top, _N_AROUND, axis=0)
        moved = np.clip(around + step * rng.standard_normal(around.shape), 0.0, 1.0)
        moved[:, keep] = around[:, keep]
        u = np.vstack([top, moved])
        losses = losses_at(u)
    best = int(np.argmin(losses))
    return float(problem.sign * losses[best]), u[best]


def _losses_of(problem: TruthProblem, param: str = "", position: float = 0.0) -> Callable[[Array], Array]:
    """The function to minimise, with one parameter at a position if it is named."""
    at = {param: position} if param else {}
    return lambda u: np.asarray(problem.sign * problem.values_at(u, at))


@cache
def optimum(name: str) -> tuple[float, dict[str, Any]]:
    """The best value, and a configuration that reaches it."""
    problem = find_problem(name)
    u = qmc.Sobol(len(problem.parameters), seed=stable_seed("optimum", name)).random(2**16)
    value, row = _search(problem, u)
    params = {p.name: p.decoded(row[j : j + 1])[0] for j, p in enumerate(problem.parameters)}
    exists = {n: v for n, v in params.items() if not (p := problem.by_name[n]).parent or params[p.parent] in p.values}
    return value, exists


@cache
def spread(name: str) -> float:
    """Distance between a typical and the best value: the unit in which tolerances are set."""
    return 10.0 * find_problem(name).noise_sd


@cache
def gain_beyond(name: str, param: str, end: str) -> float:
    """How much better the optimum becomes if a range is widened by a tenth at its 'lower' or 'upper' end: a share of
    `spread`, negative if nothing there is as good. Formulas continue beyond the ends of ranges."""
    problem = find_problem(name)
    u = qmc.Sobol(len(problem.parameters), seed=stable_seed("beyond", name)).random(_N_SEARCH)
    u = _restricted(problem, u, _ancestors(problem, param))
    beyond = _losses_of(problem, param, -0.1 if end == "lower" else 1.1)
    best, _ = _search(problem, u, tuple(_ancestors(problem, param)), beyond)
    return float(problem.sign * (optimum(name)[0] - best)) / spread(name)


@cache
def loss_without(name: str, param: str, start: float, stop: float) -> float:
    """How much is lost if a part of a range, from `start` to `stop`, is removed: a share of `spread`. A parameter that
    exists for some choices only can be left alone, so that removing a part of it costs nothing elsewhere."""
    problem = find_problem(name)
    j, parameter = problem.names.index(param), problem.by_name[param]

    def losses_at(u: Array) -> Array:
        removed = (u[:, j] >= start) & (u[:, j] <= stop)
        if parameter.parent:
            parents = problem.by_name[parameter.parent].decoded(u[:, problem.names.index(parameter.parent)])
            removed &= np.array([value in parameter.values for value in parents])
        return np.where(removed, np.inf, problem.sign * problem.values_at(u))

    u = qmc.Sobol(len(problem.parameters), seed=stable_seed("without", name)).random(2**16)
    best, _ = _search(problem, u, (), losses_at)
    return float(problem.sign * (best - optimum(name)[0])) / spread(name)
