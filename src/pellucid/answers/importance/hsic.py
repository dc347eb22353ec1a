"""HSIC towards a goal: how differently a parameter is distributed among the configurations that reach the goal.

Notation (equation 9 of the source)
    u (n, k)      one parameter (k = 1) or several together, each mapped to [0, 1] by its own distribution function
    z (n,)        1 if the goal is reached, p their share;  w = (z - p) / n
    k(u, v)       exp(-|u - v|^2 / (2 h^2)), h the bandwidth
    S = w' K w    = p^2 times the squared distance between the embeddings of u | goal and of u; 0 if independent
    Phi (n, r)    features with K = Phi Phi' to rounding, so that S = |Phi' w|^2 costs O(n r), and so does every other z

Features of one column come from polynomial interpolation at Chebyshev nodes: a Gaussian is analytic, so a few dozen
nodes reach the last digit, and negligible eigenvalues of the nodes' kernel matrix are dropped. The features of several
columns are products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product as combinations_of
from typing import Literal

import numpy as np

from pellucid.claims import GOAL_NO_EFFECT
from pellucid.numerics import Array, Mask, stream
from pellucid.words import printable

Bandwidth = Literal["max", "median"] | float

# Median of |u - v| for two uniform numbers: a bandwidth that does not depend on the data.
MEDIAN = 1.0 - 0.5**0.5
# Bandwidths among which "max" chooses.
_GRID = tuple(float(h) for h in np.geomspace(0.06, 3.0, 14))
# Below this bandwidth the kernel needs more nodes than its matrix has rows in a typical study.
_SMALLEST_SMOOTH = 0.02
# Eigenvalues that are kept, relative to the largest: to the last digit for an index, nine digits for permutations.
_EXACT, _ROUGH = 1e-17, 1e-9
# Rows of a kernel matrix, and permutations, that are in memory at once.
_BLOCK, _BATCH = 2048, 64
# An index below this share of its largest possible value is rounding error.
_NOTHING = 1e-14
# With more features than this, the kernel matrix is evaluated block by block instead.
_MOST_FEATURES = 40_000


def hsic_index(u: Array, in_goal: Mask, bandwidth: Bandwidth = "max") -> tuple[float, float]:
    """The index S and its standard error.

    Args:
        u: (n,) or (n, k), in [0, 1]; independent draws.
        in_goal: (n,), whether the goal is reached.
        bandwidth: of the kernel. "max" takes the one with the largest index, "median" the median distance of two draws.
    """
    points, z = _checked(u, in_goal)
    h = _bandwidth(points, z, bandwidth)
    w = (z - z.mean()) / len(z)
    # f_j = sum_l k(u_j, u_l) w_l: the witness function of the difference between the two distributions.
    f = _witness(points, h, w)
    S = max(float(w @ f), 0.0)
    influence = 2.0 * ((z - z.mean()) * (f - f.mean()) - S)
    return S, float(influence.std(ddof=1) / np.sqrt(len(z))) if len(z) > 1 else 0.0


def permutation_pvalue(
    u: Array, in_goal: Mask, bandwidth: Bandwidth = "median", n_permutations: int = 999, seed: int = 0
) -> float:
    """Share of permutations of the goal with an index at least as large: (1 + hits) / (1 + permutations).

    With "max", the bandwidth is chosen again for every permutation, as it was for the data.
    """
    return permutation_test(u, in_goal, bandwidth, n_permutations, seed).p


@dataclass(frozen=True)
class PermutationTest:
    """p: of the index;  null: mean of the permuted indices, which is the index expected without an effect;
    usual: their 95% quantile."""

    p: float
    null: float
    usual: float


def permutation_test(
    u: Array, in_goal: Mask, bandwidth: Bandwidth = "median", n_permutations: int = 999, seed: int = 0
) -> PermutationTest:
    points, z = _checked(u, in_goal)
    if n_permutations < 1:
        raise ValueError(printable(f"`n_permutations` must be at least 1, but got {n_permutations}."))
    widths = _GRID[::3] if bandwidth == "max" else (_bandwidth(points, z, bandwidth),)
    features = [_features(points, h, _ROUGH) for h in widths]
    n, share = len(z), float(z.mean())
    observed = max(float((((z - share) @ phi) ** 2).sum()) / n**2 for phi in features)
    if observed <= _NOTHING * share * (1.0 - share):
        return PermutationTest(1.0, 0.0, 0.0)
    goals = _shuffled(z.astype(bool).tobytes(), n_permutations, seed)
    permuted = []
    for first in range(0, n_permutations, _BATCH):
        w = (goals[first : first + _BATCH] - share) / n
        permuted.append(np.max([((w @ phi) ** 2).sum(axis=1) for phi in features], axis=0))
    indices = np.concatenate(permuted)
    # Permutations that only differ by rounding count as equal.
    hits = int((indices >= observed * (1.0 - 1e-9)).sum())
    usual = float(np.quantile(indices, 0.95))
    return PermutationTest((1 + hits) / (1 + n_permutations), float(indices.mean()), usual)


@lru_cache(maxsize=4)
def _shuffled(z: bytes, count: int, seed: int) -> Mask:
    """(count, n): permutations of the goal, the same for every parameter that is tested against it."""
    goal = np.frombuffer(z, dtype=bool)
    return stream(seed, "permutations", len(goal)).permuted(np.tile(goal, (count, 1)), axis=1)


def shared_bandwidth(u: Array, in_goal: Mask) -> float:
    """One bandwidth for indices that are compared: the one at which the largest index over the columns of u is largest.
    With one bandwidth each, parameters without an effect would get the one that inflates their noise most."""
    points, z = _checked(u, in_goal)
    w = (z - z.mean()) / len(z)
    return float(max(_GRID, key=lambda h: max(_rough_index(column[:, None], h, w) for column in points.T)))


def largest_possible(in_goal: Mask, h: float) -> float:
    """The index of a parameter that alone decides whether the goal is reached: the scale for all others."""
    n = len(in_goal)
    return hsic_index((np.arange(n) + 0.5) / n, np.arange(n) < in_goal.sum(), h)[0]


def negligible(index: float, stderr: float, test: PermutationTest, in_goal: Mask, h: float) -> bool:
    """Whether the effect is negligible, and a larger one would have been seen."""
    limit = GOAL_NO_EFFECT.threshold * largest_possible(in_goal, h)
    return test.usual <= limit and index - test.null + 2.0 * stderr <= limit


def holm(p: Array) -> Array:
    """p-values adjusted for the number of tests (Holm's step-down)."""
    order = np.argsort(p)
    steps = np.maximum.accumulate((len(p) - np.arange(len(p))) * np.asarray(p)[order])
    out = np.empty(len(p))
    out[order] = np.minimum(steps, 1.0)
    return out


# ---------------------------------------------------------------------- kernels as features


def _checked(u: Array, in_goal: Mask) -> tuple[Array, Array]:
    points: Array = np.asarray(u, dtype=float)
    z: Array = np.asarray(in_goal, dtype=float)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or z.shape != (len(points),) or len(z) < 2:
        raise ValueError(
            printable(
                f"`u` is (n,) or (n, k) and `in_goal` (n,) with n >= 2, but they have shapes {np.shape(u)} and "
                f"{z.shape}."
            )
        )
    if not (np.isfinite(points).all() and points.min() >= 0.0 and points.max() <= 1.0):
        raise ValueError("`u` must lie in [0, 1]: map every parameter with its own distribution function first.")
    if not np.isin(z, (0.0, 1.0)).all():
        raise ValueError("`in_goal` must be True or False for every draw: whether it reaches the goal.")
    if z.min() == z.max():
        raise ValueError(
            printable(
                f"The goal must be reached by some draws and missed by others, but {int(z.sum())} of {len(z)} reach it."
            )
        )
    return points, z


def _bandwidth(points: Array, z: Array, bandwidth: Bandwidth) -> float:
    if bandwidth == "max":
        w = (z - z.mean()) / len(z)
        return float(max(_GRID, key=lambda h: _rough_index(points, h, w)))
    return chosen_bandwidth(bandwidth, points.shape[1])


def chosen_bandwidth(bandwidth: object, k: int = 1) -> float:
    """A bandwidth that does not depend on the data: the median distance of two draws of k columns, or a number."""
    if bandwidth == "median":
        return float(MEDIAN * k**0.5)
    if not (isinstance(bandwidth, (int, float)) and 0.0 < bandwidth < np.inf):
        raise ValueError(f"`bandwidth` is 'max', 'median' or a positive number, but got {bandwidth!r}.")
    return float(bandwidth)


def _rough_index(points: Array, h: float, w: Array) -> float:
    return float(((_features(points, h, _ROUGH).T @ w) ** 2).sum())


def embeddings(u: Array, goals: Array, h: float) -> Array:
    """Phi' w (r, R) for R goals at once, goals (R, n) in {0, 1}. Products of two columns are indices across goals."""
    w = (goals - goals.mean(axis=1, keepdims=True)) / goals.shape[1]
    return np.asarray(_features(u[:, None], h, _ROUGH).T @ w.T)


def _witness(points: Array, h: float, w: Array) -> Array:
    """K w: through features if the kernel is smooth enough for them, block by block otherwise."""
    if h >= _SMALLEST_SMOOTH and len(_basis(h)[2]) ** points.shape[1] <= _MOST_FEATURES:
        phi = _features(points, h, _EXACT)
        return np.asarray(phi @ (phi.T @ w))
    out = np.empty(len(w))
    for first in range(0, len(w), _BLOCK):
        block = points[first : first + _BLOCK]
        squares = ((block[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        out[first : first + _BLOCK] = np.exp(-0.5 * squares / h**2) @ w
    return out


def _features(points: Array, h: float, tolerance: float) -> Array:
    """(n, r) with Phi Phi' = K up to `tolerance` (relative to the largest eigenvalue)."""
    h = max(h, _SMALLEST_SMOOTH)
    columns = [_column_features(column, h, tolerance) for column in points.T]
    phi, sizes = columns[0]
    for other, other_sizes in columns[1:]:
        # Products of features, without those whose eigenvalues have a negligible product.
        keep = [(a, b) for a, b in combinations_of(range(len(sizes)), range(len(other_sizes)))
                if sizes[a] * other_sizes[b] > tolerance * sizes[0] * other_sizes[0]]  # fmt: skip
        left, right = (np.array(which) for which in zip(*keep, strict=True))
        phi, sizes = phi[:, left] * other[:, right], sizes[left] * other_sizes[right]
    return phi


def _column_features(u: Array, h: float, tolerance: float) -> tuple[Array, Array]:
    interpolate, vectors, values = _basis(h)
    keep = values > tolerance * values[0]
    return interpolate(u) @ (vectors[:, keep] * np.sqrt(values[keep])), values[keep]


@lru_cache(maxsize=64)
def _basis(h: float) -> tuple[Callable[[Array], Array], Array, Array]:
    """Chebyshev nodes for this bandwidth: interpolation (n, q), and the eigen-decomposition of their kernel matrix."""
    q = int(np.ceil(24 + 3.2 / h))
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(q) / (q - 1))
    weights = (-1.0) ** np.arange(q)
    weights[[0, -1]] *= 0.5

    def interpolate(u: Array) -> Array:
        """Lagrange polynomials at u, by the barycentric formula."""
        distance = u[:, None] - nodes
        hit = np.abs(distance) < 1e-15
        ratio = weights / np.where(hit, 1.0, distance)
        out = ratio / ratio.sum(axis=1, keepdims=True)
        rows = hit.any(axis=1)
        out[rows] = hit[rows]
        return np.asarray(out)

    K = np.exp(-0.5 * (nodes[:, None] - nodes) ** 2 / h**2)
    values, vectors = np.linalg.eigh(K)
    order = np.argsort(-values)
    return interpolate, vectors[:, order], np.maximum(values[order], 0.0)
