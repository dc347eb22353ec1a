"""Runs over tables, side by side: every run of a table's tasks and seeds takes its next configuration at the same time.

Notation
    T, N, d        tables, configurations per table, parameters
    G              runs; each has a table ("owner") and has looked up n of its configurations so far
    chosen (G, n)  their indices, in order;  y (G, n) what they reached, larger is better
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pellucid.acquisition import EI
from pellucid.acquisition.base import Situation
from pellucid.numerics import Array, stream
from pellucid.study.encoding import Space
from pellucid.surrogates import GaussianProcess
from pellucid_lab.problems.tabular import Indices, Task


@dataclass(frozen=True)
class Runs:
    """Tables of equal size and who searches in which: X (T, N, d) encoded, owner (G,)."""

    space: Space
    X: Array
    owner: Indices
    seeds: tuple[int, ...]

    @cached_property
    def features(self) -> Array:
        """(T, N, F), what networks see."""
        from pellucid.surrogates.ranking.features import features

        return np.stack([features(self.space, X) for X in self.X])

    def seen(self, chosen: Indices) -> Array:
        """(G, n, d)"""
        return np.asarray(self.X[self.owner[:, None], chosen])


class Method(Protocol):
    """How promising every configuration of a run's table is, (G, N): the largest that is not chosen yet comes next."""

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array: ...


def search(
    method: Method,
    space: Space,
    tasks: Sequence[Task],
    starts: Sequence[Indices],
    steps: int,
    progress: Callable[[], None] | None = None,
) -> list[Indices]:
    """What each run of each task chose, starts included: per task (seeds, n_init + steps). Tasks of equal size are
    searched side by side. `progress` is called after each step."""
    out: list[Indices | None] = [None] * len(tasks)
    for size in sorted({len(task.y) for task in tasks}):
        which = [i for i, task in enumerate(tasks) if len(task.y) == size]
        owner = np.repeat(np.arange(len(which)), [len(starts[i]) for i in which])
        seeds = tuple(seed for i in which for seed in range(len(starts[i])))
        runs = Runs(space, np.stack([tasks[i].X for i in which]), owner, seeds)
        Y = np.stack([tasks[i].y for i in which])
        chosen = np.concatenate([starts[i] for i in which])
        here = np.arange(len(owner))[:, None]
        for _ in range(min(steps, size - chosen.shape[1])):
            utility = np.array(method(runs, chosen, Y[owner[:, None], chosen]), dtype=float)
            if np.isnan(utility).any():
                raise ValueError("A method has to give every configuration a number, but it gave NaN.")
            # The least that a method can say of a pending configuration is more than what is said of a chosen one.
            utility = np.maximum(utility, np.finfo(float).min)
            utility[here, chosen] = -np.inf
            chosen = np.hstack([chosen, utility.argmax(axis=1)[:, None]])
            if progress is not None:
                progress()
        for i, part in zip(which, np.split(chosen, np.cumsum([len(starts[i]) for i in which])[:-1]), strict=True):
            out[i] = part
    return [part for part in out if part is not None]


@dataclass(frozen=True)
class RandomOrder:
    """A random order of every table, another one for every run."""

    seed: int = 0

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        size = runs.X.shape[1]
        return np.stack([stream(self.seed, "random order", g, seed).random(size) for g, seed in enumerate(runs.seeds)])


@dataclass(frozen=True)
class GaussianProcessEI:
    """pellucid's Gaussian process with expected improvement, which knows nothing of other tasks."""

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        out = np.empty((len(chosen), runs.X.shape[1]))
        for g, (X, value) in enumerate(zip(runs.seen(chosen), y, strict=True)):
            gp = GaussianProcess(warp="auto").unfitted(runs.space.nominal).fit(X, -value)
            m, s = gp.latent(runs.X[runs.owner[g]])
            best = float(gp.latent_at_observed().min())
            out[g] = EI().score(m, s, Situation(best, len(value), len(runs.space)))
        return out
