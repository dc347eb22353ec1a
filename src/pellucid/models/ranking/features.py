"""Input of the networks: numbers in [-1, 1], choices as indicators, and which conditional parameters are active."""

from __future__ import annotations

import numpy as np

from pellucid.numerics import Array
from pellucid.space.encoding import Space


def n_features(space: Space) -> int:
    per = (dimension.cells if dimension.nominal else 1 for dimension in space.dimensions)
    return sum(per) + len(space.conditions)


def features(space: Space, X: Array) -> Array:
    """(n, d) encoded -> (n, F). An inactive number is 0, the indicators of an inactive choice are all 0, and every
    conditional parameter has an indicator of being active."""
    active = space.active(X)
    columns: list[Array] = []
    for j, dimension in enumerate(space.dimensions):
        on = active[:, j]
        if dimension.nominal:
            codes = dimension.code(X[:, j])
            columns.extend(((codes == k) & on).astype(float) for k in range(dimension.cells))
        else:
            columns.append(np.where(on, 2.0 * X[:, j] - 1.0, 0.0))
        if dimension.name in space.conditions:
            columns.append(on.astype(float))
    return np.stack(columns, axis=1) if columns else np.empty((len(X), 0))
