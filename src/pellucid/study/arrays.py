"""From a study's trials to a space and arrays: the one way in which samplers and explainers see a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from pellucid.numerics import Array
from pellucid.study.activity import declared_conditions, infer_conditions
from pellucid.study.encoding import Space
from pellucid.study.observations import Observations


@dataclass(frozen=True)
class Arrays:
    """The observations that fit the space, encoded: X (n, d), losses (n,), and whose they are."""

    space: Space
    observations: Observations
    X: Array

    @property
    def losses(self) -> Array:
        return self.observations.losses


def arrays(
    distributions: Mapping[str, BaseDistribution],
    seen: Observations,
    declared: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
    ordinal: Sequence[str] | None = None,
) -> Arrays:
    """Space (with conditions, declared or inferred from complete trials) and the observations that fit it."""
    flat = Space.of(distributions, None, ordinal)
    finished = [c for c, done in zip(seen.configurations, seen.complete, strict=True) if done]
    conditions = infer_conditions(flat, finished)
    if declared:
        conditions.update(declared_conditions(flat, declared))
    space = Space(flat.dimensions, conditions)
    return encoded(space, seen)


def encoded(space: Space, seen: Observations) -> Arrays:
    X, fits = space.encode(seen.configurations)
    if not fits.all():
        keep = np.flatnonzero(fits)
        return Arrays(space, seen.select(keep.tolist()), X[keep])
    return Arrays(space, seen, X)
