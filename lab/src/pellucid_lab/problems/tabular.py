"""Tables of past tuning runs, in the shape of HPO-B: tasks that share a space, some to learn from, some to be tuned.

A run starts with the configurations of a seed and then takes one pending configuration of the table at a time.
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

from pellucid.cli.errors import Mistake, Unavailable
from pellucid.numerics import Array
from pellucid.study.activity import declared_conditions
from pellucid.study.encoding import Space
from pellucid_lab.problems.yahpo import SCENARIOS, Surrogate, data_folder, load_surrogate

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """X (n, d) encoded configurations of one data set and what they reached, y (n,): larger is better."""

    name: str
    X: Array
    y: Array

    def regret(self, chosen: Indices) -> Array:
        """(max - best so far) / (max - min) after each of the chosen configurations, (len(chosen),)."""
        best = np.maximum.accumulate(self.y[chosen])
        spread = self.y.max() - self.y.min()
        # Where all are equal every one of them is the best.
        return np.asarray((self.y.max() - best) / spread if spread > 0.0 else np.zeros(len(best)))


@dataclass(frozen=True)
class Collection:
    """Tasks of one space: to learn from, to choose settings by, and to be tuned from each of the seeds' indices.

    `seeds` has, for a task of `validation` or `test`, one row of initial indices per repetition.
    """

    name: str
    space: Space
    train: tuple[Task, ...]
    validation: tuple[Task, ...]
    test: tuple[Task, ...]
    seeds: Mapping[str, Indices]
    steps: int


def read_splits(data: str | None) -> dict[str, Any]:
    root = data_folder(data)
    file = None if root is None else root / "meta" / "splits.json"
    if file is None or not file.is_file():
        raise Unavailable(
            f"The transfer benchmark is skipped: it needs meta/splits.json under {root or 'a data folder'}; "
            "pass --data DIR or set PELLUCID_DATA=DIR."
        )
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@lru_cache(maxsize=2)
def tabular(name: str, data: str | None, draw: int = 0) -> Collection:
    """One of the collections that splits.json describes, evaluated on the fly. Draw 0 has the configurations of the
    file's seed; others have configurations of their own for the same tasks, parts and starts."""
    splits = read_splits(data)
    if name not in splits or name not in SCENARIOS:
        raise Mistake(f"There is no collection `{name}`; take one of {', '.join(n for n in SCENARIOS if n in splits)}.")
    ours, surrogate = splits[name], load_surrogate(SCENARIOS[name], data)
    space = space_of(surrogate)
    used = {task: surrogate.tasks.index(task) for part in ("train", "validation", "test") for task in ours[part]}
    other, size = ([1000 + draw] if draw else []), int(splits["N"])
    made = {
        task: table(surrogate, space, task, ours["target"], drawn(surrogate, size, [splits["seed"], index, *other]))
        for task, index in used.items()
    }
    seeds = {task: np.array(rows, dtype=np.int64) for task, rows in ours["init"].items()}
    for task in ours["validation"]:
        # Settings are chosen on tasks that are never reported, from starts of their own.
        rng = np.random.default_rng([int(splits["seed"]), used[task], 1])
        seeds[task] = np.stack([rng.choice(int(splits["N"]), splits["n_init"], replace=False) for _ in range(5)])
    parts = {part: tuple(made[task] for task in ours[part]) for part in ("train", "validation", "test")}
    return Collection(name, space, parts["train"], parts["validation"], parts["test"], seeds, int(splits["steps"]))


def space_of(surrogate: Surrogate) -> Space:
    flat = Space.of(surrogate.space)
    declared = {child: (parent, sorted(values)) for child, (parent, values) in surrogate.active_when.items()}
    return Space(flat.dimensions, declared_conditions(flat, declared))


def table(surrogate: Surrogate, space: Space, task: str, target: str, drawn: Mapping[str, list[Any]]) -> Task:
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
    return Task(task, X, outputs[:, scenario.outputs.index(target)])


def drawn(surrogate: Surrogate, size: int, seed: Sequence[int]) -> dict[str, list[Any]]:
    """One parameter after the other in the order of config_space.json, without those of the fidelity; integers are
    rounded. splits.json does not say how, but so drawn, its list of saturated tasks follows from the tables."""
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


def as_losses(tasks: tuple[Task, ...]) -> list[tuple[str, Array, Array]]:
    """Name, encoded configurations and losses of each task, as the ranking surrogate learns from them."""
    return [(task.name, task.X, -task.y) for task in tasks]
