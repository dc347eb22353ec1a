"""Workers share a study in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from optuna.study import Study
from tests.end_to_end.examples import share_between_workers
from tests.engines.processes import (
    assert_a_trial_without_a_heartbeat_is_run_again,
    assert_explained_on_the_command_line,
    assert_four_processes_worked_as_one,
    assert_reading_cannot_write,
    assert_the_study_went_on,
    study_of_a_killed_worker,
    study_of_four_processes,
)


@pytest.fixture(scope="module")
def shared(postgres: str) -> Study:
    return study_of_four_processes(postgres, "four on PostgreSQL")


def test_four_processes_share_a_study(shared: Study) -> None:
    assert_four_processes_worked_as_one(shared)


def test_the_study_is_explained_on_the_command_line(postgres: str, shared: Study) -> None:
    assert_explained_on_the_command_line(postgres, shared)


def test_a_study_goes_on_after_a_worker_was_killed_in_a_trial(postgres: str, tmp_path: Path) -> None:
    study = study_of_a_killed_worker(postgres, "killed on PostgreSQL", tmp_path / "hangs")
    assert_the_study_went_on(study)


def test_a_trial_without_a_heartbeat_is_run_again(postgres: str) -> None:
    assert_a_trial_without_a_heartbeat_is_run_again(postgres, "heartbeat")


def test_nothing_is_written_by_reading(postgres: str, shared: Study) -> None:
    assert_reading_cannot_write(postgres, shared)


@pytest.mark.slow  # As on SQLite.
def test_the_example_runs_the_trial_of_a_dead_worker_again(postgres: str) -> None:
    share_between_workers(postgres)
