"""What expected improvement compares with in rank space, and why the incumbent is a poor reference there.

All members of a model that has seen the incumbent rank it first. Then no configuration has a better mean rank than the
reference, and the expected improvement of the others comes from the spread of their ranks alone. The last configuration
was chosen as promising but is usually worse than the best, so that others can improve on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pellucid.models.ranking.ensemble import rank_posterior
from pellucid.numerics import Array
from pellucid_lab.papers.ranking.ranking import Ranking
from pellucid_lab.papers.ranking.transfer import TableRuns, search
from pellucid_lab.problems.tabular import Collection, Indices
from pellucid_lab.tables.grids import Grid

# First and last steps over which a row averages.
_WINDOWS = ((1, 10), (11, 20), (21, 50))


@dataclass(frozen=True)
class ReferenceRanks:
    """For each run of a step, as shares of the table's size, each (G,): the mean rank of a reference, the sd of its
    rank, and how many pending configurations have a better mean rank."""

    place: Array
    spread: Array
    before: Array


@dataclass(frozen=True)
class WatchedRanking:
    """A ranking that records the ranks of both references at every step."""

    ranking: Ranking
    incumbent: list[ReferenceRanks] = field(default_factory=list)
    last: list[ReferenceRanks] = field(default_factory=list)

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        mean, sd = rank_posterior(self.ranking.scores(runs, chosen, y))
        self.incumbent.append(_reference_ranks(mean, sd, chosen, y.argmax(axis=1)))
        self.last.append(_reference_ranks(mean, sd, chosen, np.full(len(y), y.shape[1] - 1)))
        return self.ranking.utility(runs, chosen, y, mean, sd)


def _reference_ranks(mean: Array, sd: Array, chosen: Indices, which: Indices) -> ReferenceRanks:
    """mean, sd (G, N) of ranks, 1 is the best; `which` (G,) of the chosen is the reference."""
    size, each = mean.shape[1], np.arange(len(chosen))
    reference = chosen[each, which]
    pending = np.ones(mean.shape, dtype=bool)
    pending[each[:, None], chosen] = False
    before = (mean < mean[each, reference][:, None]) & pending
    return ReferenceRanks(
        mean[each, reference] / size, sd[each, reference] / size, before.sum(axis=1) / pending.sum(axis=1)
    )


def reference_grid(ranking: Ranking, collection: Collection) -> Grid:
    """One model on all runs of the test tasks, choosing by mean rank."""
    watched = WatchedRanking(ranking)
    starts = [collection.seeds[task.name] for task in collection.test]
    search(watched, collection.space, collection.test, starts, collection.steps)
    rows = []
    for name, steps in (("the incumbent", watched.incumbent), ("the last one", watched.last)):
        for first, end in _WINDOWS:
            window = steps[first - 1 : end]
            if window:
                shares = [np.mean([getattr(step, what) for step in window]) for what in ("place", "spread", "before")]
                last = first - 1 + len(window)
                rows.append((name, f"{first}–{last}", *(f"{100.0 * share:.2f}%" for share in shares)))
    columns = ("reference", "steps", "its mean rank", "sd of its rank", "pending ones ranked before it")
    return Grid("What EI compares with, as shares of the table", columns, tuple(rows))
