"""Mistaken requests, and studies with failed, copied, constant or conditional trials."""

from __future__ import annotations

import json
import logging
import math
import warnings
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.explain.proposals.studies import check, run, tilted
from tests.helpers import RECEIPT_KEY, conditional

import pellucid
from pellucid.words import RecordError


def test_parameters_that_the_proposal_lacks_take_no_share() -> None:
    study = run(conditional, 30)
    explained = pellucid.desirability_paths(study, progress=False)
    shapes = set()
    for explanation in explained.explanations:
        check(explanation)
        names = {c.name for c in explanation.contributions}
        assert names == study.trials[explanation.trial].params.keys()
        shapes.add(frozenset(names))
    assert len(shapes) > 1, "the study should have proposed with and without the conditional parameters"
    assert set(explained.params) == {"lr", "depth", "booster", "drop", "skip"}


# ------------------------------------------------------------------------------------------- bad input


def test_explaining_a_startup_trial_is_refused(study: Study) -> None:
    with pytest.raises(ValueError, match="Trial 3 was sampled to cover the space, not proposed by the model"):
        pellucid.explain_proposal(study, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trial": 99}, "The study has no trial 99; its trials are 0 to 19"),
        ({"trial": -1}, "The study has no trial -1"),
        ({"trial": 10, "background": "nearby"}, "`background` is one of global, local, hybrid, but got 'nearby'"),
        ({"trial": 10, "baseline": "best"}, "`baseline` is None, a trial number, 'incumbent' or a dictionary"),
        ({"trial": 10, "baseline": 77}, "`baseline` is trial 77, but the study's trials are 0 to 19"),
        (
            {"trial": 10, "baseline": {"lr": 1.0}},
            "`baseline` names `lr`, but the study has `a`, `b`, `idle`",
        ),
        ({"trial": 10, "baseline": {"a": 7.0}}, "`baseline` lies outside the ranges"),
        ({"trial": 10, "level": 95}, "`level` must be between 0 and 0.9999, but got 95"),
    ],
)
def test_wrong_requests_are_explained(study: Study, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pellucid.explain_proposal(study, **arguments)


def test_empty_and_multi_objective_studies() -> None:
    with pytest.raises(ValueError, match="The study has no trials yet"):
        pellucid.explain_proposal(optuna.create_study(), 0)
    with pytest.raises(ValueError, match="The study has no trials yet"):
        pellucid.desirability_paths(optuna.create_study())
    with pytest.raises(ValueError, match="The study has no trials yet"):
        pellucid.explain_proposal(optuna.create_study(directions=["minimize", "maximize"]), 0)


def test_failed_running_and_nan_trials_are_explained_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def fragile(trial: Trial) -> float:
        value = tilted(trial)
        if trial.number == 8:
            raise RuntimeError("out of memory")
        return math.nan if trial.number == 9 else value

    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler)
    caplog.set_level(logging.CRITICAL)
    study.optimize(fragile, n_trials=11, catch=(RuntimeError,))
    for number in (8, 9):
        assert study.trials[number].state == TrialState.FAIL
        assert "The trial failed afterwards." in str(pellucid.explain_proposal(study, number))
    distributions = study.trials[0].distributions
    running = study.ask(distributions)
    explanation = pellucid.explain_proposal(study, running.number)
    check(explanation)
    assert "The trial is still running." in str(explanation)
    bare = optuna.create_study()
    bare.add_trials(study.trials[:8])
    for trial in study.trials[:8]:
        assert trial.values is not None
    empty = bare.ask()
    with pytest.raises(ValueError, match=f"Trial {empty.number} has no parameters yet"):
        pellucid.explain_proposal(bare, empty.number)


def test_an_enqueued_trial_is_not_what_was_proposed() -> None:
    study = run(n=8)
    study.enqueue_trial({"a": 0.9})
    study.optimize(tilted, n_trials=1)
    explanation = pellucid.explain_proposal(study, 8)
    assert "ran with other values than were proposed (`a` = 0.9" in str(explanation)
    assert explanation.contributions[0].value != 0.9


def test_copied_and_damaged_receipts(study: Study) -> None:
    copied = optuna.create_study()
    copied.add_trials(study.trials[5:12])
    with pytest.raises(ValueError, match="was written for trial 10"):
        pellucid.explain_proposal(copied, 5)
    damaged = study.trials[10]
    damaged.system_attrs[f"{RECEIPT_KEY}:0"] = "{not json"
    other = optuna.create_study()
    other.add_trials([*study.trials[:10], damaged])
    with pytest.raises(RecordError, match="damaged"):
        pellucid.explain_proposal(other, 10)
    paths = pellucid.desirability_paths(other, [9, 10], progress=False)
    assert list(paths.skipped) == [10]
    assert "1 of 2 trials could not be explained." in str(paths)


def test_a_constant_objective_and_a_single_parameter() -> None:
    def constant(trial: Trial) -> float:
        trial.suggest_float("x", 0, 1)
        return 1.0

    explanation = pellucid.explain_proposal(run(constant, 9), 8)
    check(explanation)
    assert all(np.isfinite(c.total) for c in explanation.contributions)


def test_huge_and_infinite_values() -> None:
    def wild(trial: Trial) -> float:
        value = 1e300 * tilted(trial)
        return math.inf if trial.number == 7 else value

    explanation = pellucid.explain_proposal(run(wild, 12), 11)
    assert all(np.isfinite(c.total) for c in explanation.contributions)
    assert np.isfinite(explanation.total)


def test_a_parameter_that_comes_and_goes_takes_no_share_and_leaves_no_gap() -> None:
    dice = np.random.default_rng(0)

    def sometimes(trial: Trial) -> float:
        value = trial.suggest_float("x", -1, 1) ** 2 + trial.suggest_float("y", -1, 1) ** 2
        return value + (trial.suggest_float("z", -1, 1) if dice.random() < 0.5 else 0.0)

    study = optuna.create_study(sampler=RandomSampler(seed=1))
    study.optimize(sometimes, n_trials=30)
    lacking = [t.number for t in study.trials if t.number > 15 and "z" not in t.params]
    for number in lacking[:3]:
        explanation = pellucid.explain_proposal(study, number)
        check(explanation)
        assert [c.name for c in explanation.contributions] == ["x", "y"]


def test_choices_that_are_lists_or_nan() -> None:
    def odd(trial: Trial) -> float:
        shape = trial.suggest_categorical("shape", [[1, 2], (3, 4), None])
        hole = trial.suggest_categorical("hole", [math.nan, 1.0])
        return trial.suggest_float("x", 0, 1) ** 2 + (0.3 if shape is None else 0.0) - (0.2 if hole != hole else 0.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's, about choices that a storage may not keep.
        study = run(odd, 18)
    for explanation in pellucid.desirability_paths(study, progress=False).explanations:
        check(explanation)
        json.dumps(explanation.to_dict(), allow_nan=False)
        assert "other values than were proposed" not in str(explanation)


def test_a_study_in_which_nothing_varies() -> None:
    study = run(lambda trial: trial.suggest_float("fixed", 3, 3) + trial.number, 12)
    with pytest.raises(ValueError, match=r"(No parameter of trial 9 varies|sampled to cover the space|at random)"):
        pellucid.explain_proposal(study, 9)


def test_imagined_values_of_failed_trials_are_not_counted() -> None:
    def fragile(trial: Trial) -> float:
        value = tilted(trial)
        if trial.number % 3 == 0:
            raise RuntimeError("out of memory")
        return value

    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=6))
    study.optimize(fragile, n_trials=20, catch=(RuntimeError,))
    explanation = pellucid.explain_proposal(study, 19)
    finished = sum(t.state == TrialState.COMPLETE for t in study.trials[:19])
    assert explanation.n_trials == finished
