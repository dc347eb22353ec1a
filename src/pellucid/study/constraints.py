"""Constraints of trials: a trial is feasible if every constraint that it reports is at most 0.

They are read from where Optuna keeps them: one attribute per name (`Trial.set_constraint`, Optuna 5), or one list (the
`constraints_func` of its samplers), whose entries are called "constraint 0", "constraint 1" and so on.

Notation
    values (n, c)   constraints in columns; NaN where a trial does not report one
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.numerics import Array, Indices, Mask
from pellucid.threads import cached_property

# The attributes of a trial that hold constraints begin with this.
_KEY = "constraints"
_NAMED = f"{_KEY}:"


@dataclass(frozen=True)
class Constraints:
    """What trials report about their constraints. A study without constraints has no names."""

    names: tuple[str, ...]
    values: Array

    @property
    def known(self) -> Mask:
        """Trials that report any constraint, also as something that is no number."""
        return np.asarray(~np.isnan(self.values).all(axis=1)) if self.names else np.ones(len(self.values), dtype=bool)

    @cached_property
    def feasible(self) -> Mask:
        """Trials (n,) that are known to be feasible: all of them if there are no constraints.

        In a study with constraints, a trial that reports none is not known to be feasible. One that lacks some of them
        is judged by the others: constraints may belong to a choice, or have been renamed.
        """
        fine = (np.isnan(self.values) | (self.values <= 0.0)).all(axis=1)
        return np.asarray(fine & self.known)

    @cached_property
    def violation(self) -> Array:
        """How far each trial is from being feasible (n,): the sum of its positive constraints, each in units of its
        spread; 0 for feasible trials and infinite for those that report none."""
        if not self.names:
            return np.zeros(len(self.values))
        over = np.where(np.isnan(self.values), 0.0, np.maximum(self.values, 0.0))
        out = (over / self._spread).sum(axis=1)
        return np.where(self.known, out, math.inf)

    @cached_property
    def _spread(self) -> Array:
        """How large each constraint gets (c,), in its own unit; never 0."""
        spreads = []
        for column in self.values.T:
            finite = np.abs(column[np.isfinite(column)])
            spreads.append(float(finite.max()) if len(finite) and finite.max() > 0.0 else 1.0)
        return np.array(spreads)

    def select(self, keep: Sequence[int] | Indices) -> Constraints:
        """Those of the trials at these positions."""
        return Constraints(self.names, self.values[list(keep)])


def unconstrained(n: int) -> Constraints:
    """The constraints of n trials that report none."""
    return Constraints((), np.empty((n, 0)))


def constraints(trials: Sequence[FrozenTrial]) -> Constraints:
    """The constraints of these trials, with every name that any of them reports, in the order of the first report."""
    reported = [reported_constraints(trial) for trial in trials]
    names = tuple(dict.fromkeys(name for values in reported for name in values))
    values = np.full((len(trials), len(names)), math.nan)
    for row, by_name in zip(values, reported, strict=True):
        if by_name:
            row[:] = [by_name.get(name, math.nan) for name in names]
    return Constraints(names, values)


def reported_constraints(trial: FrozenTrial) -> dict[str, float]:
    """By name. A value that is no number counts as violated without limit: the trial is not known to be feasible."""
    attributes = trial.system_attrs
    keys = [key for key in attributes if key.startswith(_KEY)] if attributes else []
    out: dict[str, float] = {}
    for key in keys:
        if key.startswith(_NAMED):
            out[key.removeprefix(_NAMED)] = _number(attributes[key])
        elif key == _KEY and isinstance(attributes[key], (list, tuple)):
            out.update({f"constraint {i}": _number(value) for i, value in enumerate(attributes[key])})
    return out


def _number(value: object) -> float:
    number = float(value) if isinstance(value, (int, float)) else math.nan
    return math.inf if math.isnan(number) else number
