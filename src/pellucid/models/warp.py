"""Monotone output warps, with which a Gaussian process fits losses with long tails and flat valleys.

Notation (all arrays (n,))
    y        loss in the user's unit, smaller is better
    t        (y - centre) / spread
    w(y)     warped loss; increasing, onto the whole real line, linear outside the range it was chosen for
    J        sum_i log w'(y_i), the Jacobian that makes likelihoods of different warps comparable
"""

from __future__ import annotations

import numpy as np

from pellucid.models.states import Warp
from pellucid.numerics import Array

# Powers of the Yeo-Johnson warp (1 would be no warp) and offsets of the log warp, from the strongest bend to the
# weakest: more candidates follow the data more closely and cost time at every proposal. Chosen on the development
# problems of lab/results/engine.
_LAMBDAS = (0.0, 0.25, 0.5, 0.75)
_OFFSETS = (0.01, 0.1, 0.5)
# Distinct neighbouring losses needed before a warp is chosen; fewer do not show a shape.
_FEWEST_DIFFERENCES = 4
# Spread below which losses count as equal, relative to their size.
_SMALLEST_SPREAD = 1e-12
# Interquartile range of the standard normal distribution.
_NORMAL_QUARTILES = 1.35
# Losses are clipped to this size, so that sums and differences of two of them stay finite.
LARGEST_VALUE = 1e306
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def forward(warp: Warp | None, y: Array) -> Array:
    y = np.asarray(y, dtype=float)
    if warp is None:
        return y
    inside = np.clip(y, warp.low, warp.high)
    return np.asarray(_bend(warp, inside) + (y - inside) * np.exp(log_derivative(warp, inside)))


def inverse(warp: Warp | None, v: Array) -> Array:
    v = np.asarray(v, dtype=float)
    if warp is None:
        return v
    ends = np.array([warp.low, warp.high])
    bent_ends = _bend(warp, ends)
    inside = np.clip(v, *bent_ends)
    y = np.clip(_unbend(warp, inside), warp.low, warp.high)
    at_end = np.where(v > inside, ends[1], ends[0])
    with np.errstate(over="ignore"):
        y = np.where(v == inside, y, at_end + (v - inside) * np.exp(-log_derivative(warp, at_end)))
    return np.clip(y, -LARGEST_VALUE, LARGEST_VALUE)


def log_derivative(warp: Warp | None, y: Array) -> Array:
    """log w'(y)."""
    y = np.asarray(y, dtype=float)
    if warp is None:
        return np.zeros_like(y)
    t = (np.clip(y, warp.low, warp.high) - warp.centre) / warp.spread
    if warp.kind == "log":
        slope = -np.log(t + warp.shape)
    else:
        slope = np.where(t >= 0, (warp.shape - 1.0), (1.0 - warp.shape)) * np.log1p(np.abs(t))
    return np.asarray(slope - np.log(warp.spread))


def _bend(warp: Warp, y: Array) -> Array:
    """w inside [low, high]."""
    t = (y - warp.centre) / warp.spread
    if warp.kind == "log":
        return np.asarray(np.log(t + warp.shape))
    size, power = np.log1p(np.abs(t)), np.where(t >= 0, warp.shape, 2.0 - warp.shape)
    bent = np.where(power > 0.0, np.expm1(power * size) / np.where(power > 0.0, power, 1.0), size)
    return np.asarray(np.where(t >= 0, bent, -bent))


def _unbend(warp: Warp, v: Array) -> Array:
    """Inverse of `_bend`."""
    if warp.kind == "log":
        return np.asarray((np.exp(v) - warp.shape) * warp.spread + warp.centre)
    size, power = np.abs(v), np.where(v >= 0, warp.shape, 2.0 - warp.shape)
    logs = np.where(power > 0.0, np.log1p(power * size) / np.where(power > 0.0, power, 1.0), size)
    return np.asarray(np.where(v >= 0, 1.0, -1.0) * np.expm1(logs) * warp.spread + warp.centre)


def candidates(y: Array) -> tuple[list[Warp | None], Array, Array]:
    """Candidate warps for these losses, the losses under each (n, k), and the Jacobian of each (k,).

    No warp, Yeo-Johnson around the median, and log above the minimum. Computed together, because this runs at every
    proposal.
    """
    ordered = np.sort(y)
    lowest, quartile, median, upper = (float(ordered[round(q * (len(y) - 1))]) for q in (0.0, 0.25, 0.5, 0.75))
    spread, reach = (upper - quartile) / _NORMAL_QUARTILES, median - lowest
    smallest = _SMALLEST_SPREAD * max(abs(lowest), abs(median), 1e-300)
    if np.count_nonzero(np.diff(ordered)) < _FEWEST_DIFFERENCES or not (
        smallest < spread < np.inf and smallest < reach < np.inf
    ):
        return [None], y[:, None], np.zeros(1)
    options: list[Warp | None] = [None]
    ends = lowest, float(ordered[-1])
    options += [Warp("yeo-johnson", median, spread, lam, *ends) for lam in _LAMBDAS]
    options += [Warp("log", lowest, reach, offset, *ends) for offset in _OFFSETS]
    t = ((y - median) / spread)[:, None]
    size, positive, lam = np.log1p(np.abs(t)), t >= 0.0, np.array(_LAMBDAS)
    power = np.where(positive, lam, 2.0 - lam)
    bent = np.where(power > 0.0, np.expm1(power * size) / np.where(power > 0.0, power, 1.0), size)
    logs = np.log((y - lowest)[:, None] / reach + np.array(_OFFSETS))
    slopes = (np.where(positive, lam - 1.0, 1.0 - lam) * size).sum(axis=0) - len(y) * np.log(spread)
    jacobians = np.concatenate([[0.0], slopes, -logs.sum(axis=0) - len(y) * np.log(reach)])
    return options, np.hstack([y[:, None], np.where(positive, bent, -bent), logs]), jacobians


def moments(warp: Warp | None, mean: Array, sd: Array) -> tuple[Array, Array]:
    """Mean and sd of w^-1(N(mean, sd^2)) by 32-point Gauss-Hermite quadrature; exact without a warp."""
    if warp is None:
        return mean, sd
    values = inverse(warp, mean[..., None] + sd[..., None] * _NODES)
    # Scaled, because losses near 1e300 are allowed and their squares overflow.
    size = np.maximum(np.abs(values).max(axis=-1, keepdims=True), 1e-300)
    scaled = values / size
    centre = scaled @ _WEIGHTS
    spread = np.sqrt(((scaled - centre[..., None]) ** 2) @ _WEIGHTS)
    return centre * size[..., 0], spread * size[..., 0]
