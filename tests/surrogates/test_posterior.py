"""Posteriors: incremental against from scratch, sampled against exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.problems import noisy_problem
from tests.surrogates.processes import assert_same_posterior, skewed, somewhere, warped_process

from pellucid.models import GaussianProcess
from pellucid.models.kernels import KERNELS

NOMINAL = (0, 3, 0)


# ------------------------------------------------------------------------ incremental and from scratch


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nominal", [(), NOMINAL])
@pytest.mark.parametrize("added", [1, 7])
def test_update_is_conditioning_on_everything(kernel: str, nominal: tuple[int, ...], added: int) -> None:
    X, y = noisy_problem(2, 30, 3, nominal)
    gp = GaussianProcess(kernel, nominal=nominal).fit(X[:-added], y[:-added])
    scratch = GaussianProcess.from_hyperparameters(gp.hyperparameters).condition(X, y)
    assert_same_posterior(gp.update(X[-added:], y[-added:]), scratch, somewhere(15, 3))


def test_updates_one_by_one_are_conditioning_on_everything() -> None:
    X, y = noisy_problem(3, 25, 2)
    fitted = GaussianProcess().fit(X[:5], y[:5])
    gp = fitted
    for i in range(5, 25):
        gp = gp.update(X[i : i + 1], y[i : i + 1])
    scratch = GaussianProcess.from_hyperparameters(fitted.hyperparameters).condition(X, y)
    assert_same_posterior(gp, scratch, somewhere(15, 2))
    assert (gp.n_observed, fitted.n_observed) == (25, 5)


def test_update_of_a_warped_process_is_conditioning_on_everything() -> None:
    X, y = skewed(1, 36, 2)
    gp = GaussianProcess(warp="auto").fit(X[:30], y[:30])
    assert gp.hyperparameters.warp is not None
    updated = gp.update(X[30:], y[30:])
    scratch = GaussianProcess.from_hyperparameters(gp.hyperparameters).condition(X, y)
    assert_same_posterior(updated, scratch, somewhere(15, 2))
    for actual, expected in zip(updated.predict(somewhere(5, 2)), scratch.predict(somewhere(5, 2)), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nominal", [(), NOMINAL])
def test_believing_is_observing_the_expected_values(kernel: str, nominal: tuple[int, ...]) -> None:
    X, y = noisy_problem(4, 25, 3, nominal)
    pending, _ = noisy_problem(5, 4, 3, nominal)
    gp = GaussianProcess(kernel, nominal=nominal).fit(X, y)
    expected = gp.predict(pending)[0]
    scratch = GaussianProcess.from_hyperparameters(gp.hyperparameters).condition(
        np.vstack([X, pending]), np.concatenate([y, expected])
    )
    assert_same_posterior(gp.believe(pending), scratch, somewhere(15, 3))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("use_warp", [False, True], ids=["plain", "warped"])
def test_believing_leaves_the_mean_and_removes_variance(kernel: str, use_warp: bool) -> None:
    X, y = skewed(6, 25, 2)
    gp = GaussianProcess(kernel, warp="auto" if use_warp else None).fit(X, y)
    pending = somewhere(3, 2, seed=10)
    believed = gp.believe(pending)
    points = np.vstack([somewhere(40, 2), pending])
    mean, sd = gp.latent(points)
    new_mean, new_sd = believed.latent(points)
    np.testing.assert_allclose(new_mean, mean, rtol=1e-12, atol=1e-12)
    assert (new_sd <= sd * (1 + 1e-9)).all()
    noise_sd = np.sqrt(gp.hyperparameters.noise)
    assert (new_sd[-3:] <= np.minimum(sd[-3:], noise_sd) * (1 + 1e-6)).all()
    assert (new_sd[-3:] < 0.9 * sd[-3:]).any()


def test_believing_nothing_changes_nothing() -> None:
    gp = GaussianProcess().fit(*noisy_problem(7, 10, 2))
    assert_same_posterior(gp.believe(np.empty((0, 2))), gp, somewhere(5, 2), tolerance=0.0)


def test_believing_leaves_the_original_as_it_was() -> None:
    gp = GaussianProcess().fit(*noisy_problem(7, 10, 2))
    before = gp.latent(somewhere(5, 2))
    gp.believe(somewhere(3, 2)).update(somewhere(2, 2), np.zeros(2))
    for expected, actual in zip(before, gp.latent(somewhere(5, 2)), strict=True):
        assert np.array_equal(expected, actual)
    assert gp.n_observed == 10


# ------------------------------------------------------------------------------ screening and sampling


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nominal", [(), NOMINAL])
@pytest.mark.parametrize("m", [20, 1000])
def test_screening_ranks_like_the_exact_posterior(kernel: str, nominal: tuple[int, ...], m: int) -> None:
    X, y = noisy_problem(8, 60, 3, nominal)
    gp = GaussianProcess(kernel, nominal=nominal).fit(X, y)
    points, _ = noisy_problem(9, m, 3, nominal)
    for rough, exact in zip(gp.screen(points), gp.latent(points), strict=True):
        assert rough.dtype == np.float64
        assert spearmanr(rough, exact).statistic > 0.999


@pytest.mark.parametrize("kernel", KERNELS)
def test_draws_have_the_joint_mean_and_covariance(kernel: str) -> None:
    gp = GaussianProcess(kernel).fit(*noisy_problem(10, 15, 2))
    h = gp.hyperparameters
    points, size = somewhere(6, 2), 40_000
    draws = gp.sample(points, size, np.random.default_rng(3))
    assert draws.shape == (size, 6)
    mean, covariance = gp.joint(points)
    mean, covariance = h.y_mean + h.y_scale * mean, h.y_scale**2 * covariance
    variance = np.diagonal(covariance)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / size)).all()
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / size)
    assert (np.abs(np.cov(draws.T) - covariance) < 5 * error).all()


def test_draws_repeat_with_the_generator() -> None:
    gp = GaussianProcess().fit(*noisy_problem(10, 15, 2))
    first, again, third = (gp.sample(somewhere(4, 2), 10, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, third)


def test_draws_at_equal_configurations_are_equal() -> None:
    """The covariance is singular there; the jitter that makes it factorable must not show."""
    gp = GaussianProcess().fit(*noisy_problem(10, 15, 2))
    points = somewhere(3, 2)
    draws = gp.sample(np.vstack([points, points]), 200, np.random.default_rng(1))
    spread = draws.std(axis=0).max()
    np.testing.assert_allclose(draws[:, :3], draws[:, 3:], atol=1e-3 * spread)


PROBABILITIES = (0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999)


@pytest.mark.parametrize("use_warp", [False, True], ids=["plain", "warped"])
def test_quantiles_are_monotone_and_those_of_sorted_draws(use_warp: bool) -> None:
    X, y = skewed(1, 30, 2)
    gp = warped_process() if use_warp else GaussianProcess().fit(X, y)
    points, size = somewhere(5, 2), 20_000
    quantiles = np.array([gp.quantile(points, p) for p in PROBABILITIES])
    assert (np.diff(quantiles, axis=0) > 0).all()
    draws = np.sort(gp.sample(points, size, np.random.default_rng(5)), axis=0)
    for p, row in zip(PROBABILITIES, quantiles, strict=True):
        below = (draws < row).mean(axis=0)
        assert (np.abs(below - p) < 5 * np.sqrt(p * (1 - p) / size)).all(), p


def test_mean_and_sd_of_a_warped_prediction_are_those_of_draws() -> None:
    gp = warped_process()
    points, size = somewhere(6, 2), 50_000
    mean, sd = gp.predict(points)
    draws = gp.sample(points, size, np.random.default_rng(6))
    error = draws.std(axis=0) / np.sqrt(size)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(sd, draws.std(axis=0), rtol=0.1)
