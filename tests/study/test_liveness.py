"""Running trials whose process may be gone: which, and what is said about them."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from pathlib import Path

import optuna
import pytest
from optuna.storages import RDBStorage
from optuna.storages._cached_storage import _CachedStorage
from sqlalchemy import text
from tests.helpers import began, bowl, messages, new_study

import pellucid
from pellucid.study.liveness import DeadTrials, dead_looking, dead_trials, duration
from pellucid.study.storage import Heartbeats
from pellucid.study.view import StudyView

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


def test_a_clock_that_jumped_back_makes_no_trial_long() -> None:
    trials = [began(DAY, took=-DAY), began(11 * MINUTE)]
    assert dead_looking(trials, datetime.now()) == trials[1:]


@pytest.mark.parametrize(
    ("ages", "limit", "dead"),
    [
        ({}, 2 * MINUTE, [1]),  # A worker that was killed early has never given a heartbeat: its age counts.
        ({1: MINUTE}, 2 * MINUTE, []),
        ({1: MINUTE, 2: 3 * MINUTE}, 2 * MINUTE, [2]),
        ({1: 9 * MINUTE}, None, []),
        ({1: 11 * MINUTE}, None, [1]),
    ],
)
def test_a_heartbeat_counts_more_than_the_age(
    ages: dict[int, timedelta], limit: timedelta | None, dead: list[int]
) -> None:
    trials = [SHORT, began(DAY, number=1), began(MINUTE, number=2)]
    found = dead_looking(trials, datetime.now(), Heartbeats(ages, limit))
    assert [trial.number for trial in found] == dead


def said_of(study: optuna.Study) -> str:
    return dead_trials(StudyView.whole(study), datetime.now()).notice


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
    assert said_of(study_with(*ages)) == said


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


def test_a_sampler_says_it_of_every_study(caplog: pytest.LogCaptureFixture) -> None:
    first = study_with(DAY)
    second = optuna.create_study(study_name="second", sampler=first.sampler)
    second.add_trials([SHORT, began(DAY)])
    with caplog.at_level(logging.WARNING, logger="pellucid"):
        first.optimize(bowl, n_trials=1)
        second.optimize(bowl, n_trials=1)
    assert len(messages(caplog)) == 2


def test_a_sampler_of_rankings_says_it_too(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("torch")
    study = study_with(DAY)
    study.sampler = pellucid.RankingSampler(seed=0)
    with caplog.at_level(logging.WARNING, logger="pellucid"):
        study.optimize(bowl, n_trials=1)
    assert "Trial 1 has run for 24.0 h" in messages(caplog)[0]


# ------------------------------------------------------------------------------------------- heartbeats


@pytest.fixture
def beating(tmp_path: Path) -> optuna.Study:
    """A study with two trials of a worker that gave heartbeats, a day ago, and one that was killed before its first."""
    storage = RDBStorage(f"sqlite:///{tmp_path / 'study.db'}", heartbeat_interval=60, grace_period=120)
    study = optuna.create_study(study_name="beating", storage=storage, sampler=pellucid.BayesianSampler(seed=0))
    study.optimize(bowl, n_trials=2)
    for _ in range(2):
        storage.record_heartbeat(study.ask()._trial_id)
    study.add_trial(began(DAY))
    return study


def a_day_passes(study: optuna.Study) -> None:
    storage = study._storage
    assert isinstance(storage, _CachedStorage)
    with storage._backend.engine.begin() as connection:
        connection.execute(text("UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-1 day')"))


KILLED_EARLY = (
    "Trial 4 has run for 24.0 h, and no other took longer than 0 s: if its process died, "
    "`study.tell(4, state=optuna.trial.TrialState.FAIL)` ends it."
)


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_trial_whose_heartbeat_has_stopped_is_named(beating: optuna.Study) -> None:
    assert said_of(beating) == KILLED_EARLY
    a_day_passes(beating)
    assert said_of(beating) == (
        "The heartbeat of trials 2 and 3 has stopped, so their processes have probably died: "
        f"`optuna.storages.fail_stale_trials(study)` ends them. {KILLED_EARLY}"
    )


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_heartbeats_are_read_by_whoever_opens_the_storage(beating: optuna.Study, tmp_path: Path) -> None:
    other = optuna.load_study(study_name="beating", storage=f"sqlite:///{tmp_path / 'study.db'}")
    assert dead_trials(StudyView.whole(other), datetime.now()) == DeadTrials((4,), KILLED_EARLY)
    a_day_passes(beating)
    assert said_of(other).startswith(
        "The heartbeat of trials 2 and 3 has stopped, so their processes have probably died: "
        "`study.tell(2, state=optuna.trial.TrialState.FAIL)` ends the first."
    )


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_sampler_does_not_doubt_a_long_trial_that_gives_heartbeats(
    beating: optuna.Study, caplog: pytest.LogCaptureFixture
) -> None:
    storage = beating._storage
    for number in (2, 3, 4):  # As if all three had begun a day ago.
        storage.record_heartbeat(beating.trials[number]._trial_id)
    with storage._backend.engine.begin() as connection:
        connection.execute(text("UPDATE trials SET datetime_start = datetime(datetime_start, '-1 day')"))
    with caplog.at_level(logging.WARNING, logger="pellucid"):
        beating.optimize(bowl, n_trials=1)
    assert messages(caplog) == []


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59, "59 s"), (90, "2 min"), (5400, "1.5 h"), (172_800, "2 days")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
