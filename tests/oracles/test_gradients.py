"""Every analytic gradient against central finite differences, to 1e-5 relative."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.problems import central_difference, noisy_problem

from pellucid.acquisition import (
    EI,
    LCB,
    PI,
    WEI,
    Acquisition,
    PosteriorVariance,
)
from pellucid.acquisition.base import PointwiseFunction, Situation
from pellucid.numerics import Array
from pellucid.records import Hyperparameters
from pellucid.surrogates import GaussianProcess, fitting
from pellucid.surrogates.kernels import KERNELS, Kernel
from pellucid.surrogates.pairs import Pairs

NOMINALS = [(), (0, 3, 0), (2, 0, 4), (3, 2, 5)]
ACQUISITIONS: list[Acquisition] = [
    EI(), EI(xi=0.1), PI(), PI(xi=0.1), LCB(), LCB(lam=0.0), LCB(lam=None), LCB(lam=None, beta=0.2),
    WEI(0.0), WEI(0.2), WEI(0.5), WEI(0.8), WEI(1.0), PosteriorVariance(),
]  # fmt: skip


def assert_gradient(analytic: Array, numeric: Array) -> None:
    """To 1e-5 relative, per component; components 1e6 times smaller than the largest only drown in its rounding."""
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-11 + 1e-6 * float(np.abs(numeric).max()))


# ------------------------------------------------------------------------------------ hyperparameters


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
    objective = fitting._Objective(Pairs(Kernel(kernel, nominal), X), z, v, prior)
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
    objective = fitting._Objective(
        Pairs(Kernel(kernel, nominal), X), (y - y.mean()) / y.std(), None, fitting.UNKNOWN_NOISE
    )
    theta = np.r_[np.random.default_rng(9).normal(1.0, 0.5, size=d), np.log(1e-2)]
    assert_gradient(objective(theta)[1], central_difference(lambda t: objective(t)[0], theta, 1e-3))


# ---------------------------------------------------------------------------------------- predictions


def fitted(kernel: str, nominal: tuple[int, ...], d: int = 3, n: int = 20, seed: int = 11) -> GaussianProcess:
    X, y = noisy_problem(seed=seed, n=n, d=d, nominal=nominal)
    return GaussianProcess(kernel, nominal=nominal).fit(X, y)


def somewhere(seed: int, m: int, d: int, nominal: tuple[int, ...]) -> Array:
    return 0.02 + 0.96 * noisy_problem(seed=seed, n=m, d=d)[0] if not nominal else noisy_problem(seed, m, d, nominal)[0]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("d", "nominal"), [(1, ()), (3, ()), (3, (0, 3, 0)), (3, (2, 0, 4)), (20, ())])
def test_gradients_of_the_latent_mean_and_sd(kernel: str, d: int, nominal: tuple[int, ...]) -> None:
    gp = fitted(kernel, nominal, d=d)
    X = somewhere(12, 8, d, nominal)
    mean, sd, d_mean, d_sd = gp.latent_with_gradient(X)
    np.testing.assert_allclose(mean, gp.latent(X)[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sd, gp.latent(X)[1], rtol=1e-12)
    for i, x in enumerate(X):
        assert_gradient(d_mean[i], central_difference(lambda t: gp.latent(t[None])[0][0], x, 2e-4))
        assert_gradient(d_sd[i], central_difference(lambda t: gp.latent(t[None])[1][0], x, 2e-4))
    for j, categories in enumerate(nominal):
        assert not categories or ((d_mean[:, j] == 0.0).all() and (d_sd[:, j] == 0.0).all())


def test_gradients_hold_after_pending_trials_were_believed() -> None:
    gp = fitted("matern32", ()).believe(somewhere(13, 3, 3, ()))
    X = somewhere(14, 6, 3, ())
    _, _, d_mean, d_sd = gp.latent_with_gradient(X)
    for i, x in enumerate(X):
        assert_gradient(d_mean[i], central_difference(lambda t: gp.latent(t[None])[0][0], x, 2e-4))
        assert_gradient(d_sd[i], central_difference(lambda t: gp.latent(t[None])[1][0], x, 2e-4))


# --------------------------------------------------------------------------------------- acquisitions


def reach(acquisition: Acquisition) -> float:
    """How far out z can go before the value itself (where the score is not a logarithm) is nothing but rounding."""
    return 6.0 if isinstance(acquisition, WEI) and acquisition.alpha > 0.5 else 35.0


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
@pytest.mark.parametrize("s", [1e-3, 0.7, 20.0])
def test_slopes_of_scores_in_mean_and_sd(acquisition: Acquisition, s: float) -> None:
    situation = Situation(best=-0.3, n_observed=17, dimension=4)
    for z in np.r_[np.linspace(-reach(acquisition), reach(acquisition), 25), -1.0, -0.999, -1.001, 0.01]:
        point = np.array([situation.best - z * s, s])

        def score(units: Array, point: Array = point) -> float:
            m, sd = point[0] + s * units[0], s * (1.0 + units[1])
            return float(acquisition.score(np.array([m]), np.array([sd]), situation)[0])

        value, by_m, by_s = acquisition.score_slopes(point[:1], point[1:], situation)
        assert value[0] == pytest.approx(score(np.zeros(2)), rel=1e-12)
        # In units of s: then both slopes and the step are of the same size whatever s is.
        assert_gradient(np.array([by_m[0], by_s[0]]) * s, central_difference(score, np.zeros(2), 1e-4))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
@pytest.mark.parametrize("nominal", [(), (0, 3, 0)])
def test_gradient_of_the_score_of_a_configuration(
    kernel: str, acquisition: Acquisition, nominal: tuple[int, ...]
) -> None:
    gp = fitted(kernel, nominal)
    situation = Situation(float(gp.latent_at_observed().min()), gp.n_observed, 3)
    function = PointwiseFunction(acquisition, gp, situation)
    X = somewhere(15, 5, 3, nominal)
    scores, gradients = function.score_with_gradient(X)
    np.testing.assert_allclose(scores, function.score(X), rtol=1e-10)
    for x, gradient in zip(X, gradients, strict=True):
        assert_gradient(gradient, central_difference(lambda t: function.score(t[None])[0], x, 2e-4))


# ------------------------------------------------------------------ two ways to the same correlations


def mixed(d: int, every: int) -> tuple[int, ...]:
    """Every `every`-th of d columns is nominal with three categories; none when `every` is 0."""
    return tuple(3 if every and j % every == 1 else 0 for j in range(d)) if every else ()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 32, 33, 40])
@pytest.mark.parametrize("every", [0, 2, 5])
@pytest.mark.parametrize("n", [9, 70])
def test_packed_correlations_are_those_of_the_kernel(kernel: str, d: int, every: int, n: int) -> None:
    nominal = mixed(d, every)
    k = Kernel(kernel, nominal)
    X, _ = noisy_problem(seed=d, n=n, d=d, nominal=nominal)
    l = np.exp(np.random.default_rng(d).normal(0.5, 1.0, size=d))
    pairs = Pairs(k, X)
    square = pairs.square(pairs.correlations(l), 1.0)
    full = k.cross(k.columns(X, l), k.columns(X, l), l)
    np.testing.assert_allclose(square, np.tril(full), rtol=1e-11, atol=1e-300)
    assert np.array_equal(np.triu(square, 1), np.zeros((n, n)))
    with_slopes, slopes = k.cross_with_slopes(k.columns(X[:5], l), k.columns(X, l), l)
    np.testing.assert_allclose(with_slopes, full[:5], rtol=1e-11, atol=1e-300)
    assert slopes.shape == (d, 5, n)


def reference_correlation(kernel: str, nominal: tuple[int, ...], x: Array, t: Array, l: Array) -> float:
    """The definition, for one pair, in plain Python."""
    total, radius = 1.0, 0.0
    for j in range(len(x)):
        if nominal and nominal[j]:
            total *= 1.0 if int(x[j] * nominal[j]) == int(t[j] * nominal[j]) else np.exp(-1.0 / l[j])
            continue
        r = abs(x[j] - t[j]) / l[j]
        radius += r * r
        if kernel == "matern32":
            total *= (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
        elif kernel == "matern52":
            total *= (1 + np.sqrt(5) * r + 5 * r * r / 3) * np.exp(-np.sqrt(5) * r)
        elif kernel == "se":
            total *= np.exp(-0.5 * r * r)
    if kernel == "matern52-radial":
        total *= (1 + np.sqrt(5 * radius) + 5 * radius / 3) * np.exp(-np.sqrt(5 * radius))
    elif kernel == "rbf-radial":
        total *= np.exp(-0.5 * radius)
    return float(total)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("every", [0, 3])
def test_correlations_follow_the_definition(kernel: str, every: int) -> None:
    d, n = 20, 8
    nominal = mixed(d, every)
    k = Kernel(kernel, nominal)
    X, _ = noisy_problem(seed=2, n=n, d=d, nominal=nominal)
    l = np.exp(np.random.default_rng(2).normal(0.5, 1.0, size=d))
    expected = [[reference_correlation(kernel, nominal, x, t, l) for t in X] for x in X]
    np.testing.assert_allclose(k.cross(k.columns(X, l), k.columns(X, l), l), expected, rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lengthscale", [5e-3, 1e-4, 1e-8])
@pytest.mark.parametrize("d", [16, 40, 200])
@pytest.mark.parametrize("n", [6, 80])
def test_many_columns_with_tiny_lengthscales_stay_finite(kernel: str, lengthscale: float, d: int, n: int) -> None:
    """The polynomial overflows where the exponential underflows; 0 times infinity must not happen."""
    k = Kernel(kernel)
    X = np.random.default_rng(d).random((n, d))
    X[1] = X[0]
    l = np.full(d, lengthscale)
    pairs = Pairs(k, X)
    packed = pairs.correlations(l)
    gradient = pairs.lengthscale_gradient(l, packed)
    columns = k.columns(X, l)
    full = k.cross(columns, columns, l)
    R, slopes = k.cross_with_slopes(columns[:, :4], columns, l)
    for name, values in {
        "packed": packed,
        "gradient": gradient,
        "full": full,
        "R": R,
        "slopes": slopes,
    }.items():
        assert np.isfinite(values).all(), name
    assert full[0, 1] == full[0, 0] == packed[0] == 1.0
    for values in (packed[1:], full[2:, :2]):
        assert values.min() >= 0.0
        assert values.max() <= 1e-20


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lengthscale", [0.5, 0.04, 5e-3])
@pytest.mark.parametrize("m", [2, 400])
def test_screening_in_single_precision_stays_finite_within_the_bounds_of_lengthscales(
    kernel: str, lengthscale: float, m: int
) -> None:
    """5e-3 is the smallest lengthscale a fit may choose, and single precision overflows at 3e38."""
    d = 24
    X, y = noisy_problem(seed=6, n=25, d=d)
    h = Hyperparameters(kernel, (lengthscale,) * d, 1.0, 1e-3, float(y.mean()), float(y.std()))
    gp = GaussianProcess.from_hyperparameters(h).condition(X, y)
    where = np.vstack([X[:1], np.random.default_rng(7).random((m - 1, d))])
    mean, sd = gp.screen(where)
    np.testing.assert_allclose(mean, gp.latent(where)[0], atol=1e-3)
    np.testing.assert_allclose(sd, gp.latent(where)[1], atol=1e-3)


def test_central_differences_recognise_a_wrong_gradient() -> None:
    """The oracle itself: right for a known function, and not satisfied by 1 + 1e-4 times the gradient."""
    numeric = central_difference(lambda x: float(np.sin(x[0]) * x[1] ** 2), np.array([0.3, 2.0]), 1e-3)
    exact = np.array([np.cos(0.3) * 4.0, np.sin(0.3) * 4.0])
    assert_gradient(exact, numeric)
    with pytest.raises(AssertionError):
        assert_gradient(exact * (1 + 1e-4), numeric)
