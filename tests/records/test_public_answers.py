"""Every public function that answers a question returns a record with data, a table and a figure."""

from __future__ import annotations

import inspect

import optuna
import pandas as pd
import plotly.graph_objects as go
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import bowl, two_objectives
from tests.records.asking import FUNCTIONS, ask, subject_of

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
    study.optimize(lambda trial: (bowl(trial), trial.params["x"]), n_trials=30)
    return study


def assert_complete(answer: Finding) -> None:
    assert answer.to_dict()
    assert isinstance(answer.to_frame(), pd.DataFrame)
    assert isinstance(answer.plot(), go.Figure)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_answer_about_one_objective_has_a_table_and_a_figure(name: str, one: Study) -> None:
    if subject_of(name, one) is not None:
        assert_complete(ask(name, one, source="all", progress=False))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_answer_about_several_objectives_has_a_table_and_a_figure(name: str, several: Study) -> None:
    if subject_of(name, several) is not None:
        assert_complete(ask(name, several, source="all", progress=False))


def test_every_function_is_asked_about_one_of_these_studies(one: Study, several: Study) -> None:
    """Trials failed and were stopped in the study with one objective."""
    of_one = {name for name in FUNCTIONS if subject_of(name, one) is not None}
    of_several = {name for name in FUNCTIONS if subject_of(name, several) is not None}
    assert of_one | of_several == set(FUNCTIONS)
    assert {"explain_pruning", "failing_settings", "pruning_record"} <= of_one - of_several
    assert "tradeoff" in of_several - of_one


def test_a_compromise_has_a_table_and_a_figure(several: Study) -> None:
    assert_complete(pellucid.recommend(several, prefer={"objective 0": 1.0, "objective 1": 1.0}))


def test_these_are_all_functions_of_a_study_or_a_trial() -> None:
    public = {name: getattr(pellucid, name) for name in pellucid.__all__}
    asked = {
        name
        for name, function in public.items()
        if inspect.isfunction(function) and {"study", "trial"} & set(inspect.signature(function).parameters)
    }
    assert asked == {*FUNCTIONS, *OTHERS}


def test_a_receipt_is_no_answer_but_has_its_data(one: Study) -> None:
    receipt = pellucid.receipt(one, 39)
    assert not isinstance(receipt, Finding)
    assert receipt.to_dict()["trial"] == 39
