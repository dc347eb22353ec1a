"""Which bounds of ranges look like natural limits."""

from __future__ import annotations

import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.explain.limits import natural_limit


@pytest.mark.parametrize(
    ("distribution", "lower", "upper"),
    [
        pytest.param(FloatDistribution(0.0, 1.0), True, True, id="a share"),
        pytest.param(FloatDistribution(0.0, 0.5), True, False, id="dropout"),
        pytest.param(FloatDistribution(0.5, 1.0), False, True, id="subsample"),
        pytest.param(FloatDistribution(0.0, 1.0, step=0.25), True, True, id="a share in steps"),
        pytest.param(FloatDistribution(-1.0, 1.0), False, False, id="either sign"),
        pytest.param(FloatDistribution(0.1, 2.0), False, False, id="neither bound"),
        pytest.param(FloatDistribution(1e-5, 1.0, log=True), False, False, id="a learning rate"),
        pytest.param(IntDistribution(1, 20), True, False, id="min_samples_leaf"),
        pytest.param(IntDistribution(0, 20), True, False, id="a count from 0"),
        pytest.param(IntDistribution(1, 64, log=True), True, False, id="a count on a log scale"),
        pytest.param(IntDistribution(2, 20), False, False, id="a count from 2"),
        pytest.param(IntDistribution(-5, 1), False, False, id="whole numbers of either sign"),
        pytest.param(CategoricalDistribution([0, 1]), False, False, id="choices"),
    ],
)
def test_shares_and_counts_have_natural_limits(distribution: BaseDistribution, lower: bool, upper: bool) -> None:
    assert natural_limit(distribution, "lower") is lower
    assert natural_limit(distribution, "upper") is upper
