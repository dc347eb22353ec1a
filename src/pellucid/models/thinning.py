"""The rows that a model is conditioned on if there are too many for all of them.

A third of them are the newest: the model must know what its own proposals returned, or it would make them again. A
third are the nearest to the best ones, whatever their losses: among noisy losses the best are the lucky ones, and a
model of these alone would believe them. The rest is spread over the space, where the model only has to know that there
is little to find.

Notation
    X (n, d)   encoded configurations in the order of the trials;  y (n,) losses;  l (d,) lengthscales
    D (m, n)   squared distances: ordered columns in units of their lengthscales, 2 / l_j for different categories
"""

from __future__ import annotations

import numpy as np

from pellucid.models.kernels import Kernel
from pellucid.numerics import Array, Indices, Mask, low_discrepancy

# Up to so many trials, a model is conditioned on all of them. An ask takes about 0.2 s then; with 4,000 rows it would
# take almost 1 s.
MOST_TRIALS = 2000
# Rows of a choice: those with a loss, and those that are imputed because their trials failed. In eight 5-d studies of
# 2,000 trials (first BBOB instance), 30 more asks with 1,000 rows found a better value than with all rows in one and a
# worse one in four. Spread rows that are farthest from all others cost five times as much, and found nothing better.
MOST_ROWS, MOST_FAILED = 1500, 500
# The best rows, whose neighbours are kept.
_N_BEST = 20
# Points whose distances are computed at once: the matrix stays small next to those of the model.
_BATCH = 64


def representative_rows(
    kernel: Kernel, l: Array, X: Array, y: Array, size: int, best: Indices | None = None
) -> Indices:
    """`size` rows (at least 6) in ascending order, or all if there are no more; the best and the worst are among them.
    `best`: the rows whose neighbours are kept, if they are not those with the least losses.

    The worst one tells the next proposal how far losses reached: if a new one is far above it, learning starts again.
    """
    n = len(X)
    if n <= size:
        return np.arange(n)
    order = np.argsort(y, kind="stable")
    chosen = _newest(n, size // 3)
    chosen[order[[0, -1]]] = True
    distance = squared_distances(kernel, l, X[order[:_N_BEST] if best is None else best], X).min(axis=0)
    nearest = np.argsort(distance, kind="stable")
    chosen[nearest[~chosen[nearest]][: size // 3]] = True
    return _with_spread_rows(chosen, kernel, l, X, size)


def newest_and_spread_rows(kernel: Kernel, l: Array, X: Array, size: int) -> Indices:
    """`size` rows in ascending order without regard to a loss: a third the newest, the rest spread over the space."""
    n = len(X)
    return np.arange(n) if n <= size else _with_spread_rows(_newest(n, size // 3), kernel, l, X, size)


def _newest(n: int, count: int) -> Mask:
    return np.arange(n) >= n - count


def _with_spread_rows(chosen: Mask, kernel: Kernel, l: Array, X: Array, size: int) -> Indices:
    """Every point of a net over the space takes the nearest row that is not chosen yet, until there are `size`."""
    net = _places(kernel, l, low_discrepancy(0, size - int(chosen.sum()), np.zeros(X.shape[1])))
    chosen, free = chosen.copy(), np.flatnonzero(~chosen)
    places = _places(kernel, l, X)[free]
    for start in range(0, len(net), _BATCH):
        taken = _nearest(net[start : start + _BATCH], places)
        chosen[free[taken]] = True
        free, places = np.delete(free, taken), np.delete(places, taken, axis=0)
    return np.flatnonzero(chosen)


def _nearest(points: Array, places: Array) -> list[int]:
    """The row of `places` that is nearest to each point and not taken by a point before it."""
    D = _squares(points, places)
    taken: list[int] = []
    for distances, nearest in zip(D, D.argmin(axis=1).tolist(), strict=True):
        if nearest in taken:
            distances[taken] = np.inf
            nearest = int(distances.argmin())
        taken.append(nearest)
    return taken


def squared_distances(kernel: Kernel, l: Array, A: Array, B: Array) -> Array:
    """D (m, n) between the rows of A (m, d) and those of B (n, d)."""
    return _squares(_places(kernel, l, A), _places(kernel, l, B))


def _places(kernel: Kernel, l: Array, X: Array) -> Array:
    """Points whose squared Euclidean distances are D: each category has an axis of its own."""
    ordered = [j for j in range(len(l)) if not kernel.is_nominal(j)]
    categories = [
        np.equal.outer(kernel.codes(X[:, j], j), np.arange(kernel.nominal[j])) / np.sqrt(l[j])
        for j in range(len(l))
        if kernel.is_nominal(j)
    ]
    return np.hstack([X[:, ordered] / l[ordered], *categories])


def _squares(A: Array, B: Array) -> Array:
    """|a - b|^2 = a'a + b'b - 2 a'b of all rows, in one product of matrices."""
    left = np.column_stack([-2.0 * A, (A * A).sum(axis=1), np.ones(len(A))])
    right = np.column_stack([B, np.ones(len(B)), (B * B).sum(axis=1)])
    D = np.asarray(left @ right.T)
    np.maximum(D, 0.0, out=D)
    return D
