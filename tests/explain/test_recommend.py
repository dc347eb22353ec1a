"""Which trial is recommended, and with which numbers, for any values."""

from __future__ import annotations

import math

import optuna
import pytest
from optuna.trial import Trial
from tests.helpers import COMPLETE, PRUNED, RECEIPT_KEY, assert_went_on, bowl, new_study, replacing
from tests.study.receipts import with_receipts

import pellucid

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(("direction", "worst"), [("minimize", INF), ("maximize", -INF)])
def test_a_trial_with_the_worst_possible_value_is_not_recommended(direction: str, worst: float) -> None:
    study = new_study(direction=direction)
    study.optimize(replacing({2: worst, 5: worst}), n_trials=9)
    assert pellucid.recommend(study).trial not in (2, 5)


@pytest.mark.parametrize("value", [INF, -INF])
def test_a_recommendation_reports_the_value_that_the_trial_returned(value: float) -> None:
    study = new_study()
    study.optimize(replacing({2: value, 5: value}), n_trials=9)
    recommendation = pellucid.recommend(study)
    assert recommendation.observed == study.trials[recommendation.trial].value


def test_a_pruned_trial_is_never_recommended() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number in (3, 5):
            trial.report(-100.0, step=1)
            raise optuna.TrialPruned
        return value

    study = new_study()
    study.optimize(objective, n_trials=9)
    assert_went_on(study, [PRUNED if i in (3, 5) else COMPLETE for i in range(9)], n_model=3)
    assert pellucid.recommend(study).trial not in (3, 5)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e150, 1e-150])
def test_huge_and_tiny_values_have_a_finite_recommendation(scale: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * scale, n_trials=8)
    recommendation = pellucid.recommend(study)
    assert all(math.isfinite(v) for v in (recommendation.expected, recommendation.low, recommendation.high))
    assert recommendation.low <= recommendation.expected <= recommendation.high


def test_receipts_of_other_tools_and_versions_do_not_change_the_recommendation() -> None:
    expected = pellucid.recommend(with_receipts({}))
    damaged = with_receipts({i: {f"{RECEIPT_KEY}:0": '{"version": 2000}'} for i in range(8)})
    assert pellucid.recommend(damaged) == expected


def test_there_is_no_recommendation_in_an_empty_study() -> None:
    with pytest.raises(ValueError, match=r"at least one finished trial.*0 trials"):
        pellucid.recommend(new_study())


def test_there_is_no_recommendation_when_every_trial_failed() -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * NAN, n_trials=4)
    with pytest.raises(ValueError, match=r"at least one finished trial.*4 trials"):
        pellucid.recommend(study)
