"""Workers share a study in a journal file, as in a folder that several machines mount."""

from __future__ import annotations

from pathlib import Path

import pytest
from optuna.study import Study
from tests.end_to_end.examples import finished, run_with_workers
from tests.engines.checks import assert_nothing_is_lost
from tests.engines.processes import (
    assert_explained_on_the_command_line,
    assert_four_processes_worked_as_one,
    assert_the_study_went_on,
    load,
    study_of_a_killed_worker,
    study_of_four_processes,
)


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("journal") / "study.log")


@pytest.fixture(scope="module")
def shared(journal: str) -> Study:
    return study_of_four_processes(journal, "four on a journal")


def test_four_processes_share_a_study(shared: Study) -> None:
    assert_four_processes_worked_as_one(shared)


def test_the_study_is_explained_on_the_command_line(journal: str, shared: Study) -> None:
    assert_explained_on_the_command_line(journal, shared)


def test_a_study_goes_on_after_a_worker_was_killed_in_a_trial(tmp_path: Path) -> None:
    study = study_of_a_killed_worker(str(tmp_path / "study.log"), "killed on a journal", tmp_path / "hangs")
    assert_the_study_went_on(study)


def test_the_example_shares_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "workers.log")
    printed = run_with_workers("cluster_journal.py", "--file", file, "--trials", "12")
    assert_nothing_is_lost(load(file, "workers"), finished(printed, 12))
