"""Deterministic objectives, and values with a declared variance."""

from __future__ import annotations

import math
from typing import Any

import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import Trial, create_trial
from tests.helpers import COMPLETE, RUNNING, assert_rebuilt_exactly, assert_went_on, bowl, distinct, new_study

import pellucid
from pellucid.study.observations import NOISE_ATTRIBUTE

NAN, INF = math.nan, math.inf


# ---------------------------------------------------------------------- deterministic and noisy values


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n_startup_trials", [1, 4, 10])
def test_twelve_trials_cover_the_twelve_configurations_of_a_deterministic_objective(
    n_startup_trials: int, seed: int
) -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_int("n", 0, 3) ** 2 + trial.suggest_categorical("c", [0.0, 0.3, 0.1])

    study = new_study(deterministic_objective=True, n_startup_trials=n_startup_trials, seed=seed)
    study.optimize(objective, n_trials=12)
    assert_went_on(study, [COMPLETE] * 12, n_model=2)
    assert distinct(study.trials) == 12


def test_a_deterministic_study_goes_on_when_every_configuration_is_known() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_int("n", 0, 3) ** 2 + trial.suggest_categorical("c", [0.0, 0.3, 0.1])

    study = new_study(deterministic_objective=True)
    study.optimize(objective, n_trials=18)
    assert_went_on(study, [COMPLETE] * 18, n_model=15)
    assert distinct(study.trials) == 12
    assert_rebuilt_exactly(study, 15)


def lucky_point(noise_variance: Any) -> Study:
    """A parabola on a grid, and three trials far from its minimum with lucky, much lower values: a single one would be
    taken for noise."""
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1)}
    study = new_study()
    for i in range(13):
        x = i / 12
        lucky = i >= 10
        attributes = {NOISE_ATTRIBUTE: noise_variance} if lucky and noise_variance is not None else {}
        value = -1.0 if lucky else (x - 0.25) ** 2
        study.add_trial(create_trial(params={"x": x}, distributions=space, value=value, user_attrs=attributes))
    return study


def test_a_value_with_a_huge_declared_variance_is_not_trusted() -> None:
    recommendation = pellucid.recommend(lucky_point(1e6))
    assert recommendation.trial == 3
    assert recommendation.expected == pytest.approx(0.0, abs=0.02)


def test_the_same_value_without_a_declared_variance_is_trusted() -> None:
    assert pellucid.recommend(lucky_point(None)).trial in (10, 11, 12)


@pytest.mark.parametrize("nonsense", ["large", -1.0, NAN, INF, True, [1.0], {"a": 1}], ids=repr)
def test_a_declared_variance_that_makes_no_sense_is_ignored(nonsense: Any) -> None:
    assert pellucid.recommend(lucky_point(nonsense)) == pellucid.recommend(lucky_point(None))


def test_a_declared_variance_reaches_the_sampler() -> None:
    trusting, doubting = lucky_point(None), lucky_point(1e6)
    space = {"x": FloatDistribution(0, 1)}
    near, away = trusting.ask(space), doubting.ask(space)
    assert abs(near.params["x"] - 11 / 12) < 0.1
    assert abs(away.params["x"] - 11 / 12) > 0.1
    for study in (trusting, doubting):
        assert_went_on(study, [COMPLETE] * 13 + [RUNNING], n_model=1)
        assert_rebuilt_exactly(study, 1)


def test_a_study_goes_on_with_declared_variances_of_every_magnitude() -> None:
    variances = [0.0, 1e-300, 1e300, 1e-12, 1.0, 1e12]

    def objective(trial: Trial) -> float:
        trial.set_user_attr(NOISE_ATTRIBUTE, variances[trial.number % len(variances)])
        return bowl(trial)

    study = new_study()
    study.optimize(objective, n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=10)
    assert_rebuilt_exactly(study, 10)
