"""From the observations of a study to a space and encoded arrays, for samplers and explainers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from pellucid.numerics import Array, Indices
from pellucid.space.conditions import declared_conditions, infer_conditions
from pellucid.space.encoding import Space
from pellucid.study.observations import Observations
from pellucid.study.targets import Target


@dataclass(frozen=True)
class Arrays:
    """The observations that fit the space, and their encoded configurations X (n, d)."""

    space: Space
    observations: Observations
    X: Array

    def __len__(self) -> int:
        return len(self.X)

    @property
    def losses(self) -> Array:
        """The losses (n,) of the only target."""
        return self.observations.losses

    def of(self, objective: Target) -> Arrays:
        """The same trials with the values of one objective alone."""
        return replace(self, observations=self.observations.of(objective))

    def standing(self, losses: Array) -> Array:
        """Losses (n,) of the observations, with infeasible ones behind all others: the closer to being feasible, the
        better."""
        constraints = self.observations.constraints
        if not constraints.names:
            return losses
        width = max(float(np.ptp(losses)), 1.0) if len(losses) else 1.0
        behind = losses.max(initial=0.0) + width * (2.0 - 1.0 / (1.0 + constraints.violation))
        return np.where(constraints.feasible, losses, behind)

    def with_losses(self, losses: Array) -> Arrays:
        """The same configurations with other losses (n,) of one target, all of complete trials."""
        return replace(self, observations=self.observations.with_losses(losses))

    def observed_as(self, observations: Observations) -> Arrays:
        """The same trials as they are in other observations, of which these are some."""
        if observations.numbers != self.observations.numbers:
            rows = {number: i for i, number in enumerate(observations.numbers)}
            observations = observations.select([rows[number] for number in self.observations.numbers])
        return replace(self, observations=observations)

    def below(self, ceiling: float) -> Arrays:
        """The same, with losses of the only target above the ceiling, infinite ones too, counted as the ceiling.

        Whether rows are selected before or after makes no difference: a rebuilt model sees what the original one saw.
        """
        observations = self.observations
        if observations.raw.max(initial=-np.inf) <= ceiling:
            return self
        return replace(self, observations=replace(observations, raw=np.minimum(observations.raw, ceiling)))

    def select(self, rows: Indices) -> Arrays:
        """The observations in these rows."""
        return Arrays(self.space, self.observations.select(rows.tolist()), self.X[rows])


def arrays(
    distributions: Mapping[str, BaseDistribution],
    observations: Observations,
    declared: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
    ordinal: Sequence[str] | None = None,
) -> Arrays:
    """The space, with conditions declared or inferred from complete trials, and the observations that fit it."""
    flat = Space.of(distributions, None, ordinal)
    complete = [c for c, done in zip(observations.configurations, observations.complete, strict=True) if done]
    conditions = infer_conditions(flat, complete)
    if declared:
        conditions.update(declared_conditions(flat, declared))
    space = Space(flat.dimensions, conditions)
    return encoded(space, observations)


def encoded(space: Space, observations: Observations) -> Arrays:
    """The observations that fit a given space."""
    X, fits = space.encode(observations.configurations)
    if not fits.all():
        return Arrays(space, observations, X).select(np.flatnonzero(fits))
    return Arrays(space, observations, X)


def encoded_rows(space: Space, configurations: Sequence[Mapping[str, Any]]) -> Array:
    """Encoded configurations (n, d), one row each: NaN for those that do not fit the space."""
    X, fits = space.encode(configurations)
    return np.where(fits[:, None], X, np.nan)
