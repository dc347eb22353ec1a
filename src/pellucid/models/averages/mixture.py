"""One effect under several plausible models: its mean, its band, and the covariance for contrasts.

Notation
    phi_k, S_k, J_k   mean, covariance with a constant mean integrated out, and jackknife covariance of model k (see
                      `effects`), on the latent scale of the fitted model
    q_k               `surprise` of model k
    covariance        mean of S_k + JACKKNIFE_SHARE J_k, plus the covariance of the means phi_k
    sd                square root of the diagonal of: mean of q_k S_k + BAND_SHARE J_k, plus that of the means
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.models.averages.averages import Average
from pellucid.models.averages.effects import JACKKNIFE_SHARE, Effects, surprise
from pellucid.models.gp import GaussianProcess
from pellucid.numerics import Array

# Bands must hold where a search that has converged left few trials, and there the model is too sure of itself: the more
# so, the less the space has been looked over. On the truth bench's design problems bands after TPE, the hardest case,
# cover 86% without the jackknife variance and 92% with half of it on one seed, and 86% with all of it on others; twice
# as much keeps them above 92% on all. Contrasts need less: with half, no parameter without an effect was found to
# matter at |z| >= 2 in these studies, and more only costs power.
BAND_SHARE = 2.0


@dataclass(frozen=True)
class Mixture:
    """An effect on its grid, latent: mean, sd of the band, covariance for contrasts, and the model's own sd and the
    jackknife sd alone."""

    mean: Array
    sd: Array
    covariance: Array
    raw_sd: Array
    jackknife_sd: Array


def mixture(gp: GaussianProcess, models: Sequence[GaussianProcess], average: Average) -> Mixture:
    """The effect under models of equal weight, on the latent scale of `gp`."""
    means, posteriors, jackknives, surprises = [], [], [], []
    for model in models:
        effects = Effects(model, [average])
        h, own = gp.hyperparameters, model.hyperparameters
        scale = own.y_scale / h.y_scale
        means.append((own.y_mean - h.y_mean) / h.y_scale + scale * effects.band.mean)
        posteriors.append(scale**2 * effects.joint_covariance)
        jackknives.append(scale**2 * effects.jackknife_covariance)
        surprises.append(surprise(model))
    mean = np.mean(means, axis=0)
    moved = np.array(means) - mean
    between = moved.T @ moved / len(models)
    posterior, jackknife = np.mean(posteriors, axis=0), np.mean(jackknives, axis=0)
    widened = np.mean([q * np.diagonal(S) for q, S in zip(surprises, posteriors, strict=True)], axis=0)
    variance = widened + BAND_SHARE * np.diagonal(jackknife) + np.diagonal(between)
    return Mixture(
        mean=mean,
        sd=np.sqrt(np.maximum(variance, 0.0)),
        covariance=posterior + JACKKNIFE_SHARE * jackknife + between,
        raw_sd=np.sqrt(np.maximum(np.diagonal(posterior), 0.0)),
        jackknife_sd=np.sqrt(np.maximum(np.diagonal(jackknife), 0.0)),
    )


def contrasts(mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Differences of all pairs, mean_i - mean_j (G, G), and their standard deviations."""
    variance = np.diagonal(covariance)
    sd = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2.0 * covariance, 0.0))
    return mean[:, None] - mean[None, :], np.maximum(sd, 1e-9 * np.sqrt(max(float(variance.max()), 1e-300)))
