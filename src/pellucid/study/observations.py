"""The values that finished trials returned, as losses a surrogate can learn from.

Notation
    k objectives, or the one target that was asked for;  n trials with a value of each
    sign (k,)     +1 to minimise, -1 to maximise;  loss = sign * value, so smaller is better
    raw (n, k)    losses as returned;  values (n, k)  the same, made finite (see `Observations`)
    losses (n,)   the values of the only target
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
from pellucid.study.targets import Target
from pellucid.threads import cached_property

NOISE_ATTRIBUTE = "pellucid:noise_variance"
# Losses are clipped to this size, so that sums and differences of two of them stay finite.
_LARGEST_LOSS = 1e306
# Looked up once and not for every trial.
_COMPLETE, _PRUNED = TrialState.COMPLETE, TrialState.PRUNED


@dataclass(frozen=True)
class Observations:
    """Finished trials with a value of every objective, or of the one target that was asked for (`of`).

    A trial that was stopped early, or still runs, counts with the value that a model of learning curves expects of it,
    and the variance of that (`extrapolated`). Without such a model, a pruned trial counts with its last intermediate
    value, but never as better than the median complete trial. An infinite value counts as the worst (or best) finite
    one. The last two rules depend on which trials are in the selection, so `values` are derived from `raw`, and a
    selection derives its own: a rebuilt model sees what the original one saw.

    noise   known variances (n,) of each of the k, NaN where unknown; None if none is known
    """

    numbers: tuple[int, ...]
    configurations: tuple[Mapping[str, Any], ...]
    raw: Array
    noise: tuple[Array | None, ...]
    complete: tuple[bool, ...]
    constraints: Constraints
    extrapolated: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def values(self) -> Array:
        return np.stack([self._finite(np.ascontiguousarray(column)) for column in self.raw.T], axis=1)

    def _finite(self, raw: Array) -> Array:
        """One column of values."""
        done = np.array(self.complete, dtype=bool)
        finite = np.isfinite(raw)
        raw = np.clip(raw, -_LARGEST_LOSS, _LARGEST_LOSS)
        if finite.any() and not finite.all():
            raw = np.clip(raw, raw[finite].min(), raw[finite].max())
        own = done | np.array(self.extrapolated, dtype=bool)
        if done.any() and not own.all():
            raw = np.where(own, raw, np.maximum(raw, np.median(raw[done])))
        return raw

    @property
    def losses(self) -> Array:
        """The values (n,) of the only target."""
        return self._only(self.values)

    @property
    def returned(self) -> Array:
        """Raw losses (n,) of the only target."""
        return self._only(self.raw)

    @staticmethod
    def _only(values: Array) -> Array:
        if values.shape[1] != 1:
            raise TypeError(f"These are values of {len(values.T)} objectives: ask for those of one.")
        return values[:, 0]

    @property
    def noise_variance(self) -> Array | None:
        """Known variances (n,) of the only target; None if none is known."""
        (only,) = self.noise
        return only

    def of(self, target: Target) -> Observations:
        """Those of one target alone. Of a constraint, these are the trials that report it."""
        if target.is_constraint:
            return self._of_constraint(target.name)
        if len(self.noise) == 1:
            return self
        column = target.column
        return replace(self, raw=np.ascontiguousarray(self.raw[:, [column]]), noise=(self.noise[column],))

    def _of_constraint(self, name: str) -> Observations:
        """A pruned trial has its values like any other. One that is infinitely bad stays worse than every other one."""
        column = self.constraints.values[:, self.constraints.names.index(name)]
        rows = np.flatnonzero(~np.isnan(column)).tolist()
        values, chosen = column[rows], self.select(rows)
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        beyond = max(high, 0.0) + max(high - low, 1.0)
        values = np.clip(values, min(low, 0.0), beyond)
        return replace(chosen, noise=(None,)).with_losses(values)

    def select(self, keep: Sequence[int]) -> Observations:
        """The observations at these positions."""
        return Observations(
            tuple(self.numbers[i] for i in keep),
            tuple(self.configurations[i] for i in keep),
            self.raw[list(keep)],
            tuple(None if noise is None else noise[list(keep)] for noise in self.noise),
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

    def with_losses(self, losses: Array) -> Observations:
        """The same configurations with other losses (n,) of one target, all of them returned."""
        n = len(losses)
        return replace(self, raw=losses[:, None], complete=(True,) * n, extrapolated=(False,) * n)


def observations(
    trials: Sequence[FrozenTrial],
    objectives: Sequence[Target],
    extrapolated: Mapping[int, tuple[float, float]] | None = None,
) -> Observations:
    """Complete trials, and with one objective pruned trials that reported a value: that says nothing about each of
    several. Trials without a number are left out. `extrapolated`: losses and variances by trial, in the place of what
    it reported."""
    ahead, k = extrapolated or {}, len(objectives)
    signs = np.array([objective.sign for objective in objectives])
    values = [[signs[0] * ahead[trial.number][0]] if trial.number in ahead else _values(trial, k) for trial in trials]
    usable = [trial for trial, row in zip(trials, values, strict=True) if row is not None]
    reported = [trial.user_attrs.get(NOISE_ATTRIBUTE) for trial in usable]
    noise: list[Array | None] = [None] * k
    if ahead or reported.count(None) < len(reported):
        for column in range(k):
            known = np.array([_noise_variance(variance, column) for variance in reported], dtype=float)
            for i, trial in enumerate(usable):
                if trial.number in ahead:
                    known[i] = ahead[trial.number][1]
            noise[column] = None if np.isnan(known).all() else known
    return Observations(
        tuple([trial.number for trial in usable]),
        tuple([trial.params for trial in usable]),
        np.array([row for row in values if row is not None], dtype=float).reshape(-1, k) * signs,
        tuple(noise),
        tuple([trial.state is _COMPLETE and trial.number not in ahead for trial in usable]),
        constraints(usable),
        tuple([trial.number in ahead for trial in usable]),
    )


def _values(trial: FrozenTrial, k: int) -> Sequence[float] | None:
    """The k values that a trial counts with; None if one of them is missing or no number."""
    state = trial.state
    if state is _COMPLETE:
        values = trial.values  # A property that builds a list on every access.
        return None if values is None or len(values) < k or any(map(math.isnan, values)) else values[:k]
    if state is _PRUNED and k == 1 and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
        return None if math.isnan(value) else [value]
    return None


def _noise_variance(reported: object, column: int = 0) -> float:
    """The reported variance of a trial's value; NaN if there is none, or none that makes sense."""
    if isinstance(reported, (list, tuple)) and len(reported) > 1:
        return _noise_variance(reported[column]) if column < len(reported) else math.nan
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
