"""Averages of products of kernel factors over an interval, against quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.models.averages.integrals import factor
from pellucid.models.averages.products import interval_product_mean
from pellucid.models.kernels import PRODUCT_KERNELS
from pellucid.numerics import Array

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def by_quadrature(name: str, t: Array, low: float, high: float, l: float) -> Array:
    """Gauss-Legendre on pieces between the points, where the factors are smooth."""
    cuts = np.unique(np.clip(np.r_[t, np.linspace(low, high, 120)], low, high))
    half = 0.5 * np.diff(cuts)
    x = (cuts[:-1] + half)[:, None] + half[:, None] * NODES
    K = factor(name, x.reshape(-1, 1), t, l)
    return np.asarray((K * (half[:, None] * WEIGHTS).reshape(-1, 1)).T @ K / (high - low))


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", [0.005, 0.05, 0.3, 2.0, 100.0])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.2, 0.45), (0.6, 0.61)])
def test_the_closed_form_equals_quadrature(name: str, l: float, low: float, high: float) -> None:
    t = np.r_[np.random.default_rng(0).random(6), 0.5, 0.5, 0.0, 1.0]
    found = interval_product_mean(name, t, low, high, l)
    np.testing.assert_allclose(found, by_quadrature(name, t, low, high, l), atol=1e-13)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
def test_the_average_of_parts_is_that_of_the_whole(name: str) -> None:
    t = np.random.default_rng(1).random(5)
    parts = 0.3 * interval_product_mean(name, t, 0.0, 0.3, 0.2) + 0.7 * interval_product_mean(name, t, 0.3, 1.0, 0.2)
    np.testing.assert_allclose(parts, interval_product_mean(name, t, 0.0, 1.0, 0.2), atol=1e-14)
