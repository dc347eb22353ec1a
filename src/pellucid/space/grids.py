"""Values that are spread evenly over the axes of a space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.numerics import Array
from pellucid.space.encoding import Space


def axis_grid(space: Space, column: int, size: int) -> Array:
    """At most `size` values evenly spread over an axis, ends included; all values of a discrete parameter with few."""
    dimension = space.dimensions[column]
    if dimension.cells and dimension.cells <= size:
        return dimension.midpoint(np.arange(dimension.cells))
    return np.unique(dimension.snap(np.linspace(0.0, 1.0, size)))


def effect_grid(space: Space, columns: Sequence[int], size: int) -> Array:
    """Grid points (G, len(columns)) of one effect: a line, or a lattice for a pair."""
    axes = [axis_grid(space, column, size) for column in columns]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
