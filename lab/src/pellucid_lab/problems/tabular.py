"""Tables of configurations and their values, organised like HPO-B: tasks that share a space, split into training,
validation and tests.

A run starts with the configurations of a seed and then evaluates one pending configuration of the table at a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.numerics import Array
from pellucid.space.conditions import declared_conditions
from pellucid.space.encoding import Space
from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.problems.data import find_data
from pellucid_lab.problems.yahpo import SCENARIOS, Surrogate, load_surrogate

Indices = npt.NDArray[np.int64]
_PARTS = ("train", "validation", "test")
# Repetitions on validation tasks, as many as on test tasks.
_VALIDATION_SEEDS = 5


@dataclass(frozen=True)
class TabularTask:
    """The configurations of one data set, X (n, d) encoded, and their values, y (n,): larger is better."""

    name: str
    X: Array
    y: Array

    def regret(self, chosen: Indices) -> Array:
        """(max - best so far) / (max - min) after each of the chosen configurations, (len(chosen),)."""
        best = np.maximum.accumulate(self.y[chosen])
        spread = self.y.max() - self.y.min()
        # If all values are equal, all of them are the best.
        return np.asarray((self.y.max() - best) / spread if spread > 0.0 else np.zeros(len(best)))


@dataclass(frozen=True)
class Collection:
    """Tasks of one space, for training, for the choice of settings, and for tests.

    `seeds` has one row of initial indices per repetition, for each task of `validation` and `test`.
    """

    name: str
    space: Space
    train: tuple[TabularTask, ...]
    validation: tuple[TabularTask, ...]
    test: tuple[TabularTask, ...]
    seeds: Mapping[str, Indices]
    steps: int


def read_splits(data: str | None) -> dict[str, Any]:
    file = "meta/splits.json"
    folder = find_data("The transfer benchmark", data, ("",), (file,), "the splits of the transfer benchmark")
    splits: dict[str, Any] = json.loads((folder / file).read_text())
    return splits


@lru_cache(maxsize=2)
def tabular(name: str, data: str | None, draw: int = 0) -> Collection:
    """One of the collections that splits.json describes; its surrogate is evaluated here. Draw 0 has the configurations
    of the file's seed; other draws have other configurations of the same tasks, with the same splits and starts."""
    splits = read_splits(data)
    if name not in splits or name not in SCENARIOS:
        raise Mistake(f"There is no collection `{name}`; use one of {', '.join(n for n in SCENARIOS if n in splits)}.")
    split, surrogate = splits[name], load_surrogate(SCENARIOS[name], data)
    space = space_of(surrogate)
    number = {task: surrogate.tasks.index(task) for part in _PARTS for task in split[part]}
    draw_seed, size = ([1000 + draw] if draw else []), int(splits["N"])
    tables = {
        task: table(surrogate, space, task, split["target"], drawn(surrogate, size, [splits["seed"], i, *draw_seed]))
        for task, i in number.items()
    }
    seeds = {task: np.array(rows, dtype=np.int64) for task, rows in split["init"].items()}
    for task in split["validation"]:
        # The file has starts for the test tasks only; those for validation are drawn here.
        rng = np.random.default_rng([int(splits["seed"]), number[task], 1])
        starts = [rng.choice(size, splits["n_init"], replace=False) for _ in range(_VALIDATION_SEEDS)]
        seeds[task] = np.stack(starts)
    parts = {part: tuple(tables[task] for task in split[part]) for part in _PARTS}
    return Collection(name, space, parts["train"], parts["validation"], parts["test"], seeds, int(splits["steps"]))


def space_of(surrogate: Surrogate) -> Space:
    flat = Space.of(surrogate.space)
    declared = {child: (parent, sorted(values)) for child, (parent, values) in surrogate.active_when.items()}
    return Space(flat.dimensions, declared_conditions(flat, declared))


def table(surrogate: Surrogate, space: Space, task: str, target: str, drawn: Mapping[str, list[Any]]) -> TabularTask:
    scenario, size = surrogate.scenario, len(next(iter(drawn.values())))
    configurations = [{name: drawn[name][i] for name in surrogate.space} for i in range(size)]
    X = space.canonical(space.encode(configurations)[0])
    active = {name: space.active(X)[:, j] for j, name in enumerate(space.names)}
    columns: dict[str, Any] = {scenario.task: [task] * size}
    columns |= {name: [value] * size for name, value in scenario.fidelity}
    columns |= drawn
    everywhere = np.ones(size, dtype=bool)
    codes = np.zeros((size, len(scenario.choices)), dtype=np.int32)
    numbers = np.zeros((size, len(scenario.numbers)), dtype=np.float32)
    for name, column in columns.items():
        on = active.get(name, everywhere)
        if name in scenario.choices:
            coded = np.array([surrogate.codes[name][str(value)] for value in column])
            codes[:, scenario.choices.index(name)] = np.where(on, coded, 0)
        else:
            numbers[:, scenario.numbers.index(name)] = np.where(on, np.array(column, dtype=float), 0.0)
    outputs = surrogate.run(codes, numbers)
    return TabularTask(task, X, outputs[:, scenario.outputs.index(target)])


def drawn(surrogate: Surrogate, size: int, seed: Sequence[int]) -> dict[str, list[Any]]:
    """Random values of one parameter after the other in the order of config_space.json, without the fidelity; integers
    are rounded. splits.json does not say how to draw; drawn in this way, its list of saturated tasks is reproduced."""
    rng, out = np.random.default_rng(list(seed)), {}
    for name in surrogate.order:
        distribution = surrogate.space[name]
        if isinstance(distribution, CategoricalDistribution):
            out[name] = [distribution.choices[k] for k in rng.integers(len(distribution.choices), size=size)]
        else:
            out[name] = _placed(distribution, rng.random(size))
    return out


def _placed(distribution: BaseDistribution, uniform: Array) -> list[Any]:
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    low, high = distribution.low, distribution.high
    if distribution.log:
        values = np.exp(np.log(low) + (np.log(high) - np.log(low)) * uniform)
    else:
        values = low + (high - low) * uniform
    if isinstance(distribution, IntDistribution):
        return [int(value) for value in np.rint(values)]
    return [float(value) for value in np.clip(values, low, high)]


def as_losses(tasks: tuple[TabularTask, ...]) -> list[tuple[str, Array, Array]]:
    """Name, encoded configurations and losses of each task, as the ranking surrogate learns from them."""
    return [(task.name, task.X, -task.y) for task in tasks]
