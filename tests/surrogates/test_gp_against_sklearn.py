"""The exact Gaussian process against scikit-learn's, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from tests.problems import noisy_problem

from pellucid.models import GaussianProcess, fitting
from pellucid.models.kernels import KERNELS
from pellucid.models.states import Hyperparameters
from pellucid.numerics import Array

RADIAL = ("rbf-radial", "matern52-radial")
SHAPES = [(1, 5), (1, 40), (2, 12), (3, 25), (4, 30), (5, 60), (6, 8), (6, 60)]


def sklearn_twin(h: Hyperparameters, X: Array, y: Array) -> GaussianProcessRegressor:
    """scikit-learn's process with the same hyperparameters, on the latent scale."""
    lengthscales = np.array(h.lengthscales)
    shape = RBF(lengthscales) if h.kernel == "rbf-radial" else Matern(length_scale=lengthscales, nu=2.5)
    regressor = GaussianProcessRegressor(
        ConstantKernel(h.outputscale) * shape, alpha=h.noise, optimizer=None, normalize_y=False
    )
    return regressor.fit(X, (y - h.y_mean) / h.y_scale)


def test_problem_has_something_to_learn_and_noise() -> None:
    X, y = noisy_problem(0, 60, 3)
    h = GaussianProcess("rbf-radial").fit(X, y).hyperparameters
    assert 1e-4 < h.noise < 0.5
    assert abs(h.y_mean) > 1.0


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize(("d", "n"), SHAPES)
def test_likelihood_and_predictions_are_those_of_sklearn(kernel: str, d: int, n: int) -> None:
    X, y = noisy_problem(seed=100 * d + n, n=n, d=d)
    gp = GaussianProcess(kernel, warp=None).fit(X, y)
    h = gp.hyperparameters
    twin = sklearn_twin(h, X, y)
    assert gp.log_marginal_likelihood() == pytest.approx(twin.log_marginal_likelihood_value_, rel=1e-8)

    points = np.random.default_rng(1).random((50, d))
    mean, sd = gp.predict(points)
    twin_mean, twin_sd = twin.predict(points, return_std=True)
    np.testing.assert_allclose(mean, h.y_mean + h.y_scale * twin_mean, rtol=1e-8)
    np.testing.assert_allclose(sd, h.y_scale * twin_sd, rtol=1e-8)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize(("d", "n"), SHAPES)
def test_joint_covariance_is_that_of_sklearn(kernel: str, d: int, n: int) -> None:
    X, y = noisy_problem(seed=100 * d + n, n=n, d=d)
    gp = GaussianProcess(kernel, warp=None).fit(X, y)
    points = np.vstack([np.random.default_rng(2).random((12, d)), X[:2]])
    mean, covariance = gp.joint(points)
    twin_mean, twin_covariance = sklearn_twin(gp.hyperparameters, X, y).predict(points, return_cov=True)
    np.testing.assert_allclose(mean, twin_mean, rtol=1e-8, atol=1e-10)
    largest = np.abs(twin_covariance).max()
    np.testing.assert_allclose(covariance, twin_covariance, rtol=1e-8, atol=1e-8 * largest)
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), gp.latent(points)[1], rtol=1e-8)


@pytest.mark.parametrize("kernel", RADIAL)
def test_likelihood_of_chosen_hyperparameters_is_that_of_sklearn(kernel: str) -> None:
    """Away from the optimum too, and with very unequal lengthscales."""
    X, y = noisy_problem(seed=5, n=30, d=4)
    h = Hyperparameters(kernel, (0.05, 0.4, 3.0, 50.0), outputscale=7.5, noise=0.02, y_mean=3.0, y_scale=0.4)
    gp = GaussianProcess.from_hyperparameters(h).condition(X, y)
    twin = sklearn_twin(h, X, y)
    assert gp.log_marginal_likelihood() == pytest.approx(twin.log_marginal_likelihood_value_, rel=1e-8)
    points = np.random.default_rng(3).random((40, 4))
    twin_mean, twin_sd = twin.predict(points, return_std=True)
    np.testing.assert_allclose(gp.latent(points)[0], twin_mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(gp.latent(points)[1], twin_sd, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("warp", [None, "auto"])
@pytest.mark.parametrize(("n", "nominal", "known_noise"), [(5, (), False), (40, (), True), (40, (0, 3, 0), True)])
def test_hyperparameters_and_data_give_back_the_fitted_process_exactly(
    kernel: str, warp: str | None, n: int, nominal: tuple[int, ...], known_noise: bool
) -> None:
    X, y = noisy_problem(seed=n, n=n, d=3, nominal=nominal)
    y = np.exp(y / 2.0)  # Skewed, so that a warp is useful.
    variance = np.random.default_rng(n).random(n) * 0.1 if known_noise else None
    fitted = GaussianProcess(kernel, warp=warp, nominal=nominal).fit(X, y, variance)
    assert_given_back_exactly(fitted, X, y, variance)


@pytest.mark.parametrize("kernel", ["matern32", "rbf-radial"])
def test_a_process_learned_from_a_part_of_the_data_is_given_back_exactly_too(kernel: str) -> None:
    X, y = noisy_problem(seed=7, n=fitting.MAX_FIT_POINTS + 20, d=3)
    fitted = GaussianProcess(kernel, warp="auto").fit(X, y)
    assert fitted.n_observed == fitting.MAX_FIT_POINTS + 20
    assert_given_back_exactly(fitted, X, y, None)


def assert_given_back_exactly(fitted: GaussianProcess, X: Array, y: Array, variance: Array | None) -> None:
    again = GaussianProcess.from_hyperparameters(fitted.hyperparameters).condition(X, y, variance)
    points = np.random.default_rng(4).random((20, 3))
    assert again.hyperparameters == fitted.hyperparameters
    assert again.log_marginal_likelihood() == fitted.log_marginal_likelihood()
    for actual, expected in zip(again.predict(points), fitted.predict(points), strict=True):
        assert np.array_equal(actual, expected)
    for actual, expected in zip(again.joint(points), fitted.joint(points), strict=True):
        assert np.array_equal(actual, expected)


def test_a_warp_is_chosen_in_at_least_one_of_these_comparisons() -> None:
    X, y = noisy_problem(seed=40, n=40, d=3)
    assert GaussianProcess("matern52", warp="auto").fit(X, np.exp(y / 2.0)).hyperparameters.warp is not None
