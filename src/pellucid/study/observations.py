"""The values that finished trials returned, as losses a surrogate can learn from.

Notation
    sign      +1 if the study minimises, -1 if it maximises;  loss = sign * value, so smaller is better
    raw (n,)  losses as returned;  losses (n,)  the same, made finite (see `Observations`)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, Trial, TrialState

from pellucid.numerics import Array, Mask
from pellucid.study.constraints import Constraints, constraints
from pellucid.threads import cached_property

NOISE_ATTRIBUTE = "pellucid:noise_variance"
# Losses are clipped to this size, so that sums and differences of two of them stay finite.
_LARGEST_LOSS = 1e306
# Looked up once and not for every trial.
_COMPLETE, _PRUNED = TrialState.COMPLETE, TrialState.PRUNED


@dataclass(frozen=True)
class Observations:
    """Finished trials with a value.

    A trial that was stopped early, or still runs, counts with the value that a model of learning curves expects of it,
    and the variance of that (`extrapolated`). Without such a model, a pruned trial counts with its last intermediate
    value, but never as better than the median complete trial. An infinite value counts as the worst (or best) finite
    one. The last two rules depend on which trials are in the selection, so `losses` is derived from `raw`, and a
    selection derives its own: a rebuilt model sees what the original one saw.
    """

    numbers: tuple[int, ...]
    configurations: tuple[Mapping[str, Any], ...]
    raw: Array
    noise_variance: Array | None
    complete: tuple[bool, ...]
    constraints: Constraints
    extrapolated: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def losses(self) -> Array:
        done = np.array(self.complete, dtype=bool)
        raw = np.clip(self.raw, -_LARGEST_LOSS, _LARGEST_LOSS) if len(self) else self.raw
        finite = np.isfinite(self.raw)
        if finite.any() and not finite.all():
            raw = np.clip(raw, raw[finite].min(), raw[finite].max())
        own = done | np.array(self.extrapolated, dtype=bool)
        if done.any() and not own.all():
            raw = np.where(own, raw, np.maximum(raw, np.median(raw[done])))
        return raw

    def select(self, keep: Sequence[int]) -> Observations:
        """The observations at these positions."""
        return Observations(
            tuple(self.numbers[i] for i in keep),
            tuple(self.configurations[i] for i in keep),
            self.raw[list(keep)],
            None if self.noise_variance is None else self.noise_variance[list(keep)],
            tuple(self.complete[i] for i in keep),
            self.constraints.select(keep),
            tuple(self.extrapolated[i] for i in keep),
        )

    @property
    def of_complete_trials(self) -> Observations:
        return self.select([i for i, done in enumerate(self.complete) if done])

    @property
    def feasible(self) -> Mask:
        """Which of them are known to be feasible (n,); all, without constraints."""
        return self.constraints.feasible

    @property
    def measured(self) -> Mask:
        """Which feasible ones have a value that is not extrapolated (n,); all feasible ones if none has."""
        measured = self.feasible & ~np.array(self.extrapolated, dtype=bool)
        return measured if measured.any() else self.feasible

    @property
    def of_feasible_trials(self) -> Observations:
        return self.select(np.flatnonzero(self.feasible).tolist())

    def of_constraint(self, name: str) -> Observations:
        """The values of a constraint in the place of those of the objective, of the trials that report it.

        A pruned trial has them like any other. A value that is infinitely bad stays worse than every other one.
        """
        column = self.constraints.values[:, self.constraints.names.index(name)]
        rows = np.flatnonzero(~np.isnan(column)).tolist()
        values, chosen = column[rows], self.select(rows)
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        beyond = max(high, 0.0) + max(high - low, 1.0)
        values = np.clip(values, min(low, 0.0), beyond)
        return replace(chosen, noise_variance=None).with_values(values)

    def with_values(self, values: Array) -> Observations:
        """The same configurations with other values (n,), all of them returned."""
        n = len(values)
        return replace(self, raw=values, complete=(True,) * n, extrapolated=(False,) * n)


def observations(
    trials: Sequence[FrozenTrial],
    sign: float,
    index: int = 0,
    extrapolated: Mapping[int, tuple[float, float]] | None = None,
) -> Observations:
    """Complete trials, and pruned trials that reported a value. Trials without a number are left out. `index`: of the
    objective, if there are several. `extrapolated`: losses and variances by trial, in the place of what it reported."""
    ahead = extrapolated or {}
    values = [sign * ahead[trial.number][0] if trial.number in ahead else _value(trial, index) for trial in trials]
    usable = [trial for trial, value in zip(trials, values, strict=True) if value is not None]
    reported = [trial.user_attrs.get(NOISE_ATTRIBUTE) for trial in usable]
    noise = None
    if ahead or reported.count(None) < len(reported):
        noise = np.array([_noise_variance(variance, index) for variance in reported], dtype=float)
        for i, trial in enumerate(usable):
            if trial.number in ahead:
                noise[i] = ahead[trial.number][1]
    return Observations(
        tuple([trial.number for trial in usable]),
        tuple([trial.params for trial in usable]),
        sign * np.array([value for value in values if value is not None], dtype=float),
        None if noise is None or np.isnan(noise).all() else noise,
        tuple([trial.state is _COMPLETE and trial.number not in ahead for trial in usable]),
        constraints(usable),
        tuple([trial.number in ahead for trial in usable]),
    )


def _value(trial: FrozenTrial, index: int) -> float | None:
    """The value that a trial counts with; None if it has none, or if another of its objectives is no number."""
    value: float | None = None
    state = trial.state
    if state is _COMPLETE:
        values = trial.values  # A property that builds a list on every access.
        if values is None or len(values) <= index or (len(values) > 1 and any(map(math.isnan, values))):
            return None
        value = values[index]
    elif state is _PRUNED and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
    return None if value is None or math.isnan(value) else value


def _noise_variance(reported: object, index: int = 0) -> float:
    """The reported variance of a trial's value; NaN if there is none, or none that makes sense."""
    if isinstance(reported, (list, tuple)) and len(reported) > 1:
        return _noise_variance(reported[index]) if index < len(reported) else math.nan
    if isinstance(reported, (int, float)) and not isinstance(reported, bool):
        return float(reported) if math.isfinite(reported) and reported >= 0 else math.nan
    return math.nan


def report_noise(trial: Trial, variance: float | Sequence[float]) -> None:
    """Tell the model how noisy the value of a trial is: its variance, in the squared unit of the objective.

    With several objectives, pass one variance for each.

    Call it inside the objective, for example with the variance of the mean over cross-validation folds. Without it the
    model estimates one noise level for all trials.
    """
    plain: Any = variance.tolist() if hasattr(variance, "tolist") else variance  # NumPy's numbers, too.
    several = isinstance(plain, (list, tuple)) and len(plain) > 1
    each = list(plain) if several else [plain]
    if any(math.isnan(_noise_variance(one)) for one in each):
        raise ValueError(
            "A noise variance must be a finite number of at least 0 (with several objectives, one for each of them), "
            f"but got {variance!r}."
        )
    trial.set_user_attr(NOISE_ATTRIBUTE, each if several else float(plain))
