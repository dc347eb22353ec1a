"""Units of acquisitions: from the latent scale of a model to the unit of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.words import OBJECTIVE

# Latent values closer than this are moved by this much to either side of their middle before a slope between them is
# computed, because their difference would otherwise be rounding error.
_SMALL_STEP = 1e-4


class Unit(NamedTuple):
    """Unit of an acquisition's value, and the factor from the value (in latent units) to it."""

    name: str
    factor: float


@dataclass(frozen=True)
class LatentScale:
    """How latent values relate to the objective around a proposal.

    best        latent value to improve on
    proposal    latent mean at the proposal;  background  average latent mean of what the proposal is compared with

    A model may see the objective through a monotone transformation. A latent step then has no single size in the unit
    of the objective: it depends on where the step is taken.
    """

    model: GaussianProcess
    best: float
    proposal: float
    background: float

    @property
    def untransformed(self) -> Unit:
        """For models without an output warp."""
        return Unit(OBJECTIVE, self.model.hyperparameters.y_scale)

    @property
    def at_best(self) -> Unit:
        """By the slope of the objective at the value to improve on."""
        return Unit(OBJECTIVE, objective_per_latent(self.model, self.best, self.best))

    @property
    def to_proposal(self) -> Unit:
        """By the change of the objective on the way from the background to the proposal."""
        return Unit(OBJECTIVE, objective_per_latent(self.model, self.proposal, self.background))


def objective_per_latent(gp: GaussianProcess, a: float, b: float) -> float:
    """Change of the objective per latent unit between two latent values, or at one."""
    if gp.hyperparameters.warp is None:
        return gp.hyperparameters.y_scale
    if abs(b - a) < _SMALL_STEP:
        middle = 0.5 * (a + b)
        a, b = middle - _SMALL_STEP, middle + _SMALL_STEP
    ends = gp.losses(np.array([a, b]))
    return float((ends[1] - ends[0]) / (b - a))
