"""Encoded observations: what models see of them."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from pellucid.study.arrays import Arrays, encoded_rows
from pellucid.study.view import StudyView


@pytest.fixture(scope="module")
def data() -> Arrays:
    study = optuna.create_study()
    for i, value in enumerate((0.0, 1.0, math.inf, 5.0, -math.inf)):
        study.add_trial(create_trial(params={"x": 0.2 * i}, distributions={"x": FloatDistribution(0, 1)}, value=value))
    return StudyView.whole(study).data


def test_a_ceiling_holds_for_infinite_losses_and_for_any_selection(data: Arrays) -> None:
    np.testing.assert_array_equal(data.below(2.0).losses, [0.0, 1.0, 2.0, 2.0, 0.0])
    rows = np.array([0, 1, 2])
    np.testing.assert_array_equal(data.below(2.0).select(rows).losses, data.select(rows).below(2.0).losses)


def test_a_configuration_that_does_not_fit_is_a_row_of_nan(data: Arrays) -> None:
    np.testing.assert_array_equal(encoded_rows(data.space, [{"x": 0.3}, {"x": 7.0}]), [[0.3], [np.nan]])
    assert encoded_rows(data.space, []).shape == (0, 1)
