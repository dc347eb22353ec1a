"""What is wished of a compromise, and what its draws are about, with unusual input."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.study import Study

import pellucid
from pellucid.answers.fronts.wishes import limits_of, weights_of
from pellucid.beliefs import Beliefs
from pellucid.beliefs.feasibility import subject
from pellucid.models.draws import joint_latent
from pellucid.study.view import StudyView


def two_values(second: float) -> Study:
    """A study in which the second value is always the same."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) ** 2, second), n_trials=12)
    return study


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e308])
def test_an_objective_that_is_always_infinite_does_not_count_in_a_compromise(value: float) -> None:
    study = two_values(value)
    best = study.trials[int(np.argmin([trial.values[0] for trial in study.trials]))].number
    assert pellucid.recommend(study, prefer={0: 1, 1: 1}).trial == best
    # No trial keeps the limit, or every trial does: either way the other objective decides.
    assert pellucid.recommend(study, limits={1: "<= 3"}).trial == best
    assert pellucid.recommend(study, limits={0: "<= 0.5"}).trial == best


def test_numbers_of_numpy_are_numbers() -> None:
    view = StudyView.whole(two_values(1.0))
    assert view.target(np.int64(1)).column == 1
    prefer = {np.int64(0): np.int32(3), np.int16(1): np.float32(1.0)}
    np.testing.assert_allclose(weights_of(view, prefer), [0.75, 0.25])
    assert limits_of(view, {np.int64(0): "<= 1"})[0].index == 0
    for wrong in (np.True_, np.float64(1.0), np.int64(2)):
        with pytest.raises(ValueError, match="must be one of the objectives"):
            view.target(wrong)  # type: ignore[arg-type]


def test_draws_of_objectives_and_constraints_are_independent_of_each_other() -> None:
    """Also if a constraint is called as an objective is, and all of them return the same values."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0))

    def same(trial: optuna.Trial) -> tuple[float, float]:
        value = math.sin(9.0 * trial.suggest_float("x", 0, 1))
        trial.set_constraint("objective 0", value)
        return value, value

    study.optimize(same, n_trials=12)
    view = StudyView.whole(study)
    X = np.array([[0.31]])
    beliefs = Beliefs(view)
    models = [model.plausible for model in beliefs.objective_models(view.data)]
    limits = beliefs.constraint_models(view.data.space)[0]
    means = [[gp.latent_mean(X)[0] for gp in family] for family in (*models, [limit.gp for limit in limits[1:]])]
    assert all(
        a != b for i, family in enumerate(means) for other in means[:i] for a, b in zip(family, other, strict=True)
    )
    labels = [("objective 0",), ("objective 1",), subject(limits[0])]
    draws = [joint_latent(models[0][:1], X, label).ravel() for label in labels]
    assert np.abs(np.corrcoef(draws) - np.eye(3)).max() < 0.25
