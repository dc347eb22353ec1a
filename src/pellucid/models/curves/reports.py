"""Learning curves as data: what trials reported on the way to their values, as losses.

Notation
    n            curves, in the order of their trials' numbers;  N  reports of all of them
    horizon      the last step that a model of curves looks at
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pellucid.numerics import Array, Indices, Integers, Mask, is_whole_number
from pellucid.threads import cached_property

# Steps are clipped to this size, so that a step and the row of its curve fit into one integer.
LARGEST_STEP = 2**40

# Relative difference up to which a value is that of a report, and the share of trials that makes it a rule.
_SAME_LOSS, _NEARLY_ALL = 1e-9, 0.9
# Share of the complete trials whose last step counts as that of all: with early stopping, two may share one by chance.
_USUAL = 0.5


@dataclass(frozen=True, eq=False)
class Curves:
    """Learning curves, one after the other in `steps` (N,) and `losses` (N,): curve i has `starts[i]:starts[i + 1]`.

    numbers    of the trials (n,);  steps rise within a curve, losses are finite
    complete   which trials returned a value;  running  which have not ended; the others were pruned or failed
    final      the returned value as a loss (n,), NaN where `complete` is not set
    """

    numbers: Integers
    steps: Integers
    losses: Array
    starts: Indices
    complete: Mask
    running: Mask
    final: Array

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def lengths(self) -> Indices:
        """How many reports each curve has (n,), at least 1."""
        return np.diff(self.starts)

    @cached_property
    def last_steps(self) -> Integers:
        return np.asarray(self.steps[self.starts[1:] - 1])

    @cached_property
    def horizon(self) -> int | None:
        """The last step that at least half of the complete trials have, otherwise the largest; None if there is no
        complete curve."""
        ends, counts = np.unique(self.last_steps[self.complete], return_counts=True)
        if not len(ends):
            return None
        usual = ends[counts >= _USUAL * counts.sum()]
        return int(usual[-1] if len(usual) else ends[-1])

    @cached_property
    def returns_best(self) -> bool:
        """Whether complete trials return their best report: of those that ended worse than that, nearly all did."""
        if not self.complete.any():
            return False
        best = np.minimum.reduceat(self.losses, self.starts[:-1])
        fell_back = self.complete & (self.losses[self.starts[1:] - 1] > best)
        returned = np.isclose(self.final[fell_back], best[fell_back], rtol=_SAME_LOSS, atol=0.0)
        return len(returned) > 0 and float(returned.mean()) >= _NEARLY_ALL

    def best_so_far(self) -> Curves:
        """The same curves with the lowest loss up to each step."""
        parts = [np.minimum.accumulate(self.curve(row)[1]) for row in range(len(self))]
        return replace(self, losses=np.concatenate(parts) if parts else self.losses)

    def curve(self, row: int) -> tuple[Integers, Array]:
        """Steps and losses of one curve."""
        part = slice(self.starts[row], self.starts[row + 1])
        return self.steps[part], self.losses[part]

    def select(self, rows: Sequence[int] | Indices) -> Curves:
        """The curves in these rows, in this order."""
        rows = np.asarray(rows, dtype=np.intp)
        lengths = self.lengths[rows]
        starts = starts_of(lengths)
        reports = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Curves(
            self.numbers[rows],
            self.steps[reports],
            self.losses[reports],
            starts,
            self.complete[rows],
            self.running[rows],
            self.final[rows],
        )

    def steps_left(self, horizon: int) -> Integers:
        """How many steps each curve lacks until the horizon (n,)."""
        return np.maximum(horizon - self.last_steps, 0)

    def until(self, step: int) -> Curves:
        """The curves as they were after the reports up to this step, of trials that still ran; those that had not begun
        are left out."""
        counts = self.reports_until(step)
        kept = np.flatnonzero(counts)
        known = np.arange(len(self.steps)) < np.repeat(self.starts[:-1] + counts, self.lengths)
        ended = np.zeros(len(kept), dtype=bool)
        unknown = np.full(len(kept), np.nan)
        steps, losses = self.steps[known], self.losses[known]
        return Curves(self.numbers[kept], steps, losses, starts_of(counts[kept]), ended, ~ended, unknown)

    def at(self, steps: Sequence[int] | Integers) -> Array:
        """Losses at these steps (n, k), linear between two reports.

        Before its first report a curve has the loss of that report. After its last report a complete trial keeps the
        loss of that one: it has ended and will not change. Any other curve has NaN there.
        """
        wanted = whole(steps)
        if not len(self) or not len(wanted):
            return np.full((len(self), len(wanted)), np.nan)
        after = self._first_after(wanted)
        low = np.maximum(after - 1, self.starts[:-1, None])
        high = np.minimum(after, self.starts[1:, None] - 1)
        width = self.steps[high] - self.steps[low]
        share = np.where(width > 0, (wanted - self.steps[low]) / np.maximum(width, 1), 0.0)
        losses = (1.0 - share) * self.losses[low] + share * self.losses[high]
        unknown = ~self.complete[:, None] & (wanted > self.last_steps[:, None])
        return np.where(unknown, np.nan, losses)

    def reports_until(self, step: int) -> Indices:
        """How many reports each curve has up to this step (n,)."""
        return np.asarray(self._first_after(whole([step]))[:, 0] - self.starts[:-1])

    def _first_after(self, wanted: Integers) -> Indices:
        """Index of the first report of each curve at a larger step (n, k); the next curve's start if there is none."""
        row = np.arange(len(self), dtype=np.int64)
        stride = 2 * (2 * LARGEST_STEP + 1)
        keys = np.repeat(row, self.lengths) * stride + self.steps
        return np.searchsorted(keys, row[:, None] * stride + wanted, side="right")


def check_horizon(horizon: int | None) -> None:
    """Raise ValueError if a user states this as the last step to predict."""
    if horizon is not None and not is_whole_number(horizon):
        raise ValueError(
            f"`horizon` must be a whole number, the step of a trial's last report, but got {horizon!r}. "
            "Leave it out to use the last step that most complete trials have."
        )


def whole(steps: Sequence[int] | Integers) -> Integers:
    """Steps as integers; a storage can hold larger ones than an array."""
    try:
        whole = np.array(steps, dtype=np.int64)
    except OverflowError:
        whole = np.array([max(-LARGEST_STEP, min(step, LARGEST_STEP)) for step in map(int, steps)], dtype=np.int64)
    return np.clip(whole, -LARGEST_STEP, LARGEST_STEP)


def starts_of(lengths: Indices) -> Indices:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
