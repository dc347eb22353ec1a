"""Bounds of ranges beyond which there may be nothing, however good the bound itself is.

The rules look at the numbers alone, never at names. Counts end at 0 or 1: a range of whole numbers that begins there is
not widened. Shares end at 0 and 1, but so do many ranges of other quantities: there the advice says "if".
"""

from __future__ import annotations

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution


def end_of_counts(distribution: BaseDistribution, end: str) -> bool:
    """Whether whole numbers begin at 0 or 1. `end`: 'lower' or 'upper'."""
    return isinstance(distribution, IntDistribution) and end == "lower" and distribution.low in (0, 1)


def end_of_shares(distribution: BaseDistribution, end: str) -> bool:
    """Whether a range begins at 0, or ends at 1 and has no negative values."""
    if not isinstance(distribution, FloatDistribution):
        return False
    return distribution.low == 0.0 if end == "lower" else distribution.high == 1.0 and distribution.low >= 0.0
