"""Confidence bounds and pure uncertainty.

Notation: lower bound m - lam s (minimisation), maximised as -m + lam s; the schedule of GP-UCB is
lam_t = sqrt(2 log(d t^2 / beta)) with t observations in d dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.numerics import Array, is_number
from pellucid.provenance import Term
from pellucid.search.acquisition.base import PointwiseAcquisition, Situation
from pellucid.search.acquisition.units import LatentScale, Unit

_UNKNOWN = "little was known there"


def confidence_width(dimension: int, n_observed: int, beta: float = 1.0) -> float:
    """sqrt(2 log(d t^2 / beta)); at least 0."""
    return float(np.sqrt(max(0.0, 2.0 * np.log(max(dimension, 1) * max(n_observed, 1) ** 2 / beta))))


@dataclass(frozen=True)
class LCB(PointwiseAcquisition):
    """Lower confidence bound; `lam=None` widens with the number of observations, sqrt(2 log(d t^2 / beta))."""

    lam: float | None = 2.0
    beta: float = 1.0
    mean_term = "mean"

    def __post_init__(self) -> None:
        if self.lam is not None and not is_number(self.lam, 0.0):
            raise ValueError(f"`lam` must be None or a number of at least 0, but got {self.lam!r}.")
        if not (is_number(self.beta) and self.beta > 0.0):
            raise ValueError(f"`beta` must be a positive number, but got {self.beta!r}.")

    def width(self, situation: Situation) -> float:
        if self.lam is not None:
            return self.lam
        return confidence_width(situation.dimension, situation.n_observed, self.beta)

    def weights(self, situation: Situation) -> dict[str, float]:
        return {"mean": 1.0, "uncertainty": self.width(situation)}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return {"mean": -m, "uncertainty": s}

    def words(self) -> dict[str, Term]:
        return {
            "mean": Term("predicted {objective}", "{better} predicted {objective}", "prediction"),
            "uncertainty": Term("uncertainty", _UNKNOWN, "uncertainty"),
        }

    def unit(self, scale: LatentScale) -> Unit:
        return scale.to_proposal

    def score(self, m: Array, s: Array, situation: Situation) -> Array:
        return np.asarray(self.width(situation) * s - m)

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        return self.score(m, s, situation), -np.ones_like(m), np.full_like(s, self.width(situation))


# Where one acquisition has to serve alone: in a search in steps, and for trials that another sampler proposed. The best
# mean rank of all single acquisitions in lab/results/sawei.
DEFAULT_ACQUISITION = LCB(2.0)


@dataclass(frozen=True)
class PosteriorVariance(PointwiseAcquisition):
    """Pure exploration: the variance itself."""

    def weights(self, situation: Situation) -> dict[str, float]:
        return {"variance": 1.0}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return {"variance": s * s}

    def words(self) -> dict[str, Term]:
        return {"variance": Term("variance", _UNKNOWN, "uncertainty")}

    def unit(self, scale: LatentScale) -> Unit:
        return Unit("standardised variance", 1.0)

    def score(self, m: Array, s: Array, situation: Situation) -> Array:
        return np.log(s)

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        return np.log(s), np.zeros_like(m), 1.0 / s
