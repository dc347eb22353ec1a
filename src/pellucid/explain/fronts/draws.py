"""Joint draws of several objectives, wide enough for what is said about fronts.

A front is made of the best of many configurations, where a model that is too sure of itself errs most. So the draws are
widened for the few trials that they rest on, as the interval of a recommendation is.

Notation
    F (s, m, k)   joint draws of the true outcomes at candidates Z (m, d), as losses
    w             the distance of a draw from the mean of its model is widened by w = sqrt(1 + widening d / n), on the
                  latent scale, for n trials of d parameters
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pellucid.explain.feasibility import feasible_losses
from pellucid.explain.outcomes import objective_models
from pellucid.explain.parts import drawn_models, joint_latent
from pellucid.numerics import Array, Mask
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess


@dataclass(frozen=True, eq=False)
class Draws:
    """`outcomes` F, finite, and in which draws every candidate is feasible (s, m)."""

    outcomes: Array
    feasible: Mask

    @property
    def kept(self) -> Array:
        """F, infinite where a draw is infeasible."""
        return np.where(self.feasible[:, :, None], self.outcomes, np.inf)


def front_draws(view: StudyView, data: Arrays, Z: Array, widening: float) -> Draws:
    """The same draws whenever the models and the candidates are the same."""
    w = math.sqrt(1.0 + widening * len(data.space) / len(data.losses))
    draws = []
    for about, gp in zip(view.each, objective_models(view, data), strict=True):
        own = data.about(about.observations)
        # There is nothing to vary in a model of values that are all the same.
        models = drawn_models(gp, own) if np.ptp(own.losses) > 0.0 else (gp,)
        draws.append(_losses(models, Z, w, (f"objective {about.index}",)))
    fewest = min(len(each) for each in draws)
    F = np.stack([each[:fewest] for each in draws], axis=2)
    fine = np.isfinite(feasible_losses(view.each[0], data.space, Z, np.zeros((fewest, len(Z)))))
    return Draws(F, fine)


def _losses(models: tuple[GaussianProcess, ...], Z: Array, w: float, about: tuple[str, ...]) -> Array:
    latent = joint_latent(models, Z, about).reshape(len(models), -1, len(Z))
    losses = []
    for model, draws in zip(models, latent, strict=True):
        mean = model.latent_mean(Z)
        losses.append(model.losses(mean + w * (draws - mean)))
    return np.vstack(losses)
