"""Draws in parts of a space: closed forms, candidates that have the choice they should, and chances that make sense."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import Trial
from scipy.stats import norm

from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.parts import best_rows, chance_of, gain_of_tuning, inside_branch
from pellucid.models import GaussianProcess
from pellucid.models.draws import joint_losses
from pellucid.space.branches import branches, everywhere
from pellucid.study.targets import Target
from pellucid.study.view import StudyView


def models(trial: Trial) -> float:
    if trial.suggest_categorical("model", ["linear", "kernel"]) == "linear":
        return 1.0 + trial.suggest_float("alpha", 0, 1)
    gamma, width = trial.suggest_float("gamma", 0, 1), trial.suggest_float("width", 0, 1)
    return 1.5 + (gamma - 0.5) ** 2 + width * (trial.suggest_categorical("shape", ["round", "flat"]) == "flat")


@pytest.fixture(scope="module")
def view() -> StudyView:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(models, n_trials=40)
    return StudyView.of(study, "test")


def test_draws_have_the_mean_and_sd_of_the_posterior(view: StudyView) -> None:
    gp = Beliefs(view).model(view.objective).gp
    Z = everywhere(view.data.space, 5)
    draws = joint_losses((gp,), Z)
    # The median of a draw is exact under any warp; 384 draws leave an error of about 0.07 standard deviations.
    median, low = (gp.losses(gp.latent(Z)[0] + norm.ppf(p) * gp.latent(Z)[1]) for p in (0.5, 0.16))
    assert np.all(np.abs(np.median(draws, axis=0) - median) <= 0.3 * (median - low) + 1e-9)
    assert np.array_equal(draws, joint_losses((gp,), Z))


def test_the_chance_of_two_points_is_that_of_their_difference() -> None:
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal([0.0, 0.5], [[1.0, 0.6], [0.6, 1.0]], size=20_000)
    chance = chance_of(draws, np.array([False, True]), np.array([True, False]))
    assert chance.probability == pytest.approx(norm.cdf(-0.5 / np.sqrt(0.8)), abs=0.01)
    assert chance.gain == pytest.approx((draws[:, 0] - draws[:, 1]).max())
    never = chance_of(np.array([[0.0, 9.0]] * 98), np.array([False, True]), np.array([True, False]))
    assert (never.probability, never.gain) == (0.01, 0.0)


def test_branches_know_their_own_parameters_and_their_trials(view: StudyView) -> None:
    space = view.data.space
    found = {(space.names[b.column], b.code): b for b in branches(space, view.data.X)}
    assert [found["model", code].n_own for code in (0, 1)] == [1, 3]
    assert [found["shape", code].n_own for code in (0, 1)] == [0, 0]
    tried = [sum(trial.params["model"] == choice for trial in view.trials) for choice in ("linear", "kernel")]
    assert [found["model", code].n_trials for code in (0, 1)] == tried


def test_candidates_inside_a_branch_have_its_choice_and_vary_its_parameters(view: StudyView) -> None:
    gp, space = Beliefs(view).model(view.objective).gp, view.data.space
    for branch in branches(space, view.data.X):
        Z = inside_branch(gp, view.data, branch, 16)
        active = space.active(Z)
        assert branch.holds(space, Z, active).all()
        assert np.array_equal(space.canonical(Z), Z)
        if branch.n_own:
            assert (Z[:16][:, active[0]].std(axis=0) > 0.05).sum() >= branch.n_own - 1


def test_the_best_rows_differ_and_begin_with_the_recommended_one(view: StudyView) -> None:
    gp = Beliefs(view).model(view.objective).gp
    rows = best_rows(gp, view.data, 5)
    assert np.array_equal(rows[0], view.data.X[np.argmin(gp.latent_at_observed())])
    gaps = np.abs(rows[:, None] - rows[None]).max(axis=2)
    assert gaps[~np.eye(len(rows), dtype=bool)].min() > 0.05
    assert len(best_rows(gp, view.data, 5, np.zeros(40, dtype=bool))) == 0


def test_the_gain_of_tuning_does_not_shrink_when_a_search_converges() -> None:
    def repeats(trial: Trial) -> float:
        trial.suggest_float("x", 0, 1)
        return float(10 - trial.number) if trial.number < 10 else 1.0

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(repeats, n_trials=60)
    assert gain_of_tuning(StudyView.of(study, "test").data) == pytest.approx(4.5)


def test_many_parameters_are_judged_by_the_fitted_model_alone() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: sum(trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(61)), n_trials=6)
    data = StudyView.of(study, "test").data
    gp = GaussianProcess().fit(data.X, data.losses)
    assert Model(Target("objective"), data, gp).drawn == (gp,)
