"""Failed and pruned trials: the study goes on, and the model proposes."""

from __future__ import annotations

import math

import optuna
import pytest
from optuna.trial import Trial
from tests.helpers import (
    COMPLETE,
    FAIL,
    PRUNED,
    assert_rebuilt_exactly,
    assert_went_on,
    bowl,
    distinct,
    kinds,
    new_study,
)

NAN, INF = math.nan, math.inf


# ---------------------------------------------------------------------------- failed and pruned trials


def test_a_study_goes_on_after_exceptions_that_are_caught() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number in (0, 4, 5):
            raise RuntimeError("out of memory")
        return value

    study = new_study()
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    assert_went_on(study, [FAIL if i in (0, 4, 5) else COMPLETE for i in range(12)], n_model=6)
    assert_rebuilt_exactly(study, 6)


def test_a_study_goes_on_after_a_trial_failed_before_it_asked_for_parameters() -> None:
    def objective(trial: Trial) -> float:
        if trial.number in (2, 6):
            raise RuntimeError("no data")
        return bowl(trial)

    study = new_study()
    study.optimize(objective, n_trials=10, catch=(RuntimeError,))
    assert_went_on(study, [FAIL if i in (2, 6) else COMPLETE for i in range(10)], n_model=3)


def test_a_study_goes_on_when_every_trial_fails() -> None:
    def objective(trial: Trial) -> float:
        bowl(trial)
        raise RuntimeError("always")

    study = new_study()
    study.optimize(objective, n_trials=8, catch=(RuntimeError,))
    assert_went_on(study, [FAIL] * 8, n_model=0)
    assert distinct(study.trials) == 8
    assert set(kinds(study).values()) == {"startup"}


def test_the_model_takes_over_after_a_study_that_only_failed() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number < 6:
            raise RuntimeError("not yet")
        return value

    study = new_study()
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    assert_went_on(study, [FAIL] * 6 + [COMPLETE] * 6, n_model=3)
    assert_rebuilt_exactly(study, 3)


def test_a_study_goes_on_when_every_trial_is_pruned_without_a_report() -> None:
    def objective(trial: Trial) -> float:
        bowl(trial)
        raise optuna.TrialPruned

    study = new_study()
    study.optimize(objective, n_trials=8)
    assert_went_on(study, [PRUNED] * 8, n_model=0)
    assert distinct(study.trials) == 8
    assert set(kinds(study).values()) == {"startup"}


def test_a_study_goes_on_when_every_trial_is_pruned_after_a_report() -> None:
    def objective(trial: Trial) -> float:
        trial.report(bowl(trial), step=1)
        raise optuna.TrialPruned

    study = new_study()
    study.optimize(objective, n_trials=10)
    assert_went_on(study, [PRUNED] * 10, n_model=6)
    assert distinct(study.trials) == 10
    assert_rebuilt_exactly(study, 6)


@pytest.mark.parametrize("reported", [NAN, INF, -INF])
def test_a_study_goes_on_after_a_pruned_trial_reported_nan_or_infinity(reported: float) -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number % 3 == 0:
            trial.report(reported, step=1)
            raise optuna.TrialPruned
        return value

    study = new_study()
    study.optimize(objective, n_trials=12)
    assert_went_on(study, [PRUNED if i % 3 == 0 else COMPLETE for i in range(12)], n_model=6)
    assert_rebuilt_exactly(study, 6)
