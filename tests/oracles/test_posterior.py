"""Posteriors: incremental against from scratch, sampled against exact, warped against quadrature, and bad data."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.oracles.problems import noisy_problem

from pellucid.numerics import Array, cholesky, extend_cholesky
from pellucid.records import Warp
from pellucid.surrogates import GaussianProcess, warp
from pellucid.surrogates.kernels import KERNELS

NOMINAL = (0, 3, 0)
WARPS = [
    *(
        Warp("yeo-johnson", centre=2.0, spread=0.7, shape=shape, low=0.5, high=9.0)
        for shape in (0.0, 0.25, 0.75, 1.0, 1.6, 2.0)
    ),
    *(Warp("log", centre=-1.0, spread=3.0, shape=shape, low=-1.0, high=30.0) for shape in (0.01, 0.1, 0.5)),
]


def skewed(seed: int, n: int, d: int) -> tuple[Array, Array]:
    X, y = noisy_problem(seed, n, d, noise=0.05)
    return X, np.exp(0.8 * (y - 5.0))


def warped_process(n: int = 30, d: int = 2) -> GaussianProcess:
    gp = GaussianProcess(warp="auto").fit(*skewed(1, n, d))
    assert gp.hyperparameters.warp is not None
    return gp


def somewhere(m: int, d: int, seed: int = 9) -> Array:
    return np.random.default_rng(seed).random((m, d))


# ------------------------------------------------------------------------ incremental and from scratch


def assert_same_posterior(one: GaussianProcess, other: GaussianProcess, where: Array, tolerance: float = 1e-9) -> None:
    scale = np.sqrt(one.hyperparameters.outputscale)
    for mine, theirs in zip(one.latent(where), other.latent(where), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * scale)
    for mine, theirs in zip(one.joint(where), other.joint(where), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * scale**2)
    assert one.log_marginal_likelihood() == pytest.approx(other.log_marginal_likelihood(), rel=tolerance, abs=tolerance)
    np.testing.assert_allclose(one.latent_at_observed(), other.latent_at_observed(), rtol=tolerance, atol=tolerance)


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
    for one, other in zip(updated.predict(somewhere(5, 2)), scratch.predict(somewhere(5, 2)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nominal", [(), NOMINAL])
def test_believing_is_observing_what_was_expected(kernel: str, nominal: tuple[int, ...]) -> None:
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
    where = np.vstack([somewhere(40, 2), pending])
    mean, sd = gp.latent(where)
    new_mean, new_sd = believed.latent(where)
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
    for one, other in zip(before, gp.latent(somewhere(5, 2)), strict=True):
        assert np.array_equal(one, other)
    assert gp.n_observed == 10


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 1), (40, 3), (40, 40)])
def test_extended_cholesky_is_the_cholesky_of_the_whole(n: int, k: int) -> None:
    rng = np.random.default_rng(n + k)
    A = rng.standard_normal((n + k, n + k + 5))
    C = A @ A.T / (n + k)
    extended = extend_cholesky(cholesky(C[:n, :n]), C[:n, n:], C[n:, n:])
    assert extended.jitter == 0.0
    np.testing.assert_allclose(extended.L, np.linalg.cholesky(C), rtol=1e-9, atol=1e-10)


def test_cholesky_solves_what_it_says() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 20))
    C, B = A @ A.T, rng.standard_normal((12, 3))
    factor = cholesky(np.tril(C))  # Only the lower triangle is read.
    np.testing.assert_allclose(factor.L @ factor.L.T, C, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(C, B), rtol=1e-9)
    np.testing.assert_allclose(factor.solve(B[:, 0]), np.linalg.solve(C, B[:, 0]), rtol=1e-9)
    np.testing.assert_allclose(factor.half_solve(B), np.linalg.solve(factor.L, B), rtol=1e-9)
    np.testing.assert_allclose(factor.half_solve_transposed(B), np.linalg.solve(factor.L.T, B), rtol=1e-9)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(C)[1], rel=1e-12)


MATRICES = {
    "singular": np.ones((4, 4)),
    "zero": np.zeros((3, 3)),
    "negative": -np.eye(3),
    "indefinite": np.array([[1.0, 2.0], [2.0, 1.0]]),
    "subnormal": np.array([[1e-320]]),
    "huge": 1e300 * np.ones((3, 3)),
    "nearly singular": np.diag([1.0, 0.0, 1e-30]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_cholesky_climbs_its_ladder_instead_of_raising(name: str) -> None:
    factor = cholesky(MATRICES[name])
    assert np.isfinite(factor.L).all()
    assert (np.diagonal(factor.L) > 0).all()
    assert np.array_equal(factor.L, np.tril(factor.L))


@pytest.mark.parametrize("name", ["singular", "negative", "indefinite", "nearly singular"])
def test_a_matrix_that_needed_jitter_says_so_and_can_be_solved(name: str) -> None:
    factor = cholesky(MATRICES[name])
    assert factor.jitter > 0
    assert np.isfinite(factor.solve(np.ones(len(MATRICES[name])))).all()


def test_a_matrix_that_needs_no_jitter_gets_none() -> None:
    factor = cholesky(np.array([[2.0, 0.5], [0.5, 1.0]]))
    assert factor.jitter == 0.0
    np.testing.assert_allclose(factor.L @ factor.L.T, [[2.0, 0.5], [0.5, 1.0]], rtol=1e-15)


# ------------------------------------------------------------------------------- screening and sampling


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nominal", [(), NOMINAL])
@pytest.mark.parametrize("m", [20, 1000])
def test_screening_ranks_like_the_exact_posterior(kernel: str, nominal: tuple[int, ...], m: int) -> None:
    X, y = noisy_problem(8, 60, 3, nominal)
    gp = GaussianProcess(kernel, nominal=nominal).fit(X, y)
    where, _ = noisy_problem(9, m, 3, nominal)
    for rough, exact in zip(gp.screen(where), gp.latent(where), strict=True):
        assert rough.dtype == np.float64
        assert spearmanr(rough, exact).statistic > 0.999


@pytest.mark.parametrize("kernel", KERNELS)
def test_draws_have_the_joint_mean_and_covariance(kernel: str) -> None:
    gp = GaussianProcess(kernel).fit(*noisy_problem(10, 15, 2))
    h = gp.hyperparameters
    where, size = somewhere(6, 2), 40_000
    draws = gp.sample(where, size, np.random.default_rng(3))
    assert draws.shape == (size, 6)
    mean, covariance = gp.joint(where)
    mean, covariance = h.y_mean + h.y_scale * mean, h.y_scale**2 * covariance
    variance = np.diagonal(covariance)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / size)).all()
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / size)
    assert (np.abs(np.cov(draws.T) - covariance) < 5 * error).all()


def test_draws_repeat_with_the_generator() -> None:
    gp = GaussianProcess().fit(*noisy_problem(10, 15, 2))
    one, other, third = (gp.sample(somewhere(4, 2), 10, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, other)
    assert not np.array_equal(one, third)


def test_draws_at_equal_configurations_are_equal() -> None:
    """The covariance is singular there; the jitter that makes it factorable must not show."""
    gp = GaussianProcess().fit(*noisy_problem(10, 15, 2))
    where = somewhere(3, 2)
    draws = gp.sample(np.vstack([where, where]), 200, np.random.default_rng(1))
    spread = draws.std(axis=0).max()
    np.testing.assert_allclose(draws[:, :3], draws[:, 3:], atol=1e-3 * spread)


PROBABILITIES = (0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999)


@pytest.mark.parametrize("use_warp", [False, True], ids=["plain", "warped"])
def test_quantiles_are_monotone_and_those_of_sorted_draws(use_warp: bool) -> None:
    X, y = skewed(1, 30, 2)
    gp = warped_process() if use_warp else GaussianProcess().fit(X, y)
    where, size = somewhere(5, 2), 20_000
    quantiles = np.array([gp.quantile(where, p) for p in PROBABILITIES])
    assert (np.diff(quantiles, axis=0) > 0).all()
    draws = np.sort(gp.sample(where, size, np.random.default_rng(5)), axis=0)
    for p, row in zip(PROBABILITIES, quantiles, strict=True):
        below = (draws < row).mean(axis=0)
        assert (np.abs(below - p) < 5 * np.sqrt(p * (1 - p) / size)).all(), p


def test_mean_and_sd_of_a_warped_prediction_are_those_of_draws() -> None:
    gp = warped_process()
    where, size = somewhere(6, 2), 50_000
    mean, sd = gp.predict(where)
    draws = gp.sample(where, size, np.random.default_rng(6))
    error = draws.std(axis=0) / np.sqrt(size)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(sd, draws.std(axis=0), rtol=0.1)


def dense_moments(w: Warp, mean: float, sd: float) -> tuple[float, float]:
    """Mean and sd of w^-1(N(mean, sd^2)) by the trapezoidal rule on 12 sds either side: exact to rounding for smooth
    integrands, and to 1e-6 across the corners that a warp has."""
    t = np.linspace(-12, 12, 40_001)
    weight = np.exp(-0.5 * t * t)
    weight /= weight.sum()
    values = warp.inverse(w, mean + sd * t)
    centre = float(values @ weight)
    return centre, float(np.sqrt(((values - centre) ** 2) @ weight))


@pytest.mark.parametrize("w", WARPS, ids=lambda w: f"{w.kind} {w.shape}")
@pytest.mark.parametrize("sd", [1e-3, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("mean", [-3.0, -0.4, 0.0, 0.3, 2.5])
def test_moments_of_warps_are_those_of_dense_quadrature(w: Warp, mean: float, sd: float) -> None:
    """Relative to the sd: half a per cent of an error bar, everywhere a fitted model can be."""
    exact_mean, exact_sd = dense_moments(w, mean, sd)
    found_mean, found_sd = warp.moments(w, np.array([mean]), np.array([sd]))
    assert abs(found_mean[0] - exact_mean) < 5e-3 * exact_sd
    assert found_sd[0] == pytest.approx(exact_sd, rel=5e-3)


def test_without_a_warp_moments_are_the_arguments() -> None:
    mean, sd = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    assert warp.moments(None, mean, sd)[0] is mean
    assert warp.moments(None, mean, sd)[1] is sd


@pytest.mark.parametrize("w", WARPS, ids=lambda w: f"{w.kind} {w.shape}")
@pytest.mark.parametrize("unit", [1e-250, 1e-160, 1e160, 1e250])
@pytest.mark.filterwarnings("error")
def test_moments_of_warps_do_not_depend_on_the_unit(w: Warp, unit: float) -> None:
    """A loss in units of 1e-250 or 1e250 is unusual, but its error bar must not be zero or infinite."""
    mean, sd = np.array([-0.4, 0.3]), np.array([0.1, 0.5])
    expected_mean, expected_sd = warp.moments(w, mean, sd)
    scaled = replace(w, centre=w.centre * unit, spread=w.spread * unit, low=w.low * unit, high=w.high * unit)
    found_mean, found_sd = warp.moments(scaled, mean, sd)
    np.testing.assert_allclose(found_mean, expected_mean * unit, rtol=1e-9)
    np.testing.assert_allclose(found_sd, expected_sd * unit, rtol=1e-9)


# ------------------------------------------------------------------------------------------ known noise


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_point_with_a_huge_declared_variance_barely_moves_the_posterior(kernel: str) -> None:
    X, y = noisy_problem(11, 20, 2)
    gp = GaussianProcess(kernel).fit(X, y)
    outlier = np.array([[0.5, 0.5]])
    more_X, more_y = np.vstack([X, outlier]), np.concatenate([y, [y.max() + 10 * y.std()]])
    twin = GaussianProcess.from_hyperparameters(gp.hyperparameters)
    where = np.vstack([somewhere(20, 2), outlier])
    trusted = twin.condition(more_X, more_y).predict(where)[0]
    declared = np.r_[np.zeros(20), 1e8 * y.var()]
    doubted = twin.condition(more_X, more_y, declared).predict(where)
    mean, sd = gp.predict(where)
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
    where = np.vstack([somewhere(30, 2), outlier])
    moved = np.abs(doubted.predict(where)[0] - without.predict(where)[0]).max()
    assert moved < 0.2 * y.std()
    assert moved < 0.3 * np.abs(trusted.predict(where)[0] - without.predict(where)[0]).max()


def test_repeating_an_observation_is_observing_it_once_with_less_noise() -> None:
    """Four times with variance v is once with v / 4."""
    X, y = noisy_problem(13, 8, 2)
    h = replace(GaussianProcess().fit(X, y).hyperparameters, noise=1e-10)
    v = 0.3 * float(y.var())
    once = GaussianProcess.from_hyperparameters(h).condition(X, y, np.full(8, v / 4))
    often = GaussianProcess.from_hyperparameters(h).condition(np.repeat(X, 4, axis=0), np.repeat(y, 4), np.full(32, v))
    for one, other in zip(once.predict(somewhere(10, 2)), often.predict(somewhere(10, 2)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


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
def test_variances_that_say_nothing_are_as_none(unknown: Array | None) -> None:
    X, y = noisy_problem(16, 15, 2)
    plain, silent = GaussianProcess().fit(X, y), GaussianProcess().fit(X, y, unknown)
    assert plain.hyperparameters == silent.hyperparameters
    assert np.array_equal(plain.predict(X)[1], silent.predict(X)[1])


# --------------------------------------------------------------------------------------------- bad data

LINE = np.linspace(0, 1, 9)[:, None] * np.array([[1.0, 0.6]])
BAD: dict[str, tuple[Array, Array]] = {
    "one point": (LINE[:1], np.array([3.0])),
    "two points": (LINE[:2], np.array([3.0, 4.0])),
    "one point twice": (LINE[[0, 0]], np.array([3.0, 3.0])),
    "two identical rows with different y": (LINE[[0, 0]], np.array([3.0, 4.0])),
    "identical rows with different y among others": (LINE[[0, 1, 2, 3, 3, 3, 8]], np.array([1.0, 2, 3, 4, -4, 9, 0])),
    "all rows identical": (LINE[[4] * 9], np.arange(9.0)),
    "every row twice": (np.repeat(LINE, 2, axis=0), np.repeat(np.sin(np.arange(9.0)), 2)),
    "every row five times": (np.repeat(LINE, 5, axis=0), np.repeat(np.sin(np.arange(9.0)), 5)),
    "nearly identical rows": (LINE[[4] * 9] + 1e-13 * np.arange(9)[:, None], np.arange(9.0)),
    "constant": (LINE, np.full(9, 7.25)),
    "constant zero": (LINE, np.zeros(9)),
    "constant huge": (LINE, np.full(9, -1e300)),
    "constant up to rounding": (LINE, 1.0 + 1e-16 * np.arange(9)),
    "nearly constant": (LINE, 1e6 + 1e-9 * np.arange(9)),
    "two values": (LINE, np.array([0.0, 1, 0, 1, 0, 1, 1, 0, 1])),
    "one outlier": (LINE, np.array([0.1, 0.3, 0.2, 0.5, 1e9, 0.4, 0.3, 0.2, 0.6])),
    "one huge outlier": (LINE, np.array([0.1, 0.3, 0.2, 0.5, 1e200, 0.4, 0.3, 0.2, 0.6])),
    "one huge negative outlier": (LINE, np.array([0.1, 0.3, 0.2, 0.5, -1e200, 0.4, 0.3, 0.2, 0.6])),
    "huge": (LINE, 1e200 * np.exp(np.sin(3.0 * np.arange(9)))),
    "both ends of what a study hands over": (LINE, 1e306 * np.array([-1, 1, 0, 0.1, 0.2, -0.3, -0.5, 0.8, 0.9])),
    "both ends of the number line": (LINE, np.array([-1.7e308, 1.7e308, 0, 1, 2, 3, -5, 8, 1e300])),
    "tiny": (LINE, 1e-250 * np.arange(9.0) ** 2),
    "subnormal": (LINE, 5e-324 * np.arange(9)),
    "at the corners": (np.round(LINE), np.arange(9.0)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("choice", [None, "auto"], ids=["plain", "warped"])
@pytest.mark.parametrize("deterministic", [False, True], ids=["noisy", "deterministic"])
def test_no_data_set_is_too_bad_for_a_finite_prediction(case: str, choice: str | None, deterministic: bool) -> None:
    X, y = BAD[case]
    gp = GaussianProcess(warp=choice, deterministic=deterministic).fit(X, y)
    where = np.vstack([somewhere(5, 2), X[:1]])
    assert np.isfinite(gp.log_marginal_likelihood())
    for model in (gp, gp.believe(X[:1]), gp.believe(where), gp.update(where[:1], y[:1])):
        for values in (*model.predict(where), *model.latent_with_gradient(where), *model.screen(where)):
            assert np.isfinite(values).all()
        assert (model.predict(where)[1] > 0).all()
    assert np.isfinite(gp.sample(where, 5, np.random.default_rng(0))).all()
    assert np.isfinite(gp.quantile(where, 0.05)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "case", ["every row five times", "nearly identical rows", "two identical rows with different y"]
)
def test_repeated_rows_are_no_trouble_for_any_kernel(kernel: str, case: str) -> None:
    X, y = BAD[case]
    gp = GaussianProcess(kernel, deterministic=True).fit(X, y)
    mean, sd = gp.predict(somewhere(20, 2))
    assert np.isfinite(mean).all()
    assert (sd > 0).all()


def test_hardly_any_noise_on_many_repeated_rows_needs_jitter_and_gets_it() -> None:
    X, y = BAD["every row five times"]
    h = replace(GaussianProcess("rbf-radial").fit(X, y).hyperparameters, lengthscales=(50.0, 50.0), noise=1e-30)
    gp = GaussianProcess.from_hyperparameters(h).condition(X, y)
    assert gp.data.factor.jitter > 0
    assert np.isfinite(np.stack(gp.predict(somewhere(20, 2)))).all()


def test_constant_data_predict_their_constant() -> None:
    for constant in (7.25, -3.0, 0.0):
        mean, sd = GaussianProcess(warp="auto").fit(LINE, np.full(9, constant)).predict(somewhere(5, 2))
        np.testing.assert_allclose(mean, constant, atol=1e-12)
        assert (sd > 0).all()


def test_a_prior_without_data_is_where_a_study_starts() -> None:
    gp = GaussianProcess().fit(np.empty((0, 2)), np.empty(0))
    mean, sd = gp.latent(somewhere(4, 2))
    np.testing.assert_allclose(mean, 0.0)
    np.testing.assert_allclose(sd, np.sqrt(gp.hyperparameters.outputscale))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((3, 2)), np.zeros(2), "same number of rows, but got 3 and 2"),
        (np.array([[0.0], [np.nan]]), np.zeros(2), "must be finite"),
        (np.zeros((2, 1)), np.array([0.0, np.inf]), "must be finite"),
    ],
)
def test_data_without_a_meaning_are_refused(X: Array, y: Array, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianProcess().fit(X, y)


def test_questions_before_fitting_say_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"call `\.fit"):
        GaussianProcess().predict(np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"call `\.fit"):
        _ = GaussianProcess().hyperparameters
    fitted = GaussianProcess().fit(LINE, np.arange(9.0))
    with pytest.raises(ValueError, match="must have 2 columns"):
        GaussianProcess.from_hyperparameters(fitted.hyperparameters).condition(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="'auto'"):
        GaussianProcess(warp="log")
    with pytest.raises(ValueError, match="`kernel` must be one of"):
        GaussianProcess("cubic")


# ------------------------------------------------------------------------------------------ equivariance


@pytest.mark.parametrize("choice", [None, "auto"], ids=["plain", "warped"])
@pytest.mark.parametrize(("a", "b"), [(1.0, 100.0), (1e-6, 0.0), (1e6, -5e5), (0.37, -2.1), (1e-3, 3.0)])
@pytest.mark.parametrize("kernel", ["matern32", "rbf-radial"])
def test_predictions_follow_a_change_of_the_unit_of_y(choice: str | None, a: float, b: float, kernel: str) -> None:
    X, y = skewed(17, 25, 2)
    where = somewhere(20, 2)
    mean, sd = GaussianProcess(kernel, warp=choice).fit(X, y).predict(where)
    changed = GaussianProcess(kernel, warp=choice).fit(X, a * y + b)
    assert (changed.hyperparameters.warp is None) == (choice is None)
    new_mean, new_sd = changed.predict(where)
    np.testing.assert_allclose(new_mean, a * mean + b, rtol=1e-6, atol=1e-6 * a * float(y.std()))
    np.testing.assert_allclose(new_sd, a * sd, rtol=1e-6, atol=1e-6 * a * float(y.std()))


def test_predictions_do_not_depend_on_the_order_of_rows() -> None:
    X, y = noisy_problem(18, 30, 3)
    shuffled = np.random.default_rng(0).permutation(30)
    one = GaussianProcess(warp="auto").fit(X, y).predict(somewhere(10, 3))
    other = GaussianProcess(warp="auto").fit(X[shuffled], y[shuffled]).predict(somewhere(10, 3))
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


# -------------------------------------------------- losses that diverged


@pytest.mark.parametrize("warp", ["auto", None])
@pytest.mark.parametrize("where", [3, 611, 999])
def test_one_loss_that_diverged_does_not_wreck_a_large_model(warp: Literal["auto"] | None, where: int) -> None:
    """Hyperparameters of large data come from a part of it; a loss of ten million must not be outside of that."""
    rng = np.random.default_rng(0)
    X = rng.random((1000, 4))
    y = 1e-3 + ((X - 0.4) ** 2).sum(axis=1) ** 2
    y[where] = 1e7
    gp = GaussianProcess(warp=warp).fit(X, y)
    assert np.abs(gp.data.z).max() < 50.0
    if warp == "auto":
        fresh = rng.random((500, 4))
        far = np.abs(fresh - X[where]).max(axis=1) > 0.3
        truth = 1e-3 + ((fresh - 0.4) ** 2).sum(axis=1) ** 2
        mean = gp.quantile(fresh, 0.5)
        assert np.median(np.abs(mean - truth)[far]) < 0.05
        assert (mean > -0.1).all()
