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

from pellucid.explain.evidence import NO_EFFECT
from pellucid.explain.feasibility import feasible_losses
from pellucid.explain.outcomes import objective_models
from pellucid.explain.parts import drawn_models, joint_latent
from pellucid.explain.sparse import sparse_models
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Indices, Mask
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView


@dataclass(frozen=True, eq=False)
class Draws:
    """`outcomes` F, finite, and in which draws every candidate is feasible (s, m)."""

    outcomes: Array
    feasible: Mask

    @property
    def kept(self) -> Array:
        """F, infinite where a draw is infeasible."""
        return np.where(self.feasible[:, :, None], self.outcomes, np.inf)


def front_draws(view: StudyView, data: Arrays, Z: Array, widening: float = 0.0, *, sparse: bool = True) -> Draws:
    """The same draws whenever the models and the candidates are the same. `sparse`: models leave out parameters."""
    w = math.sqrt(1.0 + widening * len(data.space) / len(data.losses))
    draws = []
    for about, gp in zip(view.each, objective_models(view, data), strict=True):
        own = data.about(about.observations)
        # There is nothing to vary in a model of values that are all the same.
        subject = (f"objective {about.index}",)
        if np.ptp(own.losses) == 0.0:
            models: tuple[GaussianProcess, ...] = (gp,)
        else:
            models = sparse_models(gp, own, subject) if sparse else drawn_models(gp, own)
        draws.append(_losses(models, Z, w, subject))
    fewest = min(len(each) for each in draws)
    F = np.stack([each[:fewest] for each in draws], axis=2)
    fine = np.isfinite(feasible_losses(view.each[0], data.space, Z, np.zeros((fewest, len(Z)))))
    return Draws(F, fine)


def _losses(models: tuple[GaussianProcess, ...], Z: Array, w: float, about: tuple[str, ...]) -> Array:
    latent = joint_latent(models, Z, about).reshape(len(models), -1, len(Z))
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
