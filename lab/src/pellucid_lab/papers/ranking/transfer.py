"""Searches on tables, side by side: all runs (task and seed) choose their next configuration at the same time.

Notation
    T, N, d        tables, configurations per table, parameters
    G              runs; each has a table ("owner") and has evaluated n of its configurations so far
    chosen (G, n)  their indices, in order;  y (G, n) their values, larger is better
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.numerics import Array, stream
from pellucid.search.acquisition import EI
from pellucid.search.acquisition.base import Situation
from pellucid.space.encoding import Space
from pellucid_lab.problems.tabular import Indices, TabularTask

# Observations after which a ranking on tables hands over. Runs go side by side, so one schedule has to serve them all;
# `RankingSampler` shares the turns of each study by what they gained.
HAND_OVER = 50


@dataclass(frozen=True)
class TableRuns:
    """Tables of equal size and the runs on them: X (T, N, d) encoded, owner (G,) the table of each run."""

    space: Space
    X: Array
    owner: Indices
    seeds: tuple[int, ...]

    @cached_property
    def features(self) -> Array:
        """Inputs of networks, (T, N, F)."""
        from pellucid.models.ranking.features import features

        return np.stack([features(self.space, X) for X in self.X])

    def observed(self, chosen: Indices) -> Array:
        """The evaluated configurations of each run, (G, n, d)."""
        return np.asarray(self.X[self.owner[:, None], chosen])


class TransferMethod(Protocol):
    """How promising every configuration of a run's table is, (G, N): the largest among the pending ones is next."""

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array: ...


def search(
    method: TransferMethod,
    space: Space,
    tasks: Sequence[TabularTask],
    starts: Sequence[Indices],
    steps: int,
    progress: Callable[[], None] | None = None,
) -> list[Indices]:
    """Indices that the runs of each task chose, starts included: per task (seeds, n_init + steps). Tasks of equal size
    are searched side by side. `progress` is called after each step."""
    out: list[Indices | None] = [None] * len(tasks)
    for size in sorted({len(task.y) for task in tasks}):
        same_size = [i for i, task in enumerate(tasks) if len(task.y) == size]
        owner = np.repeat(np.arange(len(same_size)), [len(starts[i]) for i in same_size])
        seeds = tuple(seed for i in same_size for seed in range(len(starts[i])))
        runs = TableRuns(space, np.stack([tasks[i].X for i in same_size]), owner, seeds)
        Y = np.stack([tasks[i].y for i in same_size])
        chosen = np.concatenate([starts[i] for i in same_size])
        rows = np.arange(len(owner))[:, None]
        for _ in range(min(steps, size - chosen.shape[1])):
            utility = np.array(method(runs, chosen, Y[owner[:, None], chosen]), dtype=float)
            if np.isnan(utility).any():
                raise ValueError("A method has to give every configuration a number, but it gave NaN.")
            # Any pending configuration comes before the chosen ones, even if the method gives it -inf.
            utility = np.maximum(utility, np.finfo(float).min)
            utility[rows, chosen] = -np.inf
            chosen = np.hstack([chosen, utility.argmax(axis=1)[:, None]])
            if progress is not None:
                progress()
        ends = np.cumsum([len(starts[i]) for i in same_size])[:-1]
        for i, part in zip(same_size, np.split(chosen, ends), strict=True):
            out[i] = part
    return [part for part in out if part is not None]


def handed_over(hand_over: int | None, n: int) -> bool:
    """Whether the Gaussian process makes the proposal after n observations: every third one from half of `hand_over`
    on, and all from `hand_over` on; None: never."""
    if hand_over is None or 2 * n < hand_over:
        return False
    return n >= hand_over or n % 3 == 2


@dataclass(frozen=True)
class RandomOrder:
    """A random order of the table, a different one for every run."""

    seed: int = 0

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        size = runs.X.shape[1]
        return np.stack([stream(self.seed, "random order", g, seed).random(size) for g, seed in enumerate(runs.seeds)])


@dataclass(frozen=True)
class GaussianProcessEI:
    """pellucid's Gaussian process with expected improvement, without other tasks."""

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        out = np.empty((len(chosen), runs.X.shape[1]))
        for g, (X, value) in enumerate(zip(runs.observed(chosen), y, strict=True)):
            gp = GaussianProcess(warp="auto").unfitted(runs.space.nominal).fit(X, -value)
            m, s = gp.latent(runs.X[runs.owner[g]])
            best = float(gp.latent_at_observed().min())
            out[g] = EI().score(m, s, Situation(best, len(value), len(runs.space)))
        return out
