"""Joint draws of several objectives: as the models say, independent of each other, infinite where infeasible."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.trial import Trial

from pellucid.beliefs import Beliefs
from pellucid.beliefs.front_draws import front_draws
from pellucid.pareto import reference_of, reference_point
from pellucid.study.view import StudyView


@pytest.fixture(scope="module")
def view() -> StudyView:
    def objective(trial: Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("memory", x - 0.7)
        return x + y**2, (x - 1.0) ** 2

    study = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=14)
    return StudyView.whole(study)


def test_values_are_losses_of_every_objective(view: StudyView) -> None:
    returned = np.array([trial.values for trial in view.trials])
    np.testing.assert_allclose(view.data.observations.values, returned * [1.0, -1.0])


def test_draws_follow_each_model_and_are_independent(view: StudyView) -> None:
    Z = np.array([[0.1, 0.9], [0.4, 0.05]])
    F = front_draws(Beliefs(view), view.data, Z).kept
    assert F.shape[1:] == (2, 2)
    for j, model in enumerate(Beliefs(view).objective_models(view.data)):
        mean, sd = model.gp.predict(Z)
        assert (np.abs(F[:, :, j].mean(axis=0) - mean) < 3.0 * sd + 0.02).all()
    for i in range(2):
        assert abs(np.corrcoef(F[:, i, 0], F[:, i, 1])[0, 1]) < 0.2


def test_infeasible_draws_are_infinite_in_every_objective(view: StudyView) -> None:
    F = front_draws(Beliefs(view), view.data, np.array([[0.95, 0.5], [0.1, 0.5]])).kept
    assert np.isinf(F[:, 0]).all(axis=1).mean() > 0.9
    assert np.isfinite(F[:, 1]).all()
    assert (np.isinf(F[:, :, 0]) == np.isinf(F[:, :, 1])).all()


def test_the_reference_stays_where_feasible_trials_are_only_in_one_corner() -> None:
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.random((12, 2)), [0.9, 0.05] + 0.01 * rng.random((80, 2))])
    corner = np.arange(len(Y)) >= 12
    np.testing.assert_allclose(reference_of(Y, np.ones(len(Y), dtype=bool)), reference_point(Y))
    assert reference_point(Y[corner])[1] < 0.1
    assert (reference_of(Y, corner) > Y[:10].max(axis=0)).all(), "as at the start"
    wild = np.vstack([Y, [[1e9, 1e9]]])
    assert (reference_of(wild, np.append(corner, False)) < 2.0).all(), "one bad trial does not move it"
