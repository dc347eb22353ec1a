"""Whether methods differ: Friedman's test on plain and on aligned ranks, Nemenyi's critical difference for plain ranks,
and Hommel's correction for comparing all methods with the best.

Notation: values (n, k), n blocks (problem and seed), k methods, smaller is better. Aligned ranks: each block's mean is
subtracted, then all n k values are ranked together, so that differences between blocks do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm, rankdata

Array = NDArray[np.float64]


def aligned_ranks(values: Array) -> Array:
    """(n, k): ranks 1 .. n k of the values minus their block's mean; equal values share a rank."""
    aligned = values - values.mean(axis=1, keepdims=True)
    return np.asarray(rankdata(aligned).reshape(values.shape), dtype=float)


def friedman(values: Array) -> tuple[float, float]:
    """Statistic and p-value of the test on ranks within blocks, corrected for ties."""
    n, k = values.shape
    ranks = rankdata(values, axis=1)
    top = n * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    if spread == 0.0:  # All methods are equal in every block.
        return 0.0, 1.0
    return top / spread, float(chi2.sf(top / spread, k - 1))


def friedman_aligned(values: Array) -> tuple[float, float]:
    """Statistic and p-value of the test on aligned ranks."""
    n, k = values.shape
    ranks = aligned_ranks(values)
    by_method, by_block = ranks.sum(axis=0), ranks.sum(axis=1)
    top = (k - 1) * (float((by_method**2).sum()) - k * n**2 / 4 * (k * n + 1) ** 2)
    bottom = k * n * (k * n + 1) * (2 * k * n + 1) / 6 - float((by_block**2).sum()) / k
    statistic = top / bottom
    return statistic, float(chi2.sf(statistic, k - 1))


def against_best(values: Array) -> tuple[int, Array]:
    """Column of the method with the best mean aligned rank, and the corrected p-value of each method's difference to it
    (1 for itself)."""
    n, k = values.shape
    means = aligned_ranks(values).mean(axis=0)
    best = int(np.argmin(means))
    # If all methods are equal, a rank has variance ((n k)^2 - 1) / 12, and two ranks of a block have correlation
    # -1 / (k - 1). (The often quoted sqrt(k (n + 1) / 6) is for plain ranks: here it is too small by about sqrt(k).)
    z = (means - means[best]) / np.sqrt(k / (k - 1) * ((n * k) ** 2 - 1) / (6 * n))
    others = [j for j in range(k) if j != best]
    corrected = np.ones(k)
    corrected[others] = hommel([float(2.0 * norm.sf(abs(z[j]))) for j in others])
    return best, corrected


def critical_difference(n_methods: int, n_problems: int, level: float = 0.05) -> float:
    """Nemenyi's critical difference: two methods whose mean ranks are farther apart differ significantly."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1.0 - level, n_methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_problems)))


def hommel(p: Sequence[float]) -> Array:
    """Adjusted p-values: the smallest level at which Hommel's procedure rejects each hypothesis."""
    order = np.argsort(p)
    sorted_p = np.asarray(p, dtype=float)[order]
    m = len(sorted_p)
    adjusted = sorted_p.copy()
    for size in range(m, 1, -1):
        last = sorted_p[m - size + 1 :]
        smallest = float((size * last / np.arange(2, size + 1)).min())
        adjusted[m - size + 1 :] = np.maximum(adjusted[m - size + 1 :], smallest)
        first = slice(0, m - size + 1)
        adjusted[first] = np.maximum(adjusted[first], np.minimum(smallest, size * sorted_p[first]))
    out = np.empty(m)
    out[order] = np.minimum(adjusted, 1.0)
    return out
