"""Values that are not finite numbers, constant or extreme: the study goes on, and the model proposes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from optuna.trial import TrialState
from tests.helpers import (
    COMPLETE,
    FAIL,
    assert_rebuilt_exactly,
    assert_went_on,
    bowl,
    distinct,
    kinds,
    last_receipt,
    new_study,
    replacing,
)

import pellucid
from pellucid.numerics import expand_integers

NAN, INF = math.nan, math.inf


# ------------------------------------------------------------------------- values that are not numbers


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize(
    ("value", "state"),
    [(NAN, FAIL), (None, FAIL), ("no number", FAIL), (INF, COMPLETE), (-INF, COMPLETE)],
    ids=repr,
)
def test_a_study_goes_on_after_values_that_are_not_finite_numbers(
    value: Any, state: TrialState, direction: str
) -> None:
    bad = dict.fromkeys((1, 4, 7, 8), value)
    study = new_study(direction=direction)
    study.optimize(replacing(bad), n_trials=12)
    assert_went_on(study, [state if i in bad else COMPLETE for i in range(12)], n_model=6)
    assert_rebuilt_exactly(study, 6)


def test_a_study_goes_on_when_every_kind_of_bad_value_is_mixed_in() -> None:
    study = new_study()
    study.optimize(replacing({0: NAN, 3: INF, 5: None, 6: -INF, 8: INF}), n_trials=14)
    assert_went_on(study, [FAIL if i in (0, 5) else COMPLETE for i in range(14)], n_model=8)
    assert_rebuilt_exactly(study, 8)


@pytest.mark.parametrize("value", [INF, -INF])
def test_a_study_goes_on_when_every_value_is_infinite(value: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * 0 + value, n_trials=8)
    assert_went_on(study, [COMPLETE] * 8, n_model=4)


def test_failed_trials_are_not_repeated_and_are_named_in_the_receipt() -> None:
    study = new_study()
    study.optimize(replacing({4: NAN, 6: None}), n_trials=10)
    assert expand_integers(last_receipt(study).believed) == [4, 6]
    assert distinct(study.trials) == 10


# ------------------------------------------------------------------ objectives with little information


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5e8, 1e-300, 1e300])
def test_a_study_goes_on_when_the_objective_is_constant(value: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * 0 + value, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert distinct(study.trials) == 10
    assert_rebuilt_exactly(study, 6)


@pytest.mark.parametrize("scale", [1e300, 1e-300, -1e300, 5e-324, 1e150, 1e-150])
def test_a_study_goes_on_with_huge_and_tiny_values(scale: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * scale, n_trials=12)
    assert_went_on(study, [COMPLETE] * 12, n_model=8)
    assert_rebuilt_exactly(study, 8)


def test_a_study_goes_on_when_values_span_every_magnitude() -> None:
    values = [1e300, 1e-300, -1e300, 0.0, 1.0, 1.7e308, -1.7e308, 5e-324, 1e10]
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * 0 + values[trial.number % len(values)], n_trials=18)
    assert_went_on(study, [COMPLETE] * 18, n_model=14)
    assert_rebuilt_exactly(study, 14)


def test_the_scale_of_the_objective_does_not_change_the_first_proposals() -> None:
    """A power of two scales every number exactly; the model may still round differently, hence 1e-6."""
    plain, scaled = new_study(), new_study()
    plain.optimize(bowl, n_trials=6)
    scaled.optimize(lambda trial: bowl(trial) * 2.0**60, n_trials=6)
    for a, b in zip(plain.trials, scaled.trials, strict=True):
        assert b.params == pytest.approx(a.params, abs=1e-6)


def test_a_study_of_one_trial_has_a_startup_receipt_and_a_recommendation() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=1)
    assert_went_on(study, [COMPLETE], n_model=0)
    assert kinds(study) == {0: "startup"}
    recommendation = pellucid.recommend(study)
    assert (recommendation.trial, recommendation.params, recommendation.n_trials) == (0, study.trials[0].params, 1)
    assert math.isfinite(recommendation.expected)


@pytest.mark.parametrize("n_startup_trials", [0, 1])
def test_one_finished_trial_is_enough_for_the_model(n_startup_trials: int) -> None:
    study = new_study(n_startup_trials=n_startup_trials)
    study.optimize(bowl, n_trials=3)
    assert_went_on(study, [COMPLETE] * 3, n_model=2)
    assert_rebuilt_exactly(study, 2)
