"""Running trials whose process may be gone: which, and what is said about them."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from pathlib import Path

import optuna
import pytest
from optuna.storages import RDBStorage
from sqlalchemy import text
from tests.helpers import began, bowl, messages, new_study

import pellucid
from pellucid.study.liveness import dead_looking, duration, notice
from pellucid.study.view import StudyView

NOW = datetime.now
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
SHORT = began(DAY, took=2 * MINUTE, number=0)


@pytest.mark.parametrize(("ago", "dead"), [(10, False), (89, False), (91, True)])
def test_a_trial_looks_dead_after_three_times_the_longest(ago: int, dead: bool) -> None:
    trials = [began(timedelta(hours=9), took=timedelta(minutes=30)), began(timedelta(minutes=ago))]
    assert dead_looking(trials, datetime.now()) == (trials[1:] if dead else [])


def test_nothing_looks_dead_before_a_trial_has_ended() -> None:
    assert dead_looking([began(timedelta(days=9))], datetime.now()) == []


def test_no_young_trial_looks_dead_however_short_the_others_were() -> None:
    trials = [began(DAY, took=timedelta(seconds=1)), began(9 * MINUTE)]
    assert dead_looking(trials, datetime.now()) == []


def test_a_trial_from_the_future_or_without_a_start_does_not_look_dead() -> None:
    unstarted = began(DAY)
    unstarted.datetime_start = None
    assert dead_looking([SHORT, began(-DAY), unstarted], datetime.now()) == []


def test_a_heartbeat_counts_and_the_age_does_not() -> None:
    trials = [SHORT, began(DAY, number=1), began(MINUTE, number=2)]
    assert dead_looking(trials, datetime.now(), silent={2}) == trials[2:]
    assert dead_looking(trials, datetime.now(), silent=set()) == []


def study_with(*ages: timedelta) -> optuna.Study:
    study = new_study()
    study.add_trials([SHORT, *map(began, ages)])
    return study


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        ([MINUTE], ""),
        (
            [DAY],
            "Trial 1 has run for 24.0 h, and no other took longer than 2 min: if its process died, "
            "`study.tell(1, state=optuna.trial.TrialState.FAIL)` ends it.",
        ),
        (
            [3 * DAY, DAY],
            "Trials 1 and 2 have run for at least 24.0 h, and no other took longer than 2 min: if their processes "
            "died, `study.tell(1, state=optuna.trial.TrialState.FAIL)` ends the first.",
        ),
        (
            [3 * DAY] * 6,
            "Trials 1, 2, 3 and 3 others have run for at least 3 days, and no other took longer than 2 min: if their "
            "processes died, `study.tell(1, state=optuna.trial.TrialState.FAIL)` ends the first.",
        ),
    ],
)
def test_trials_that_look_dead_are_named_with_their_age(ages: list[timedelta], said: str) -> None:
    assert notice(StudyView.whole(study_with(*ages)), datetime.now()) == said


def test_a_sampler_says_once_that_a_trial_looks_dead(caplog: pytest.LogCaptureFixture) -> None:
    study = study_with(DAY)
    with caplog.at_level(logging.WARNING, logger="pellucid"):
        study.optimize(bowl, n_trials=3)
        study.add_trial(began(3 * DAY))
        study.optimize(bowl, n_trials=3)
    assert [message.split(",")[0] for message in messages(caplog)] == [
        "Trial 1 has run for 24.0 h",
        "Trial 5 has run for 3 days",
    ]


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_trial_whose_heartbeat_has_stopped_is_named(tmp_path: Path) -> None:
    storage = RDBStorage(f"sqlite:///{tmp_path / 'study.db'}", heartbeat_interval=60, grace_period=120)
    study = optuna.create_study(storage=storage, sampler=pellucid.BayesianSampler(seed=0))
    study.optimize(bowl, n_trials=2)
    for _ in range(2):
        storage.record_heartbeat(study.ask()._trial_id)
    assert notice(StudyView.whole(study), datetime.now()) == ""
    with storage.engine.begin() as connection:  # As if a day had passed.
        connection.execute(text("UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-1 day')"))
    assert notice(StudyView.whole(study), datetime.now()) == (
        "The heartbeat of trials 2 and 3 has stopped, so their processes have probably died: "
        "`optuna.storages.fail_stale_trials(study)` ends them."
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59, "59 s"), (90, "2 min"), (5400, "1.5 h"), (172_800, "2 days")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
