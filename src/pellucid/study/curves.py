"""What trials reported on the way to their values: learning curves, as losses.

Notation
    n            curves, in the order of their trials' numbers;  N  reports of all of them
    loss         sign * report, so that smaller is better
    horizon      the last step that a model of curves looks at

Rules, so that nobody else needs any:
    - A report that is not a number is left out. An infinite one counts as the largest (or smallest) number that
      there is: models cut it off.
    - A step that was reported twice has the report that the storage kept. The order of reports does not matter.
    - The value that a trial returned is apart from its curve, wherever its reports end.
    - A trial without a report has no curve. A failed trial has the curve that it reported before it failed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from pellucid.models.curves.reports import Curves, starts_of, whole
from pellucid.numerics import Array

# Losses are clipped to this size, so that sums and differences of two of them stay finite.
_LARGEST_LOSS = 1e306


@dataclass(frozen=True)
class Extrapolation:
    """The values that trials would return after the last step, for those that were stopped before or still run.

    values         by the number of the trial: loss, and the variance of its error
    learned_from   trials whose curves the model has learned from;  horizon  the last step
    """

    values: Mapping[int, tuple[float, float]]
    learned_from: tuple[int, ...]
    horizon: int


def curves(trials: Sequence[FrozenTrial], sign: float) -> Curves:
    """The curves of the trials that reported a number. `sign`: loss = sign * value."""
    trials = [trial for trial in trials if trial.intermediate_values]
    reported = [trial.intermediate_values for trial in trials]
    lengths = np.array([len(reports) for reports in reported], dtype=np.intp)
    steps = whole(list(chain.from_iterable(reported)))
    losses = sign * np.array(list(chain.from_iterable(reports.values() for reports in reported)), dtype=float)
    final = sign * np.array([_value(trial) for trial in trials], dtype=float)
    row = np.repeat(np.arange(len(trials)), lengths)
    known = ~np.isnan(losses)
    if not known.all():
        row, steps, losses = row[known], steps[known], losses[known]
        lengths = np.bincount(row, minlength=len(trials))
    if (np.diff(steps)[np.diff(row) == 0] < 0).any():
        order = np.lexsort((steps, row))
        steps, losses = steps[order], losses[order]
    kept = lengths > 0
    losses, final = np.clip(losses, -_LARGEST_LOSS, _LARGEST_LOSS), _finite(final[kept], losses)
    states = [trial.state for trial, has in zip(trials, kept, strict=True) if has]
    return Curves(
        np.array([trial.number for trial, has in zip(trials, kept, strict=True) if has], dtype=np.int64),
        steps,
        losses,
        starts_of(lengths[kept]),
        ~np.isnan(final),
        np.array([state == TrialState.RUNNING for state in states], dtype=bool),
        final,
    )


def _value(trial: FrozenTrial) -> float:
    """The value that a complete trial returned; NaN for every other."""
    values = trial.values if trial.state == TrialState.COMPLETE else None
    return values[0] if values is not None and len(values) == 1 else math.nan


def _finite(final: Array, losses: Array) -> Array:
    """Infinite values as the worst (or best) finite number of all trials; NaN stays."""
    known = np.concatenate([losses[np.isfinite(losses)], final[np.isfinite(final)]])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    return np.clip(final, max(low, -_LARGEST_LOSS), min(high, _LARGEST_LOSS))
