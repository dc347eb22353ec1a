"""Losses without a unit, and reproducible seeds for other libraries. Does not import torch."""

from __future__ import annotations

import numpy as np

from pellucid.numerics import Array, stream

# Relative spread below which values count as equal: a few times the precision of a float.
_SMALLEST_SPREAD = 1e-14


def standardise(y: Array) -> tuple[Array, Array, Array]:
    """(..., n) -> z (..., n) with mean 0 and sd 1 along the last axis, and the mean and sd (..., 1) that undo it.

    If all values are equal, or there is only one, they become zeros and the sd is a thousandth of their size.
    """
    y = np.asarray(y, dtype=float)
    # Divided by the largest first, because squares of losses near 1e300 would overflow.
    size = np.maximum(np.abs(y).max(axis=-1, keepdims=True), 1e-300)
    scaled = y / size
    mean, sd = scaled.mean(axis=-1, keepdims=True), scaled.std(axis=-1, keepdims=True)
    flat = ~(sd > _SMALLEST_SPREAD)
    z = np.where(flat, 0.0, (scaled - mean) / np.where(flat, 1.0, sd))
    return z, mean * size, np.maximum(np.where(flat, np.abs(mean) * 1e-3, sd) * size, 1e-12)


def unit_range(y: Array) -> tuple[Array, Array, Array]:
    """(..., n) -> z (..., n) in [0, 1], the smallest 0 and the largest 1, and the smallest value and the range (..., 1)
    that undo it."""
    y = np.asarray(y, dtype=float)
    size = np.maximum(np.abs(y).max(axis=-1, keepdims=True), 1e-300)
    scaled = y / size
    low = scaled.min(axis=-1, keepdims=True)
    span = scaled.max(axis=-1, keepdims=True) - low
    flat = ~(span > _SMALLEST_SPREAD)
    z = np.where(flat, 0.0, (scaled - low) / np.where(flat, 1.0, span))
    return z, low * size, np.maximum(np.where(flat, np.abs(low) * 1e-3, span) * size, 1e-12)


def seed_of(seed: int, *labels: int | str) -> int:
    """A seed for another library's generator that depends only on its arguments."""
    return int(stream(seed, *labels).integers(2**62))
