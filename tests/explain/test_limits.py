"""Bounds of ranges beyond which there may be nothing."""

from __future__ import annotations

import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.answers.ranges.limits import end_of_counts, end_of_shares


@pytest.mark.parametrize(
    ("distribution", "lower"),
    [
        pytest.param(IntDistribution(1, 20), True, id="min_samples_leaf"),
        pytest.param(IntDistribution(0, 20), True, id="from 0"),
        pytest.param(IntDistribution(1, 64, log=True), True, id="on a log scale"),
        pytest.param(IntDistribution(2, 20), False, id="from 2"),
        pytest.param(IntDistribution(-5, 1), False, id="of either sign"),
        pytest.param(FloatDistribution(0, 20), False, id="no whole number"),
        pytest.param(CategoricalDistribution([0, 1]), False, id="choices"),
    ],
)
def test_counts_end_at_0_or_1_from_below(distribution: BaseDistribution, lower: bool) -> None:
    assert end_of_counts(distribution, "lower") is lower
    assert not end_of_counts(distribution, "upper")


@pytest.mark.parametrize(
    ("distribution", "lower", "upper"),
    [
        pytest.param(FloatDistribution(0.0, 1.0), True, True, id="a share"),
        pytest.param(FloatDistribution(0.0, 0.5), True, False, id="dropout"),
        pytest.param(FloatDistribution(0.5, 1.0), False, True, id="subsample"),
        pytest.param(FloatDistribution(0.0, 1.0, step=0.25), True, True, id="a share in steps"),
        pytest.param(FloatDistribution(-1.0, 1.0), False, False, id="either sign"),
        pytest.param(FloatDistribution(0.1, 2.0), False, False, id="neither bound"),
        pytest.param(FloatDistribution(1e-5, 1.0, log=True), False, True, id="a share on a logarithmic scale"),
        pytest.param(IntDistribution(0, 1), False, False, id="whole numbers"),
    ],
)
def test_shares_may_end_at_0_and_1(distribution: BaseDistribution, lower: bool, upper: bool) -> None:
    assert end_of_shares(distribution, "lower") is lower
    assert end_of_shares(distribution, "upper") is upper
