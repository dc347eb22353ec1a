"""Integrals of one-dimensional kernel factors in closed form, with which averages of a posterior are exact.

Notation
    k(u)     factor of a product kernel at the distance u >= 0, k(0) = 1;  a = c u / l with c = sqrt(3), sqrt(5) or 1
    F(u)     integral of k from 0 to u (odd in u);  G(u) integral of F from 0 to u (even in u): G'' = k
    x, t     encoded values;  [low, high] part of the unit interval
Functions named `mean` return averages, not integrals: the caller applies the weight of an interval.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from scipy.special import erf

from pellucid.models.kernels import LARGEST_R, RATE
from pellucid.numerics import Array

# Below this scaled distance, the closed form of G loses digits to cancellation and its power series takes over; with
# this many terms the series is exact to double precision there.
_SERIES_BELOW, _SERIES_TERMS = 1.0, 20


def factor(name: str, x: Array | float, t: Array, l: Array | float) -> Array:
    """k(|x - t|), broadcast."""
    r = np.minimum(np.abs(np.asarray(x) - np.asarray(t)) * (RATE[name] / l), LARGEST_R)
    if name == "se":
        return np.asarray(np.exp(-0.5 * r * r))
    polynomial = 1.0 + r if name == "matern32" else 1.0 + r + r * r / 3.0
    return np.asarray(polynomial * np.exp(-r))


def factor_slope(name: str, x: Array, t: Array, l: Array | float) -> Array:
    """Derivative of k(|x - t|) with respect to t, broadcast."""
    rate = RATE[name] / l
    signed = (np.asarray(x) - np.asarray(t)) * rate
    r = np.minimum(np.abs(signed), LARGEST_R)
    if name == "se":
        return np.asarray(rate * signed * np.exp(-0.5 * r * r))
    shape = 1.0 if name == "matern32" else (1.0 + r) / 3.0
    return np.asarray(rate * signed * shape * np.exp(-r))


def factor_with_slope(name: str, x: Array, t: Array, l: Array | float) -> tuple[Array, Array]:
    """`factor` and `factor_slope` together, with half the exponentials."""
    rate = RATE[name] / l
    signed = (x - t) * rate
    r = np.minimum(np.abs(signed), LARGEST_R)
    signed *= rate
    if name == "se":
        value = np.exp(-0.5 * r * r)
        return value, signed * value
    decay = np.exp(-r)
    if name == "matern32":
        return (1.0 + r) * decay, signed * decay
    return (1.0 + r * (1.0 + r / 3.0)) * decay, signed * ((1.0 + r) / 3.0) * decay


def antiderivative(name: str, u: Array, l: Array | float) -> Array:
    """F(u) for signed u."""
    u = np.asarray(u, dtype=float)
    scale = l / RATE[name]
    if name == "se":
        return np.asarray(scale * np.sqrt(np.pi / 2.0) * erf(u / (np.sqrt(2.0) * scale)))
    a = np.abs(u) / scale
    decay = np.exp(-np.minimum(a, LARGEST_R))
    if name == "matern32":
        size = -2.0 * np.expm1(-a) - a * decay
    else:
        size = -8.0 / 3.0 * np.expm1(-a) - decay * (5.0 * a + a * a) / 3.0
    return np.asarray(np.sign(u) * scale * size)


def second_antiderivative(name: str, u: Array, l: Array | float) -> Array:
    """G(u). The integral of k(x - t) over a rectangle is a sum of four of them."""
    scale = l / RATE[name]
    a = np.abs(np.asarray(u, dtype=float)) / scale
    small, large = np.minimum(a, _SERIES_BELOW), np.maximum(a, _SERIES_BELOW)
    if name == "se":
        far = np.expm1(-0.5 * large * large) + large * np.sqrt(np.pi / 2.0) * erf(large / np.sqrt(2.0))
    else:
        decay = np.exp(-np.minimum(large, LARGEST_R))
        if name == "matern32":
            far = 2.0 * large - 3.0 + decay * (3.0 + large)
        else:
            far = 8.0 / 3.0 * large - 5.0 + decay * (5.0 + large * (7.0 + large) / 3.0)
    near = small * small * np.polynomial.polynomial.polyval(small, _SERIES[name])
    return np.asarray(scale * scale * np.where(a < _SERIES_BELOW, near, far))


def _series(name: str) -> Array:
    """Coefficients of G(a) / a^2 in powers of a, from those of k: a^n becomes a^(n+2) / ((n + 1)(n + 2))."""
    out = np.zeros(_SERIES_TERMS)
    for n in range(_SERIES_TERMS):
        if name == "se":
            coefficient = (-0.5) ** (n // 2) / factorial(n // 2) if n % 2 == 0 else 0.0
        elif name == "matern32":
            coefficient = (-1.0) ** n * (1 - n) / factorial(n)
        else:
            coefficient = (-1.0) ** n * (1 - n + n * (n - 1) / 3) / factorial(n)
        out[n] = coefficient / ((n + 1) * (n + 2))
    return out


_SERIES = {name: _series(name) for name in ("matern32", "matern52", "se")}


def interval_mean(name: str, t: Array, low: float, high: float, l: Array | float) -> Array:
    """Average of k(x, t) over x in [low, high]."""
    t = np.asarray(t, dtype=float)
    return np.asarray((antiderivative(name, high - t, l) - antiderivative(name, low - t, l)) / (high - low))


def interval_mean_slope(name: str, t: Array, low: float, high: float, l: Array | float) -> Array:
    """Derivative of `interval_mean` with respect to t."""
    t = np.asarray(t, dtype=float)
    return np.asarray((factor(name, low, t, l) - factor(name, high, t, l)) / (high - low))


def unit_mean_with_slope(name: str, t: Array, l: Array) -> tuple[Array, Array]:
    """Average of k(x, t) over x in [0, 1] and its derivative with respect to t; l broadcasts against t in [0, 1]."""
    scale = l / RATE[name]
    a = np.array([1.0 - t, t]) / scale
    if name == "se":
        k = np.exp(-0.5 * a * a)
        F = np.sqrt(np.pi / 2.0) * erf(a / np.sqrt(2.0))
    else:
        np.minimum(a, LARGEST_R, out=a)
        decay = np.exp(-a)
        if name == "matern32":
            k, F = (1.0 + a) * decay, 2.0 - (2.0 + a) * decay
        else:
            k, F = (1.0 + a * (1.0 + a / 3.0)) * decay, (8.0 - (8.0 + a * (5.0 + a)) * decay) / 3.0
    return scale * (F[0] + F[1]), k[1] - k[0]


def unit_double_mean(name: str, l: Array) -> Array:
    """Average of k(x, t) over the unit square, for several lengthscales at once."""
    return 2.0 * second_antiderivative(name, np.ones_like(l), l)


def rectangle_mean(name: str, first: tuple[float, float], second: tuple[float, float], l: float) -> float:
    """Average of k(x, t) over x in one interval and t in another."""
    (a, b), (c, d) = first, second
    corners = second_antiderivative(name, np.array([b - c, a - d, b - d, a - c]), l)
    return float((corners[0] + corners[1] - corners[2] - corners[3]) / ((b - a) * (d - c)))


def factor_mean(name: str, x: Array, l: float, cells: int = 0, nominal: bool = False) -> Array:
    """Average of k(x, t) over the unit interval: the exact integral, or the mean over `cells` mid-points."""
    x = np.asarray(x, dtype=float)
    if nominal:
        return np.full(x.shape, (1.0 + (cells - 1) * np.exp(-1.0 / l)) / cells)
    if cells:
        return np.asarray(factor(name, x[..., None], midpoints(cells), l).mean(axis=-1))
    return interval_mean(name, x, 0.0, 1.0, l)


def factor_double_mean(name: str, l: float, cells: int = 0, nominal: bool = False) -> float:
    """Average of k(s, t) over both arguments: the prior variance of a uniform average along this dimension."""
    if nominal or cells:
        return float(factor_mean(name, midpoints(cells), l, cells, nominal).mean())
    return rectangle_mean(name, (0.0, 1.0), (0.0, 1.0), l)


def midpoints(cells: int) -> Array:
    return (np.arange(cells) + 0.5) / cells
