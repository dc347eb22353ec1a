"""The critical difference of average ranks against the published table."""

from __future__ import annotations

import math

import pytest

from pellucid_lab.tables.significance import critical_difference


def test_the_critical_difference_is_the_one_of_the_tables() -> None:
    """Demšar (2006), table 5: q for 2 and 10 methods at 5%, here over 30 problems."""
    for k, q in ((2, 1.960), (5, 2.728), (10, 3.164)):
        assert critical_difference(k, 30) == pytest.approx(q * math.sqrt(k * (k + 1) / 180), rel=1e-3)
