"""Closed-form averages of the product kernels against quadrature, to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from pellucid.models.averages.integrals import factor, factor_double_mean, factor_mean, midpoints
from pellucid.models.kernels import PRODUCT_KERNELS, Kernel
from pellucid.numerics import Array

# A usual range, and the bounds within which a fit chooses lengthscales.
LENGTHSCALES = [5e-3, 0.05, 0.2, 0.7, 2.0, 6.0, 20.0, 100.0]
POINTS = np.array([0.0, 1e-9, 0.013, 0.25, 0.5, 0.731, 0.99, 1.0])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def definition(name: str, distance: Array | float, l: float) -> Array:
    """k(r) as textbooks have it."""
    r = np.abs(distance) / l
    if name == "matern32":
        return np.asarray((1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r))
    if name == "matern52":
        return np.asarray((1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r))
    return np.asarray(np.exp(-0.5 * r**2))


def gauss_legendre(low: float, high: float, pieces: int = 24) -> tuple[Array, Array]:
    """Nodes and weights on [low, high], the pieces shorter towards both ends, where kernels of other points peak."""
    edges = low + (high - low) * 0.5 * (1 - np.cos(np.linspace(0, np.pi, pieces + 1)))
    half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    return (middle + half * NODES).ravel(), (half * WEIGHTS).ravel()


def average(name: str, x: float, l: float) -> float:
    """The mean over [0, 1], with the interval split at the kink in x."""
    total = 0.0
    for low, high in ((0.0, x), (x, 1.0)):
        if high > low:
            t, w = gauss_legendre(low, high)
            total += float(w @ definition(name, x - t, l))
    return total


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", LENGTHSCALES)
def test_factor_is_the_one_dimensional_kernel(name: str, l: float) -> None:
    x, t = POINTS[:, None], np.linspace(0, 1, 23)[None, :]
    np.testing.assert_allclose(factor(name, x, t, l), definition(name, x - t, l), rtol=1e-12, atol=1e-300)
    kernel, scale = Kernel(name), np.array([l])
    full = kernel.cross(kernel.columns(x, scale), kernel.columns(t.T, scale), scale)
    np.testing.assert_allclose(factor(name, x, t, l), full, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", LENGTHSCALES)
def test_mean_over_the_unit_interval_is_the_integral(name: str, l: float) -> None:
    means = factor_mean(name, POINTS, l)
    assert means.shape == POINTS.shape
    np.testing.assert_allclose(means, [average(name, x, l) for x in POINTS], rtol=1e-10)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", [0.05, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("x", [0.0, 0.31, 0.5, 1.0])
def test_mean_over_the_unit_interval_agrees_with_adaptive_quadrature(name: str, l: float, x: float) -> None:
    expected, error = quad(lambda t: float(definition(name, x - t, l)), 0, 1, points=[x], epsabs=1e-13, epsrel=1e-13)
    assert error < 1e-11
    assert factor_mean(name, np.array([x]), l)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", LENGTHSCALES)
def test_double_mean_over_the_unit_square_is_the_integral(name: str, l: float) -> None:
    s, w = gauss_legendre(0.0, 1.0)
    expected = float(w @ np.array([average(name, x, l) for x in s]))
    assert factor_double_mean(name, l) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", LENGTHSCALES)
@pytest.mark.parametrize("cells", [1, 2, 3, 7, 50])
def test_means_over_discrete_cells_are_averages_over_their_midpoints(name: str, l: float, cells: int) -> None:
    centres = np.array([(k + 0.5) / cells for k in range(cells)])
    np.testing.assert_allclose(midpoints(cells), centres, rtol=1e-15)
    expected = [np.mean([definition(name, x - t, l) for t in centres]) for x in POINTS]
    np.testing.assert_allclose(factor_mean(name, POINTS, l, cells=cells), expected, rtol=1e-10, atol=1e-300)
    table = definition(name, centres[:, None] - centres[None, :], l)
    assert factor_double_mean(name, l, cells=cells) == pytest.approx(float(table.mean()), rel=1e-10)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", LENGTHSCALES)
@pytest.mark.parametrize("categories", [1, 2, 3, 9])
def test_means_over_categories_are_averages_of_the_hamming_factor(name: str, l: float, categories: int) -> None:
    kernel, scale = Kernel(name, (categories,)), np.array([l])
    columns = kernel.columns(midpoints(categories)[:, None], scale)
    table = kernel.cross(columns, columns, scale)
    means = factor_mean(name, midpoints(categories), l, cells=categories, nominal=True)
    np.testing.assert_allclose(means, table.mean(axis=1), rtol=1e-10)
    double = factor_double_mean(name, l, cells=categories, nominal=True)
    assert double == pytest.approx(float(table.mean()), rel=1e-10)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", LENGTHSCALES)
def test_many_cells_approach_the_continuous_average(name: str, l: float) -> None:
    fine = factor_mean(name, np.array([0.3]), l, cells=4000)[0]
    assert fine == pytest.approx(factor_mean(name, np.array([0.3]), l)[0], rel=1e-2)


def test_a_product_kernel_integrates_factor_by_factor() -> None:
    """The mean over three columns at once (one of them nominal, one discrete) is the product of the columns' means."""
    kernel, l = Kernel("matern52", (0, 4, 0)), np.array([0.3, 1.7, 0.8])
    t, w = gauss_legendre(0.0, 1.0)
    axes = [(t, w), (midpoints(4), np.full(4, 0.25)), (midpoints(6), np.full(6, 1 / 6))]
    grid = np.stack([g.ravel() for g in np.meshgrid(*[a for a, _ in axes], indexing="ij")], axis=1)
    weight = np.prod([g.ravel() for g in np.meshgrid(*[b for _, b in axes], indexing="ij")], axis=0)
    x = np.array([[0.0, 0.375, 0.25]])  # At a border, where the first factor has no kink inside.
    numeric = float(kernel.cross(kernel.columns(x, l), kernel.columns(grid, l), l)[0] @ weight)
    exact = (
        factor_mean("matern52", x[:, 0], l[0])[0]
        * factor_mean("matern52", x[:, 1], l[1], cells=4, nominal=True)[0]
        * factor_mean("matern52", x[:, 2], l[2], cells=6)[0]
    )
    assert exact == pytest.approx(numeric, rel=1e-10)
