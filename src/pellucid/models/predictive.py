"""How far the next value may lie from its prediction: noise and what the fit cannot know yet, not only the function.

Notation
    m, s (m,)   latent mean and sd of the function at new points;  v  latent variance of the noise
    e_i         leave-one-out error of observation i, (C^-1 z)_i / (C^-1)_ii, latent
    u           variance that is added for what the hyperparameters may have missed, latent
    z_t         (value - mean) / sd of an earlier prediction, by the sd before it was widened
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.models.gp import GaussianProcess
from pellucid.numerics import Array

# Chosen on the design problems of the truth bench, 27 noisy and 27 exact studies. Early fits take noise for structure,
# and show it by how badly they predict their good observations from the others: of that error, all counts up to
# _TRUSTED_AFTER observations, and a share that falls with their number afterwards. At most _MOST_LEFT_OUT observations
# are left out, the best quarter, because that is where proposals are. Noisy coverage in trials 10-39: .72 -> .93
# together with the recalibration; the median interval of exact studies is 46% wider in trials 10-19, 26% in trials
# 10-39 and unchanged later.
_TRUSTED_AFTER, _BEST_SHARE, _FEWEST_LEFT_OUT, _MOST_LEFT_OUT = 20, 0.25, 3, 32
# Recalibration: the last predictions that count, the weight of the claim that the sd is right, and the largest |z| that
# one prediction counts with, so that one surprise does not widen the next thirty intervals by much.
RECENT, _WEIGHT, _LARGEST_Z = 30, 3.0, 5.0


def unlearned_variance(gp: GaussianProcess) -> float:
    """u: the mean square leave-one-out error of the best observations, less of it the more observations there are."""
    data = gp.data
    n = len(data.z)
    count = min(n, _MOST_LEFT_OUT, max(_FEWEST_LEFT_OUT, int(_BEST_SHARE * n)))
    best = np.argsort(data.z, kind="stable")[:count]
    unit = np.zeros((n, count))
    unit[best, np.arange(count)] = 1.0
    half = data.factor.half_solve(unit)
    precision = np.maximum(np.einsum("ij,ij->j", half, half), 1e-300)
    errors = data.alpha[best] / precision
    return float(np.mean(errors**2)) * min(1.0, _TRUSTED_AFTER / n)


def typical_noise(gp: GaussianProcess) -> float:
    """v: the learned noise, and what the median observation reported of its own."""
    return float(np.median(gp.data.noise_ratio)) * gp.hyperparameters.outputscale


def predictive_sd(gp: GaussianProcess, mean: Array, sd: Array) -> Array:
    """Sd of the next value in the unit of y, given the latent mean and sd of the function; `gp` has its data."""
    return gp.from_latent(mean, np.sqrt(sd**2 + typical_noise(gp) + unlearned_variance(gp)))[1]


def recalibration(z: Sequence[float]) -> float:
    """By how much to widen the next prediction, given earlier ones, the newest last: their rms z, drawn to 1.

    Never below 1: a run of lucky predictions is no reason to promise more.
    """
    recent = np.clip(np.asarray(z[-RECENT:], dtype=float), -_LARGEST_Z, _LARGEST_Z)
    return float(max(1.0, np.sqrt((np.sum(recent**2) + _WEIGHT) / (len(recent) + _WEIGHT))))
