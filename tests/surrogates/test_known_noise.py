"""Observations with a declared variance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import noisy_problem
from tests.surrogates.processes import assert_same_posterior, skewed, somewhere, warped_process

from pellucid.models import GaussianProcess, warp
from pellucid.models.kernels import KERNELS
from pellucid.numerics import Array


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_point_with_a_huge_declared_variance_barely_moves_the_posterior(kernel: str) -> None:
    X, y = noisy_problem(11, 20, 2)
    gp = GaussianProcess(kernel).fit(X, y)
    outlier = np.array([[0.5, 0.5]])
    more_X, more_y = np.vstack([X, outlier]), np.concatenate([y, [y.max() + 10 * y.std()]])
    twin = GaussianProcess.from_hyperparameters(gp.hyperparameters)
    points = np.vstack([somewhere(20, 2), outlier])
    trusted = twin.condition(more_X, more_y).predict(points)[0]
    declared = np.r_[np.zeros(20), 1e8 * y.var()]
    doubted = twin.condition(more_X, more_y, declared).predict(points)
    mean, sd = gp.predict(points)
    np.testing.assert_allclose(doubted[0], mean, atol=1e-6 * y.std())
    np.testing.assert_allclose(doubted[1], sd, rtol=1e-6)
    assert abs(trusted[-1] - mean[-1]) > y.std()


@pytest.mark.parametrize("use_warp", [False, True], ids=["plain", "warped"])
def test_fitting_ignores_a_point_with_a_huge_declared_variance(use_warp: bool) -> None:
    X, y = noisy_problem(12, 30, 2)
    choice = "auto" if use_warp else None
    without = GaussianProcess(warp=choice).fit(X, y)
    outlier = np.array([[0.5, 0.5]])
    more_X, more_y = np.vstack([X, outlier]), np.concatenate([y, [y.max() + 3 * y.std()]])
    doubted = GaussianProcess(warp=choice).fit(more_X, more_y, np.r_[np.full(30, np.nan), 1e6 * y.var()])
    trusted = GaussianProcess(warp=choice).fit(more_X, more_y)
    points = np.vstack([somewhere(30, 2), outlier])
    moved = np.abs(doubted.predict(points)[0] - without.predict(points)[0]).max()
    assert moved < 0.2 * y.std()
    assert moved < 0.3 * np.abs(trusted.predict(points)[0] - without.predict(points)[0]).max()


def test_repeating_an_observation_is_observing_it_once_with_less_noise() -> None:
    """Four observations with variance v equal one with v / 4."""
    X, y = noisy_problem(13, 8, 2)
    h = replace(GaussianProcess().fit(X, y).hyperparameters, noise=1e-10)
    v = 0.3 * float(y.var())
    once = GaussianProcess.from_hyperparameters(h).condition(X, y, np.full(8, v / 4))
    often = GaussianProcess.from_hyperparameters(h).condition(np.repeat(X, 4, axis=0), np.repeat(y, 4), np.full(32, v))
    for actual, expected in zip(once.predict(somewhere(10, 2)), often.predict(somewhere(10, 2)), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_declared_variance_is_in_the_unit_of_y_squared() -> None:
    """Declaring v everywhere adds v / y_scale^2 to the noise on the latent scale."""
    X, y = noisy_problem(13, 8, 2)
    h = GaussianProcess().fit(X, y).hyperparameters
    assert h.y_scale != pytest.approx(1.0, rel=0.2)
    v = 0.3 * float(y.var())
    declared = GaussianProcess.from_hyperparameters(h).condition(X, y, np.full(8, v))
    added = GaussianProcess.from_hyperparameters(replace(h, noise=h.noise + v / h.y_scale**2)).condition(X, y)
    assert_same_posterior(declared, added, somewhere(10, 2))


def test_declared_variance_passes_through_a_warp_by_its_slope() -> None:
    X, y = skewed(1, 30, 2)
    h = warped_process().hyperparameters
    v = 0.01 * float(y.var())
    declared = GaussianProcess.from_hyperparameters(h).condition(X[:1], y[:1], np.array([v]))
    slope = float(np.exp(warp.log_derivative(h.warp, y[:1]))[0])
    noisier = GaussianProcess.from_hyperparameters(replace(h, noise=h.noise + v * slope**2 / h.y_scale**2))
    assert_same_posterior(declared, noisier.condition(X[:1], y[:1]), somewhere(5, 2))


@pytest.mark.parametrize("a", [1e-6, 40.0, 1e6])
def test_declared_variances_follow_a_change_of_the_unit_of_y(a: float) -> None:
    X, y = noisy_problem(13, 20, 2)
    v = np.random.default_rng(0).random(20) * y.var()
    mean, sd = GaussianProcess().fit(X, y, v).predict(somewhere(10, 2))
    new_mean, new_sd = GaussianProcess().fit(X, a * y, a * a * v).predict(somewhere(10, 2))
    np.testing.assert_allclose(new_mean, a * mean, rtol=1e-6)
    np.testing.assert_allclose(new_sd, a * sd, rtol=1e-6)


def test_of_two_points_the_one_without_noise_is_interpolated() -> None:
    X, y = noisy_problem(14, 12, 2)
    variance = np.full(12, float(y.var()))
    variance[5] = 0.0
    gp = GaussianProcess(deterministic=True).fit(X, y, variance)
    mean, sd = gp.predict(X)
    h = gp.hyperparameters
    prior_sd = h.y_scale * np.sqrt(h.outputscale)
    assert abs(mean[5] - y[5]) < 1e-3 * y.std()
    assert sd[5] < 0.01 * prior_sd
    others = np.arange(12) != 5
    assert np.abs(mean - y)[others].max() > 0.1 * y.std()
    assert sd[others].min() > 5 * sd[5]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_deterministic_objective_is_interpolated(kernel: str) -> None:
    X, y = noisy_problem(15, 20, 3, noise=0.0)
    gp = GaussianProcess(kernel, deterministic=True).fit(X, y)
    mean, sd = gp.predict(X)
    np.testing.assert_allclose(mean, y, atol=1e-3 * y.std())
    assert sd.max() < 0.02 * y.std()


@pytest.mark.parametrize("unknown", [None, np.full(15, np.nan), np.zeros(15)])
def test_uninformative_variances_count_as_none(unknown: Array | None) -> None:
    X, y = noisy_problem(16, 15, 2)
    plain, silent = GaussianProcess().fit(X, y), GaussianProcess().fit(X, y, unknown)
    assert plain.hyperparameters == silent.hyperparameters
    assert np.array_equal(plain.predict(X)[1], silent.predict(X)[1])
