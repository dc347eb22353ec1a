"""What expected improvement compares with in rank space: why the incumbent is a poor reference there.

A model that has seen the incumbent ranks it first, and all its members do. Then no configuration has a better mean rank
than the reference, and what improvement is expected of the others is the spread of their ranks alone. The last
configuration, which a search chose for being promising, usually turned out to be less good than the best: something is
left to be improved on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pellucid.numerics import Array
from pellucid.surrogates.ranking.ensemble import rank_posterior
from pellucid_lab.papers.ranking.ranking import Ranking
from pellucid_lab.papers.ranking.transfer import Runs, search
from pellucid_lab.problems.tabular import Collection, Indices
from pellucid_lab.tables.output import Grid

_WINDOWS = ((1, 10), (11, 20), (21, 50))


@dataclass(frozen=True)
class Seen:
    """For each run of a step, in shares of the table, each (G,): the mean rank of a reference, the sd of its rank, and
    how many pending configurations have a better mean rank."""

    place: Array
    spread: Array
    before: Array


@dataclass(frozen=True)
class Watched:
    """A ranking, and what it said of both references at every step."""

    ranking: Ranking
    incumbent: list[Seen] = field(default_factory=list)
    last: list[Seen] = field(default_factory=list)

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        mean, sd = rank_posterior(self.ranking.scores(runs, chosen, y))
        self.incumbent.append(_seen(mean, sd, chosen, y.argmax(axis=1)))
        self.last.append(_seen(mean, sd, chosen, np.full(len(y), y.shape[1] - 1)))
        return self.ranking.utility(runs, chosen, y, mean, sd)


def _seen(mean: Array, sd: Array, chosen: Indices, which: Indices) -> Seen:
    """mean, sd (G, N) of ranks, 1 is the best; `which` (G,) of the chosen is the reference."""
    size, each = mean.shape[1], np.arange(len(chosen))
    reference = chosen[each, which]
    pending = np.ones(mean.shape, dtype=bool)
    pending[each[:, None], chosen] = False
    before = (mean < mean[each, reference][:, None]) & pending
    return Seen(mean[each, reference] / size, sd[each, reference] / size, before.sum(axis=1) / pending.sum(axis=1))


def reference_grid(ranking: Ranking, collection: Collection) -> Grid:
    """One model on all runs of the test tasks, choosing by mean rank."""
    watched = Watched(ranking)
    starts = [collection.seeds[task.name] for task in collection.test]
    search(watched, collection.space, collection.test, starts, collection.steps)
    rows = []
    for name, steps in (("the incumbent", watched.incumbent), ("the last one", watched.last)):
        for first, end in _WINDOWS:
            some = steps[first - 1 : end]
            if some:
                shares = [np.mean([getattr(one, what) for one in some]) for what in ("place", "spread", "before")]
                rows.append((name, f"{first}–{first - 1 + len(some)}", *(f"{100.0 * share:.2f} %" for share in shares)))
    heads = ("reference", "steps", "its mean rank", "sd of its rank", "pending ones ranked before it")
    return Grid("What EI compares with, in shares of the table", heads, tuple(rows))
