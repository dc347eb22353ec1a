"""Joint draws of models at many configurations.

Notation
    Z (m, d)   encoded candidates, canonical
    F (s, m)   joint draws of the function at all of them, as losses; an equal number from each of several models
"""

from __future__ import annotations

import numpy as np

from pellucid.models.gp import GaussianProcess
from pellucid.numerics import Array, cholesky, stream

_N_DRAWS = 384


def joint_losses(models: tuple[GaussianProcess, ...], Z: Array, subject: tuple[str, ...] = ()) -> Array:
    """F: the same draws whenever the models and the candidates are the same. `subject`: see `joint_latent`."""
    latent = joint_latent(models, Z, subject).reshape(len(models), -1, len(Z))
    return np.vstack([model.losses(draws) for model, draws in zip(models, latent, strict=True)])


def joint_latent(models: tuple[GaussianProcess, ...], Z: Array, subject: tuple[str, ...] = ()) -> Array:
    """Draws before the inverse of the warp; only those of the same row can be compared. `subject`: draws of different
    subjects are independent of each other."""
    rng = stream(0, "parts of a space", len(Z), *subject)
    draws = []
    for model in models:
        mean, covariance = model.joint(Z)
        steps = rng.standard_normal((_N_DRAWS // len(models), len(Z)))
        draws.append(mean + steps @ cholesky(covariance).L.T)
    return np.vstack(draws)
