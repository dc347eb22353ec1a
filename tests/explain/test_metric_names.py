"""The name that a user gives to an objective is used in every answer, figure and record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.study import Study
from tests.helpers import bowl

import pellucid
from pellucid.study import goals

NAME = "validation <loss>"


@pytest.fixture(scope="module")
def study() -> Study:
    named = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=10))
    named.set_metric_names([NAME])
    named.optimize(bowl, n_trials=22)
    return named


ANSWERS: dict[str, Callable[[Study], Any]] = {
    "recommend": pellucid.recommend,
    "history": pellucid.history,
    "stopping": pellucid.stopping_verdict,
    "course": pellucid.regret_history,
    "importance": pellucid.importance,
    "calibration": pellucid.calibration,
    "profile": lambda study: pellucid.profile_effect(study, "x"),
    "dependence": lambda study: pellucid.partial_dependence(study, "x"),
    "joint": lambda study: pellucid.partial_dependence(study, ["x", "y"]),
    "comparison": lambda study: pellucid.compare_importance(study, 21),
    "prediction": lambda study: pellucid.explain_proposal(study, 21, objective=NAME),
    "best": lambda study: pellucid.hsic_importance(study, source="all", pairs=False),
    "below": lambda study: pellucid.hsic_importance(study, goals.below(0.1), source="all", pairs=False),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_every_sentence_and_figure_names_the_objective(study: Study, what: str) -> None:
    answer = ANSWERS[what](study)
    assert NAME in answer.sentence
    figure = answer.plot()
    titles = [axis.title.text for axis in (*figure.select_xaxes(), *figure.select_yaxes())]
    shown = [*titles, *(note.text for note in figure.layout.annotations), figure.layout.title.text]
    assert not any("objective" in text or NAME in text for text in shown if text)
    assert any("validation &lt;loss&gt;" in text for text in shown if text)
    assert answer.to_dict() != {}


def test_explanations_and_receipts_name_it_too(study: Study) -> None:
    explanation = pellucid.explain_proposal(study, 21)
    assert explanation.objective == NAME
    assert NAME in str([term.label for term in explanation.terms.values()])
    assert "validation &lt;loss&gt;" in explanation.plot().layout.xaxis.title.text


def test_goals_about_failures_and_fronts_name_no_objective() -> None:
    for goal in (goals.failed(), goals.on_the_front(0.1), goals.such_that(lambda value: value < 1, "winning")):
        assert goal.about(NAME) is goal
    assert goals.best(0.2).about("objective").words == "being among the best 20%"
    assert goals.above(3).about("ms").words == "ms above 3"
