"""Claims about distributions: calibration of the posterior."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pellucid.models import GaussianProcess
from pellucid.models.kernels import Kernel
from pellucid.numerics import cholesky

pytestmark = pytest.mark.slow


def draws_from_the_prior(kernel: str, n: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    X = rng.random((n, 3))
    lengths = np.exp(rng.normal(0.0, 0.5, size=3))
    model = Kernel(kernel)
    columns = model.columns(X, lengths)
    covariance = np.asarray(model.cross(columns, columns, lengths), dtype=float)
    f = cholesky(covariance).L @ rng.standard_normal(n)
    return X, f, f + math.sqrt(noise) * rng.standard_normal(n)


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "se"])
def test_intervals_of_the_fitted_model_have_about_their_nominal_coverage(kernel: str) -> None:
    """95% intervals at unseen points, 60 functions from the prior with noise, hyperparameters fitted."""
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(60):
        X, f, y = draws_from_the_prior(kernel, 140, 0.01, rng)
        gp = GaussianProcess(kernel).fit(X[:60], y[:60])
        mean, sd = gp.predict(X[60:])
        hits.append(np.mean(np.abs(f[60:] - mean) <= 1.96 * sd))
    # Plugging in point estimates ignores their own uncertainty, so theory expects a little under 95%.
    assert 0.89 <= np.mean(hits) <= 0.985


def test_the_warp_of_skewed_losses_predicts_better_than_no_warp() -> None:
    """Held-out log density of exp(Gaussian process) samples, warp chosen by likelihood against none."""
    rng = np.random.default_rng(1)
    gains = []
    for _ in range(30):
        X, f, _ = draws_from_the_prior("matern32", 90, 0.0, rng)
        y = np.exp(2.0 * f)
        errors = []
        for choice in ("auto", None):
            gp = GaussianProcess("matern32", warp=choice).fit(X[:60], y[:60])
            median = gp.quantile(X[60:], 0.5)
            errors.append(np.mean(np.abs(np.log(np.maximum(median, 1e-3)) - 2.0 * f[60:])))
        gains.append(errors[1] - errors[0])
    assert np.mean(gains) > 3.0 * np.std(gains) / math.sqrt(len(gains))
