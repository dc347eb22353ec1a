"""HSIC of a parameter whose values have no order.

The index compares positions on a line, and choices have none: in the order of their declaration, a good choice between
two bad ones would be smoothed away. So choices are sorted by how often they reach the goal, like an ordered parameter
with the same rates. The test sorts them again for every permutation, so it stays exact.

Notation
    codes (n,)    which of C choices a draw has;  z (n,)  whether it reaches the goal, p their share
    d (C,)        (goals with a choice - p * draws with it) / n, sorted
    K (C, C)      the kernel, averaged over pairs of cells of width 1 / C;  S = d' K d
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import toeplitz

from pellucid.answers.importance.hsic import PermutationTest
from pellucid.numerics import Array, Integers, Mask, stream

# Gauss-Legendre rule for averages of the kernel over cells.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# An index below this share of its largest possible value is rounding error.
_NOTHING = 1e-14


def ranks(codes: Integers, goals: Array, count: int) -> Integers:
    """The place of every choice, starting with the one that reaches the goal most often. goals (n,), or (R, n) for
    several goals that are averaged."""
    draws = np.bincount(codes, minlength=count)
    hits = np.bincount(codes, weights=np.atleast_2d(goals).mean(axis=0), minlength=count)
    places: Integers = _places(draws[None], hits[None])[0]
    return places


def choice_index(codes: Integers, in_goal: Mask, count: int, h: float) -> tuple[float, float]:
    """The index and its standard error."""
    z = in_goal.astype(float)
    n, share = len(z), float(z.mean())
    place = ranks(codes, z, count)[codes]
    d = np.bincount(place, weights=(z - share) / n, minlength=count)
    f = (_kernel(count, h) @ d)[place]
    S = max(float(((z - share) / n) @ f), 0.0)
    influence = 2.0 * ((z - share) * (f - f.mean()) - S)
    return S, float(influence.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def choice_test(
    codes: Integers, in_goal: Mask, count: int, h: float, n_permutations: int = 999, seed: int = 0
) -> PermutationTest:
    """Share of permutations of the goal with an index at least as large."""
    draws, n, m = np.bincount(codes, minlength=count), len(codes), int(in_goal.sum())
    observed = _indices(draws, np.bincount(codes[in_goal], minlength=count)[None], h)[0]
    share = m / n
    if observed <= _NOTHING * share * (1.0 - share):
        return PermutationTest(1.0, 0.0, 0.0)
    # A permutation distributes m goals over the draws without replacement, so only the counts per choice matter.
    rng = stream(seed, "choices", n, count)
    hits = rng.multivariate_hypergeometric(draws, m, size=n_permutations, method="marginals")
    indices = _indices(draws, hits, h)
    extreme = int((indices >= observed * (1.0 - 1e-9)).sum())
    return PermutationTest(
        (1 + extreme) / (1 + n_permutations), float(indices.mean()), float(np.quantile(indices, 0.95))
    )


def _indices(draws: Integers, hits: Integers, h: float) -> Array:
    """S for every row of hits (R, C)."""
    n, m = draws.sum(), hits.sum(axis=1, keepdims=True)
    d = (hits - m / n * draws) / n
    sorted_d = np.empty_like(d)
    np.put_along_axis(sorted_d, _places(np.broadcast_to(draws, hits.shape), hits), d, axis=1)
    return np.asarray(np.einsum("ra,ab,rb->r", sorted_d, _kernel(len(draws), h), sorted_d))


def _places(draws: Integers, hits: Array | Integers) -> Integers:
    """Rank of every choice by its share of goals, highest first, then by its draws, so that the order of declaration
    never counts. Choices without draws come last."""
    rate = np.where(draws > 0, hits / np.maximum(draws, 1), -1.0)
    return np.argsort(np.lexsort((-draws, -rate), axis=1), axis=1, kind="stable")


def _kernel(count: int, h: float) -> Array:
    """The kernel averaged over pairs of cells, which depends on their distance alone."""
    steps = (np.arange(count)[:, None, None] + 0.5 * (_NODES[:, None] - _NODES)) / count
    averages = np.einsum("dij,i,j->d", np.exp(-0.5 * (steps / h) ** 2), 0.5 * _WEIGHTS, 0.5 * _WEIGHTS)
    return np.asarray(toeplitz(averages))
