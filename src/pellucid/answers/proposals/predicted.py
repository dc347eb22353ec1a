"""What a model predicted of one objective, as a game of its own: exact, in the unit of the objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.answers.proposals.records import PREDICTED
from pellucid.numerics import Array
from pellucid.provenance import Term
from pellucid.search.acquisition.base import PointwiseAcquisition, Situation
from pellucid.search.acquisition.units import LatentScale, Unit


@dataclass(frozen=True)
class PredictedMean(PointwiseAcquisition):
    """The predicted mean alone. Nothing is proposed by it: it splits what was predicted between parameters."""

    name = "predicted mean"
    mean_term = PREDICTED

    def weights(self, situation: Situation) -> dict[str, float]:
        return {PREDICTED: 1.0}

    def terms(self, m: Array, s: Array, situation: Situation) -> dict[str, Array]:
        return {PREDICTED: -m}

    def words(self) -> dict[str, Term]:
        return {PREDICTED: Term("predicted {objective}", "{better} predicted {objective}", "prediction")}

    def unit(self, scale: LatentScale) -> Unit:
        return scale.to_proposal

    def score_slopes(self, m: Array, s: Array, situation: Situation) -> tuple[Array, Array, Array]:
        return -m, -np.ones_like(m), np.zeros_like(s)
