"""Answers about studies with constraints: none names an infeasible configuration as the one to use."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import Trial, create_trial

import pellucid
from pellucid.beliefs import Beliefs
from pellucid.beliefs.feasibility import chance_of_feasible, feasible_losses
from pellucid.study import goals
from pellucid.study.view import StudyView

SPACE = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}


def limited(trial: Trial) -> float:
    """Best at (1, 1), which needs too much memory; only `x` takes time."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.set_constraint("memory", 100.0 * (x + y - 1.2))
    trial.set_constraint("time", x - 0.9)
    return -((1.0 - x) ** 2) - (1.0 - y) ** 2


@pytest.fixture(scope="module")
def study() -> Study:
    study = optuna.create_study(direction="maximize", sampler=pellucid.BayesianSampler(seed=1))
    study.set_metric_names(["accuracy"])
    study.optimize(limited, n_trials=30)
    return study


@pytest.fixture(scope="module")
def never() -> Study:
    """No trial is feasible; trial 3 is the closest."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    excess = [9.0, 5.0, 7.0, 0.25, *np.linspace(3.0, 8.0, 21)]
    for i, value in enumerate(excess):
        trial = {"params": {"x": (i * 0.37) % 1.0, "y": (i * 0.61) % 1.0}, "distributions": SPACE}
        study.add_trial(create_trial(**trial, value=float(i), system_attrs={"constraints:memory": float(value)}))
    return study


def feasible(study: Study, number: int) -> bool:
    reported = study.trials[number].constraints.values()
    return bool(reported) and all(value <= 0.0 for value in reported)


def test_the_recommendation_is_feasible_and_says_how_surely(study: Study) -> None:
    use = pellucid.recommend(study)
    assert feasible(study, use.trial)
    assert use.feasible is not None
    assert use.feasible >= 0.9
    assert "feasible with a chance of" in str(use)
    assert json.loads(json.dumps(use.to_dict()))["feasible"] == use.feasible
    with pytest.raises(ValueError, match="`feasible` is a probability, from 0 to 1, but got 90"):
        pellucid.recommend(study, feasible=90)


def test_a_demand_that_no_trial_meets_gets_the_surest_one(study: Study) -> None:
    use = pellucid.recommend(study, feasible=1.0)
    assert feasible(study, use.trial)
    assert use.feasible is not None
    assert use.feasible == 1.0 or any("this one comes closest" in note for note in use.notes)


def test_the_history_knows_which_trials_were_feasible(study: Study) -> None:
    history = pellucid.history(study)
    assert history.feasible == tuple(feasible(study, trial.number) for trial in study.trials)
    assert history.best_trial == study.best_trial.number
    assert history.best[-1] == study.best_value
    assert "The best feasible accuracy is" in history.sentence
    assert f"{sum(history.feasible)} of 30 trials were feasible." in history.sentence
    assert "not feasible" in {trace.name for trace in history.plot().data}


def test_the_history_of_a_constraint_has_what_was_predicted_of_it(study: Study) -> None:
    history = pellucid.history(study, objective="memory")
    assert history.values == tuple(trial.constraints["memory"] for trial in study.trials)
    predicted = {row.trial: (row.predicted, row.sd) for row in pellucid.calibration(study, objective="memory").rows}
    assert predicted == {n: (history.expected[n], history.sd[n]) for n in predicted}


def test_a_constraint_cannot_take_the_place_of_the_objective_of_a_rebuilt_proposal(study: Study) -> None:
    with pytest.raises(ValueError, match=r"'accuracy'.*but got the constraint 'memory'.*constraints"):
        pellucid.rebuild(study, 29, objective="memory")
    assert pellucid.explain_proposal(study, 29, objective="memory").objective == "memory"


def test_every_parameter_of_a_constraint_is_named(study: Study) -> None:
    time = {share.name: share.verdict for share in pellucid.importance(study, objective="time").parameters}
    assert time == {"x": "matters", "y": "no effect"}
    profile = pellucid.profile_effect(study, "x", objective="time")
    assert profile.best == 0
    curve = pellucid.partial_dependence(study, "x", objective="time")
    np.testing.assert_allclose(curve.mean, np.array(curve.values[0], dtype=float) - 0.9, atol=0.05)
    assert not any("feasible counts" in note for note in profile.notes)


def test_a_constraint_with_the_name_of_the_objective_is_not_taken_for_it() -> None:
    study = optuna.create_study(direction="maximize")
    study.set_metric_names(["size"])
    for i in range(12):
        trial = {"params": {"x": i / 12, "y": (i * 0.61) % 1.0}, "distributions": SPACE}
        study.add_trial(create_trial(**trial, value=100.0 + i, system_attrs={"constraints:size": i / 12 - 0.5}))
    beliefs = Beliefs(StudyView.whole(study))
    chance = chance_of_feasible(beliefs.constraint_models(beliefs.view.data.space), np.array([[0.1, 0.5], [0.9, 0.5]]))
    assert chance[0] > 0.9
    assert chance[1] < 0.1


def test_a_profile_shows_what_can_be_reached_by_feasible_configurations(study: Study) -> None:
    """The best at x is the largest y with x + y <= 1.2; nothing is feasible above x = 0.9."""
    profile = pellucid.profile_effect(study, "x")
    x = np.array(profile.values, dtype=float)
    y = np.minimum(1.0, 1.2 - x)
    truth = -((1.0 - x) ** 2) - (1.0 - y) ** 2
    inside = (x > 0.3) & (x < 0.85)
    np.testing.assert_allclose(np.array(profile.mean)[inside], truth[inside], atol=0.08)
    covered = (np.array(profile.low) <= truth + 0.01) & (truth - 0.01 <= np.array(profile.high))
    assert covered[inside].mean() >= 0.9
    assert 0.4 <= x[profile.best] <= 0.8
    assert np.array(profile.mean)[x > 0.95].max() < -0.5
    assert any("Only what is feasible counts" in note for note in profile.notes)


def test_predictions_of_a_constraint_are_checked_like_those_of_the_objective(study: Study) -> None:
    found = pellucid.calibration(study, objective="memory")
    assert {row.trial for row in found.rows} == set(range(10, 30))
    memory = {trial.number: trial.constraints["memory"] for trial in study.trials}
    assert all(row.observed == memory[row.trial] for row in found.rows)


def test_infeasible_trials_reach_no_goal(study: Study) -> None:
    sample = goals.best(0.2).reached(np.array([5.0, math.nan, 3.0, 1.0, 2.0]), np.zeros(5, dtype=bool), -1.0)
    assert sample.tolist() == [True, False, False, False, False]
    modest = goals.such_that(lambda value: not value > 2.0)
    assert modest.reached(np.array([math.nan, 1.0]), np.zeros(2, dtype=bool), 1.0).tolist() == [False, True]
    top = pellucid.hsic_importance(study, goals.above(-1e9), source="all")
    assert top.n_goal == sum(feasible(study, trial.number) for trial in study.trials)


def test_a_study_without_a_feasible_trial_says_so_and_which_is_closest(never: Study) -> None:
    closest = "None of the 25 trials is feasible. The closest is trial 3: `memory` is 0.25 above its limit."
    for ask in (pellucid.recommend, pellucid.parameter_ranges):
        with pytest.raises(ValueError) as error:
            ask(never)
        assert closest in str(error.value)
    assert closest in pellucid.history(never).sentence
    verdict = pellucid.stopping_verdict(never)
    assert not verdict.stop
    assert verdict.best_value is None
    assert closest in str(verdict)
    assert pellucid.history(never).best_trial is None


def test_draws_of_what_can_be_reached_leave_out_what_is_not_feasible(study: Study) -> None:
    beliefs = Beliefs(StudyView.of(study, "test"))
    constraints = beliefs.constraint_models(beliefs.view.data.space)
    Z = np.random.default_rng(0).random((40, 2))
    chance = chance_of_feasible(constraints, Z)
    draws = feasible_losses(constraints, Z, np.zeros((384, 40)))
    share = np.isfinite(draws).mean(axis=0)
    assert (np.abs(share - chance) <= 4.5 * np.sqrt(chance * (1 - chance) / 384) + 0.02).all()


def test_a_stop_counts_only_what_could_be_feasible(study: Study) -> None:
    """Most of the space promises more, and is not feasible: without constraints the bound would be far larger."""
    verdict = pellucid.stopping_verdict(study, regret_below=0.05)
    assert verdict.bound is not None
    assert verdict.best_value == study.best_value
    x = np.linspace(0.0, 1.0, 501)
    values = -((1.0 - x[:, None]) ** 2) - (1.0 - x[None]) ** 2
    reachable = values[(x[:, None] + x[None] <= 1.2) & (x[:, None] <= 0.9)].max()
    assert reachable - study.best_value - 1e-3 <= verdict.bound < 0.5 * (values.max() - study.best_value)


_CONSTRAINT = st.one_of(
    st.floats(-5, 5), st.sampled_from([0.0, 1.0, math.inf, -math.inf, 1e-12, -1e-12]), st.none(), st.just("odd")
)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(st.floats(-1e3, 1e3), _CONSTRAINT, _CONSTRAINT), min_size=1, max_size=25),
    maximise=st.booleans(),
    listed=st.booleans(),
)
def test_no_answer_names_an_infeasible_configuration(rows: list[tuple[Any, ...]], maximise: bool, listed: bool) -> None:
    study = optuna.create_study(direction="maximize" if maximise else "minimize")
    space = {**SPACE, "kind": CategoricalDistribution(["a", "b"])}
    fine = []
    for i, (value, a, b) in enumerate(rows):
        known = [v for v in (a, b) if v is not None or not listed]
        given = {"constraints": known} if listed else {"constraints:a": a, "constraints:b": b}
        fine.append(bool(known) and all(isinstance(v, float) and v <= 0.0 for v in known))
        params = {"x": (i * 0.37) % 1.0, "y": (i * 0.61) % 1.0, "kind": "ab"[i % 2]}
        study.add_trial(create_trial(params=params, distributions=space, value=value, system_attrs=given))
    constrained = not listed or any(v is not None for row in rows for v in row[1:])
    usable = {i for i, ok in enumerate(fine) if ok} if constrained else set(range(len(rows)))
    history = pellucid.history(study)
    assert (history.best_trial in usable) if usable else history.best_trial is None
    verdict = pellucid.stopping_verdict(study, min_trials=2)
    assert verdict.best_value in ([rows[i][0] for i in usable] or [None])
    if usable:
        assert pellucid.recommend(study).trial in usable
    else:
        with pytest.raises(ValueError, match="feasible"):
            pellucid.recommend(study)
