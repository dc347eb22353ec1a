"""Averages of the product of two kernel factors over an interval, in closed form: they make variances exact.

Notation
    t (n,)      encoded values, sorted;  a = c t / l their scaled values, with c = sqrt(3), sqrt(5) or 1
    p(r)        polynomial of a Matern factor k = p(r) exp(-r): 1 + r, or 1 + r + r^2/3
    delta       (n, n) scaled distances a_k - a_i >= 0 for i <= k
    I_m(v)      integral of x^m exp(-2x) from 0 to v
Below both points, at the distance v from the nearer one, the product is p(v) p(v + delta) exp(-2v - delta): powers of
delta with coefficients that depend on the nearer point alone. Above both it is the mirror image, and between them a
polynomial times exp(-delta).
"""

from __future__ import annotations

import numpy as np
from scipy.special import erf

from pellucid.models.kernels import LARGEST_R, RATE
from pellucid.numerics import Array

# Coefficients of p(r).
_POLYNOMIAL = {"matern32": (1.0, 1.0, 0.0), "matern52": (1.0, 1.0, 1.0 / 3.0)}
# Powers of x in the integrals I: twice the degree of p.
_POWERS = {"matern32": 3, "matern52": 5}


def interval_product_mean(name: str, t: Array, low: float, high: float, l: float) -> Array:
    """Average (n, n) of k(x, t_i) k(x, t_k) over x in [low, high]; t in any order, inside the interval or not."""
    order = np.argsort(t, kind="stable")
    rate = float(RATE[name]) / l
    a, start, stop = t[order] * rate, low * rate, high * rate
    integral = _se(a, start, stop) if name == "se" else _matern(name, a, start, stop)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return np.asarray(integral[np.ix_(back, back)] / (stop - start))


def _se(a: Array, start: float, stop: float) -> Array:
    """exp(-(x - s)^2/2 - (x - t)^2/2) is exp(-(s - t)^2/4) times a Gaussian around the middle of s and t."""
    delta, middle = a[:, None] - a, 0.5 * (a[:, None] + a)
    inside = erf(stop - middle) - erf(start - middle)
    return np.asarray(0.5 * np.sqrt(np.pi) * np.exp(-0.25 * np.minimum(delta * delta, 4.0 * LARGEST_R)) * inside)


def _matern(name: str, a: Array, start: float, stop: float) -> Array:
    """The sum of the three parts for i <= k, mirrored to the other half."""
    delta = np.maximum(a[None, :] - a[:, None], 0.0)
    below = _outside(name, np.maximum(a - stop, 0.0), np.maximum(a - start, 0.0))
    above = _outside(name, np.maximum(start - a, 0.0), np.maximum(stop - a, 0.0))
    total = below[0][:, None] + above[0][None, :] + delta * (below[1][:, None] + above[1][None, :])
    if name == "matern52":
        total += delta * delta * (below[2][:, None] + above[2][None, :])
    if start <= a[0] and a[-1] <= stop:
        total += _between_points(name, delta)
    else:
        ends = (np.clip(edge - a[:, None], 0.0, delta) for edge in (stop, start))
        total += np.subtract(*(_between(name, end, delta) for end in ends))
    total *= np.exp(-np.minimum(delta, LARGEST_R))
    upper = np.triu(total)
    return np.asarray(upper + np.triu(total, 1).T)


def _outside(name: str, near: Array, far: Array) -> tuple[Array, Array, Array]:
    """Coefficients of 1, delta and delta^2 in the integral of p(v) p(v + delta) exp(-2v) over v from near to far."""
    I = [high - low for high, low in zip(_powers(far, _POWERS[name]), _powers(near, _POWERS[name]), strict=True)]
    _, _, c = _POLYNOMIAL[name]
    e = [I[m] + I[m + 1] + (c * I[m + 2] if c else 0.0) for m in range(len(I) - (2 if c else 1))]
    if not c:
        return e[0] + e[1], e[0], np.zeros_like(near)
    return e[0] + e[1] + c * e[2], e[0] + 2.0 * c * e[1], c * e[0]


def _powers(v: Array, count: int) -> list[Array]:
    """I_0 to I_(count - 1), each from the one before."""
    v = np.minimum(v, LARGEST_R)
    decay = np.exp(-2.0 * v)
    out = [-0.5 * np.expm1(-2.0 * v)]
    for m in range(1, count):
        out.append(0.5 * (m * out[-1] - v**m * decay))
    return out


def _between_points(name: str, delta: Array) -> Array:
    """`_between` over the whole distance."""
    if name == "matern32":
        return np.asarray(delta * (1.0 + delta * (1.0 + delta / 6.0)))
    return np.asarray(delta * (1.0 + delta * (1.0 + delta * (7.0 / 18.0 + delta * (1.0 / 18.0 + delta / 270.0)))))


def _between(name: str, w: Array, delta: Array) -> Array:
    """Integral of p(x) p(delta - x) over x from 0 to w."""
    _, _, c = _POLYNOMIAL[name]
    q0, q1 = 1.0 + delta + c * delta * delta, 1.0 + 2.0 * c * delta
    terms = (q0, (q0 - q1) / 2.0, (c * q0 - q1 + c) / 3.0, c * (1.0 - q1) / 4.0, np.full_like(delta, c * c / 5.0))
    out = np.zeros_like(delta)
    for term in reversed(terms):
        out = (out + term) * w
    return np.asarray(out)
