"""Gaussian processes that several tests fit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import noisy_problem

from pellucid.models import GaussianProcess
from pellucid.numerics import Array


def skewed(seed: int, n: int, d: int) -> tuple[Array, Array]:
    X, y = noisy_problem(seed, n, d, noise=0.05)
    return X, np.exp(0.8 * (y - 5.0))


def warped_process(n: int = 30, d: int = 2) -> GaussianProcess:
    gp = GaussianProcess(warp="auto").fit(*skewed(1, n, d))
    assert gp.hyperparameters.warp is not None
    return gp


def somewhere(m: int, d: int, seed: int = 9) -> Array:
    return np.random.default_rng(seed).random((m, d))


def assert_same_posterior(gp: GaussianProcess, other: GaussianProcess, points: Array, tolerance: float = 1e-9) -> None:
    scale = np.sqrt(gp.hyperparameters.outputscale)
    for actual, expected in zip(gp.latent(points), other.latent(points), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
    for actual, expected in zip(gp.joint(points), other.joint(points), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale**2)
    assert gp.log_marginal_likelihood() == pytest.approx(other.log_marginal_likelihood(), rel=tolerance, abs=tolerance)
    np.testing.assert_allclose(gp.latent_at_observed(), other.latent_at_observed(), rtol=tolerance, atol=tolerance)
