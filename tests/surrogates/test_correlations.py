"""Correlations: packed, in full and by definition; finite where they overflow or underflow."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import noisy_problem

from pellucid.models import GaussianProcess
from pellucid.models.kernels import KERNELS, Kernel
from pellucid.models.pairs import Pairs
from pellucid.models.states import Hyperparameters
from pellucid.numerics import Array


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
    columns = k.columns(X, l)
    np.testing.assert_array_equal(np.tril(k.cross(columns, columns, l)), np.tril(full))
    np.testing.assert_allclose(k.cross(columns, columns, l), full, rtol=1e-14, atol=0.0)
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
    points = np.vstack([X[:1], np.random.default_rng(7).random((m - 1, d))])
    mean, sd = gp.screen(points)
    np.testing.assert_allclose(mean, gp.latent(points)[0], atol=1e-3)
    np.testing.assert_allclose(sd, gp.latent(points)[1], atol=1e-3)
