"""Gradients of the hyperparameters' posterior and of predictions, against central differences to 1e-5 relative."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import assert_gradient, central_difference, configurations, fitted_process, noisy_problem

from pellucid.models import fitting
from pellucid.models.kernels import KERNELS, Kernel
from pellucid.models.pairs import Pairs

NOMINALS = [(), (0, 3, 0), (2, 0, 4), (3, 2, 5)]


# ------------------------------------------------------------------------------------- hyperparameters


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nominal", NOMINALS)
@pytest.mark.parametrize("known_noise", [False, True], ids=["noise unknown", "noise known"])
@pytest.mark.parametrize("prior", [fitting.UNKNOWN_NOISE, fitting.NO_NOISE], ids=["noisy", "deterministic"])
def test_gradient_of_the_log_posterior_of_hyperparameters(
    kernel: str, nominal: tuple[int, ...], known_noise: bool, prior: fitting.NoisePrior
) -> None:
    n, d = 15, 3
    X, y = noisy_problem(seed=3, n=n, d=d, nominal=nominal)
    z = (y - y.mean()) / y.std()
    rng = np.random.default_rng(8)
    v = np.where(rng.random(n) < 0.5, rng.random(n) * 0.3, 0.0) if known_noise else None
    objective = fitting.Objective(Pairs(Kernel(kernel, nominal), X), z, v, prior)
    for _ in range(4):
        theta = np.r_[rng.normal(-1.0, 0.7, size=d), np.log(1e-3) + rng.normal()]
        theta = np.r_[theta, rng.normal()] if known_noise else theta
        value, gradient = objective(theta)
        assert np.isfinite(value)
        assert_gradient(gradient, central_difference(lambda t: objective(t)[0], theta, 1e-3))


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_of_the_log_posterior_in_more_columns_than_one_group(kernel: str) -> None:
    d, n = 35, 12
    nominal = tuple(3 if j in (4, 15, 16, 33) else 0 for j in range(d))
    X, y = noisy_problem(seed=4, n=n, d=d, nominal=nominal)
    objective = fitting.Objective(
        Pairs(Kernel(kernel, nominal), X), (y - y.mean()) / y.std(), None, fitting.UNKNOWN_NOISE
    )
    theta = np.r_[np.random.default_rng(9).normal(1.0, 0.5, size=d), np.log(1e-2)]
    assert_gradient(objective(theta)[1], central_difference(lambda t: objective(t)[0], theta, 1e-3))


# ----------------------------------------------------------------------------------------- predictions


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("d", "nominal"), [(1, ()), (3, ()), (3, (0, 3, 0)), (3, (2, 0, 4)), (20, ())])
def test_gradients_of_the_latent_mean_and_sd(kernel: str, d: int, nominal: tuple[int, ...]) -> None:
    gp = fitted_process(kernel, nominal, d=d)
    X = configurations(12, 8, d, nominal)
    mean, sd, d_mean, d_sd = gp.latent_with_gradient(X)
    np.testing.assert_allclose(mean, gp.latent(X)[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sd, gp.latent(X)[1], rtol=1e-12)
    for i, x in enumerate(X):
        assert_gradient(d_mean[i], central_difference(lambda t: gp.latent(t[None])[0][0], x, 2e-4))
        assert_gradient(d_sd[i], central_difference(lambda t: gp.latent(t[None])[1][0], x, 2e-4))
    for j, categories in enumerate(nominal):
        assert not categories or ((d_mean[:, j] == 0.0).all() and (d_sd[:, j] == 0.0).all())


def test_gradients_hold_after_pending_trials_were_believed() -> None:
    gp = fitted_process("matern32", ()).believe(configurations(13, 3, 3, ()))
    X = configurations(14, 6, 3, ())
    _, _, d_mean, d_sd = gp.latent_with_gradient(X)
    for i, x in enumerate(X):
        assert_gradient(d_mean[i], central_difference(lambda t: gp.latent(t[None])[0][0], x, 2e-4))
        assert_gradient(d_sd[i], central_difference(lambda t: gp.latent(t[None])[1][0], x, 2e-4))


def test_central_differences_recognise_a_wrong_gradient() -> None:
    """The oracle itself: right for a known function, and not satisfied by 1 + 1e-4 times the gradient."""
    numeric = central_difference(lambda x: float(np.sin(x[0]) * x[1] ** 2), np.array([0.3, 2.0]), 1e-3)
    exact = np.array([np.cos(0.3) * 4.0, np.sin(0.3) * 4.0])
    assert_gradient(exact, numeric)
    with pytest.raises(AssertionError):
        assert_gradient(exact * (1 + 1e-4), numeric)
