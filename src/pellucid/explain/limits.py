"""Bounds of ranges that nature sets: there is nothing beyond them, however good the bound itself is.

The rule looks at the numbers alone, never at names:
    lower end   0 on a linear scale (shares, rates, strengths), and 0 or 1 of whole numbers (counts)
    upper end   1 of a number on a linear scale whose range begins at 0 or above (shares, probabilities)
On a logarithmic scale there is always room below a number that is not whole, and an upper bound of 1 is a habit.
"""

from __future__ import annotations

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution


def natural_limit(distribution: BaseDistribution, end: str) -> bool:
    """Whether a range ends where its parameter does. `end`: 'lower' or 'upper'."""
    if isinstance(distribution, IntDistribution):
        return end == "lower" and distribution.low in (0, 1)
    if not isinstance(distribution, FloatDistribution) or distribution.log:
        return False
    return distribution.low == 0.0 if end == "lower" else distribution.high == 1.0 and distribution.low >= 0.0
