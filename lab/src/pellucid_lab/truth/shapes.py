"""Parts of formulas that several problems have."""

from __future__ import annotations

import numpy as np

from pellucid_lab.truth.spaces import Array


def bowl(u: Array, centre: float | Array, width: float = 1.0) -> Array:
    return np.asarray(((u - centre) / width) ** 2)


def step(t: Array) -> Array:
    """From 0 to 1 around t = 0."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(t, -60.0, 60.0))))
