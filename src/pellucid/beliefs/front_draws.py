"""Joint draws of several objectives, for what is said about fronts.

Many configurations are equal in an objective that depends on few parameters, and which of them are on the front is then
up to the others. So the models leave out parameters that may have no effect: what is said of configurations that were
tried, and of moving one parameter, is about which parameters matter.

The front over all configurations, tried or not, is made of the best of many, where a model that is too sure of itself
errs most. Draws behind what is said of it leave out nothing, and are widened for the few trials that they rest on, as
the interval of a recommendation is. The chance that a trial is on the front of the trials needs no widening: with it,
trials that are nearly as good take turns too often, and chances are too close to one half.

Notation
    F (s, m, k)   joint draws of the true outcomes at candidates Z (m, d), as losses
    w             the distance of a draw from the mean of its model is widened by w = sqrt(1 + widening d / n), on the
                  latent scale, for n trials of d parameters
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pellucid.beliefs import Beliefs
from pellucid.beliefs.evidence import NO_EFFECT
from pellucid.beliefs.feasibility import feasible_losses
from pellucid.models import GaussianProcess
from pellucid.models.draws import joint_latent
from pellucid.numerics import Array, Indices, Mask
from pellucid.study.arrays import Arrays


@dataclass(frozen=True, eq=False)
class Draws:
    """`outcomes` F, finite, and in which draws every candidate is feasible (s, m)."""

    outcomes: Array
    feasible: Mask

    @property
    def kept(self) -> Array:
        """F, infinite where a draw is infeasible."""
        return np.where(self.feasible[:, :, None], self.outcomes, np.inf)


def front_draws(beliefs: Beliefs, data: Arrays, Z: Array, widening: float = 0.0, *, sparse: bool = True) -> Draws:
    """The same draws whenever the models and the candidates are the same. `sparse`: models leave out parameters."""
    w = math.sqrt(1.0 + widening * len(data.space) / len(data))
    draws = []
    for model in beliefs.objective_models(data):
        # There is nothing to vary in a model of values that are all the same.
        if np.ptp(model.data.losses) == 0.0:
            models: tuple[GaussianProcess, ...] = (model.gp,)
        else:
            models = model.sparse if sparse else model.drawn
        draws.append(_losses(models, Z, w, (f"objective {model.target.column}",)))
    fewest = min(len(each) for each in draws)
    F = np.stack([each[:fewest] for each in draws], axis=2)
    limits = beliefs.constraint_models(data.space)
    return Draws(F, np.isfinite(feasible_losses(limits, Z, np.zeros((fewest, len(Z))))))


def _losses(models: tuple[GaussianProcess, ...], Z: Array, w: float, subject: tuple[str, ...]) -> Array:
    latent = joint_latent(models, Z, subject).reshape(len(models), -1, len(Z))
    losses = []
    for model, draws in zip(models, latent, strict=True):
        mean = model.latent_mean(Z)
        losses.append(model.losses(mean + w * (draws - mean))[:, _first_alike(model, Z)])
    return np.vstack(losses)


def _first_alike(model: GaussianProcess, Z: Array) -> Indices:
    """For every candidate the first one that is the same to the model: draws of the two differ by rounding alone, and
    would take turns at being the better one."""
    seen = np.array(model.hyperparameters.lengthscales) < NO_EFFECT
    _, first, inverse = np.unique(Z[:, seen], axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.ravel()])
