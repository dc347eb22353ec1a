"""Every public function that answers a question returns a record with data, a table and a figure."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import optuna
import pandas as pd
import plotly.graph_objects as go
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import bowl, two_objectives

import pellucid
from pellucid.answers.finding import Finding

# What a trial stores, the model behind it, a page, and a value that a trial reports: no answers. README.md says so.
OTHERS = {"receipt", "receipts", "rebuild", "report", "report_noise"}


def curved(trial: Trial) -> float:
    """A training that gets better from step to step, and may be stopped. Values above 0.8 fail."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    if y > 0.8:
        raise ArithmeticError
    for step in range(8):
        trial.report(x + y + 1.0 / (step + 1), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return x + y + 0.125


@pytest.fixture(scope="module")
def one() -> Study:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0), pruner=pellucid.CurvePruner(keep=1.0))
    study.optimize(curved, n_trials=40, catch=(ArithmeticError,))
    return study


@pytest.fixture(scope="module")
def several() -> Study:
    study = two_objectives()
    study.optimize(lambda trial: (bowl(trial), trial.params["x"]), n_trials=16)
    return study


def first(study: Study, state: optuna.trial.TrialState) -> int:
    return next(trial.number for trial in study.trials if trial.state == state)


ONE: dict[str, Callable[[Study], Finding]] = {
    "calibration": pellucid.calibration,
    "compare_importance": lambda study: pellucid.compare_importance(study, 39),
    "desirability_paths": lambda study: pellucid.desirability_paths(study, progress=False),
    "explain_proposal": lambda study: pellucid.explain_proposal(study, 39),
    "explain_pruning": lambda study: pellucid.explain_pruning(study, first(study, optuna.trial.TrialState.PRUNED)),
    "failing_settings": pellucid.failing_settings,
    "history": pellucid.history,
    "hsic_importance": lambda study: pellucid.hsic_importance(study, source="all"),
    "importance": pellucid.importance,
    "interval_reduction": lambda study: pellucid.interval_reduction(study, "x"),
    "parallel_coordinates": pellucid.parallel_coordinates,
    "parameter_ranges": pellucid.parameter_ranges,
    "partial_dependence": lambda study: pellucid.partial_dependence(study, "x"),
    "profile_effect": lambda study: pellucid.profile_effect(study, "x"),
    "proposal_interactions": lambda study: pellucid.proposal_interactions(study, 39),
    "pruning_record": pellucid.pruning_record,
    "recommend": pellucid.recommend,
    "regret_history": pellucid.regret_history,
    "stopping_verdict": pellucid.stopping_verdict,
    "timeline": pellucid.timeline,
}
SEVERAL: dict[str, Callable[[Study], Finding]] = {
    "recommend": pellucid.recommend,
    "recommend, preferring": lambda study: pellucid.recommend(study, prefer={"objective 0": 1.0, "objective 1": 1.0}),
    "history": pellucid.history,
    "stopping_verdict": pellucid.stopping_verdict,
    "tradeoff": pellucid.tradeoff,
}


def assert_complete(answer: Finding) -> None:
    assert answer.to_dict()
    assert isinstance(answer.to_frame(), pd.DataFrame)
    assert isinstance(answer.plot(), go.Figure)


@pytest.mark.parametrize("name", ONE)
def test_an_answer_about_one_objective_has_a_table_and_a_figure(name: str, one: Study) -> None:
    assert_complete(ONE[name](one))


@pytest.mark.parametrize("name", SEVERAL)
def test_an_answer_about_several_objectives_has_a_table_and_a_figure(name: str, several: Study) -> None:
    assert_complete(SEVERAL[name](several))


def test_these_are_all_functions_of_a_study_or_a_trial() -> None:
    public = {name: getattr(pellucid, name) for name in pellucid.__all__}
    asked = {
        name
        for name, function in public.items()
        if inspect.isfunction(function) and {"study", "trial"} & set(inspect.signature(function).parameters)
    }
    assert asked == {*ONE, "tradeoff", *OTHERS}


def test_a_receipt_is_no_answer_but_has_its_data(one: Study) -> None:
    receipt = pellucid.receipt(one, 39)
    assert not isinstance(receipt, Finding)
    assert receipt.to_dict()["trial"] == 39
