"""The overview asks its questions in the order in which a person asks them."""

from __future__ import annotations

import optuna
import pytest

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
    ("n_objectives", "keys"),
    [
        (1, ["recommendation", "verdict", "importance", "ranges", "pruning", "calibration", "proposal"]),
        (2, ["recommendation", "verdict", "importance", "tradeoff", "calibration", "proposal"]),
    ],
)
def test_decisions_come_first_and_then_what_matters(n_objectives: int, keys: list[str]) -> None:
    questions = overview(Beliefs(StudyView.whole(study_of(n_objectives))), None)
    assert list(dict.fromkeys(question.key for question in questions)) == keys


def test_a_run_ends_with_what_to_use_whether_to_stop_and_what_stops_saved() -> None:
    questions = conclusions(Beliefs(StudyView.whole(study_of(1))))
    assert [question.key for question in questions] == ["recommendation", "verdict", "pruning"]
