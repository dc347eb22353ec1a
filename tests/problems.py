"""Data sets, fitted processes and finite differences that several tests share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.numerics import Array


def noisy_problem(seed: int, n: int, d: int, nominal: tuple[int, ...] = (), noise: float = 0.1) -> tuple[Array, Array]:
    """X (n, d) in the cube (mid-points where nominal) and a smooth, anisotropic, noisy y, far from standardised."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    for j, categories in enumerate(nominal):
        if categories:
            X[:, j] = (rng.integers(categories, size=n) + 0.5) / categories
    weights = 1.0 / np.arange(1, d + 1)
    smooth = np.sin(3.0 * X @ weights) + ((X - 0.4) ** 2) @ weights
    return X, 7.0 + 2.5 * (smooth + noise * rng.standard_normal(n))


def central_difference(function: Callable[[Array], Array | float], x: Array, step: float) -> Array:
    """Fourth-order central differences of a function of one vector: its values' shape plus one axis for x."""
    x = np.asarray(x, dtype=float)
    columns = []
    for j in range(len(x)):
        e = np.zeros(len(x))
        e[j] = step
        far = np.asarray(function(x + 2 * e)) - np.asarray(function(x - 2 * e))
        near = np.asarray(function(x + e)) - np.asarray(function(x - e))
        columns.append((8.0 * near - far) / (12.0 * step))
    return np.stack(columns, axis=-1)


def assert_gradient(analytic: Array, numeric: Array) -> None:
    """To 1e-5 relative, per component; components 1e6 times smaller than the largest are lost in its rounding."""
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-11 + 1e-6 * float(np.abs(numeric).max()))


def fitted_process(kernel: str, nominal: tuple[int, ...], d: int = 3, n: int = 20, seed: int = 11) -> GaussianProcess:
    X, y = noisy_problem(seed=seed, n=n, d=d, nominal=nominal)
    return GaussianProcess(kernel, nominal=nominal).fit(X, y)


def configurations(seed: int, m: int, d: int, nominal: tuple[int, ...]) -> Array:
    """(m, d), away from the borders of the cube where no column is nominal."""
    return 0.02 + 0.96 * noisy_problem(seed=seed, n=m, d=d)[0] if not nominal else noisy_problem(seed, m, d, nominal)[0]
