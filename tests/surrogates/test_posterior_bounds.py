"""Posteriors at many points: bounds of the sds first, and the sds themselves where they matter."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.models import GaussianProcess


@pytest.fixture(scope="module")
def process() -> GaussianProcess:
    rng = np.random.default_rng(0)
    X = rng.random((90, 3))
    return GaussianProcess().fit(X, np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=90))


def first(process: GaussianProcess, n: int) -> GaussianProcess:
    """The same process on its first n data."""
    X, y = process.data.X[:n], process.losses(process.data.z[:n])
    return GaussianProcess.from_hyperparameters(process.hyperparameters).condition(X, y)


@pytest.mark.parametrize("n", [1, 3, 4, 90])
def test_it_is_the_posterior_of_the_process(process: GaussianProcess, n: int) -> None:
    gp, points = first(process, n), np.random.default_rng(1).random((50, 3))
    mean, sd = gp.latent(points)
    np.testing.assert_allclose(gp.posterior_at(points).mean, mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(gp.posterior_at(points).sd(), sd, rtol=1e-10)


@pytest.mark.parametrize("n", [1, 3, 4, 90])
def test_sds_are_at_most_those_after_the_first_quarter_and_exact_where_asked(process: GaussianProcess, n: int) -> None:
    gp, points = first(process, n), np.random.default_rng(2).random((50, 3))
    sd = gp.latent(points)[1]
    posterior = gp.posterior_at(points)
    bound = posterior.sd_at_most()
    np.testing.assert_allclose(bound, first(process, n // 4).latent(points)[1] if n >= 4 else bound, rtol=1e-10)
    assert (bound >= sd * (1.0 - 1e-12)).all()
    for where in (points[:, 0] > 0.6, np.zeros(50, dtype=bool), np.ones(50, dtype=bool)):
        np.testing.assert_allclose(posterior.sd_where(where), sd[where], rtol=1e-10)
