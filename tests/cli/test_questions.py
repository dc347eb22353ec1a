"""The overview asks its questions in the order in which a person asks them."""

from __future__ import annotations

import optuna
import pytest

from pellucid.answers.base import Overview
from pellucid.answers.catalogue import CATALOGUE
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView
from pellucid.surfaces.cli.questions import conclusions, overview


def study_of(n_objectives: int) -> optuna.Study:
    """A study with a trial that is complete and, if it can have one, a trial that was stopped early."""
    study = optuna.create_study(directions=["minimize"] * n_objectives)
    study.add_trial(optuna.create_trial(values=[1.0] * n_objectives))
    if n_objectives == 1:
        stopped = optuna.trial.TrialState.PRUNED
        study.add_trial(optuna.create_trial(state=stopped, intermediate_values={1: 2.0, 2: 1.5}))
    return study


@pytest.mark.parametrize(
    ("n_objectives", "there", "absent"),
    [(1, {"ranges", "pruning"}, {"tradeoff", "failures"}), (2, {"tradeoff"}, {"ranges", "pruning", "failures"})],
)
def test_decisions_come_first_and_then_what_matters(n_objectives: int, there: set[str], absent: set[str]) -> None:
    beliefs = Beliefs(StudyView.whole(study_of(n_objectives)))
    keys = list(dict.fromkeys(question.key for question in overview(beliefs, None)))
    listed = [answer for answer in CATALOGUE if answer.listed is not None]
    assert keys == [answer.key for answer in listed if Overview(beliefs).reason(answer) is None]
    assert keys[:3] == ["recommendation", "verdict", "importance"]
    assert {"calibration", "proposal", *there} <= set(keys)
    assert not absent & set(keys)


def test_a_run_ends_with_what_to_use_whether_to_stop_and_what_stops_saved() -> None:
    questions = conclusions(Beliefs(StudyView.whole(study_of(1))))
    assert [question.key for question in questions] == ["recommendation", "verdict", "pruning"]
