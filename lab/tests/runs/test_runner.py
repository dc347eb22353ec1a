"""The resumable runner: what it runs, what it writes, and how it ends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from pellucid_lab.runs import runner
from pellucid_lab.runs.files import RunFile
from pellucid_lab.runs.runner import complete, run_missing, stop_on_failures
from pellucid_lab.runs.workers import Finished, Outcome


@dataclass(frozen=True)
class Square:
    """A task and, with its result, the record of its run."""

    number: int
    square: int | None = None

    @property
    def key(self) -> tuple[int]:
        return (self.number,)

    @property
    def label(self) -> str:
        return f"number {self.number}"


TASKS = [Square(number) for number in range(4)]


def squared(task: Square) -> Square:
    if task.number == 2:
        raise ValueError("two is not allowed")
    return Square(task.number, task.number**2)


@pytest.fixture
def file(tmp_path: Path) -> RunFile[Square]:
    return RunFile(tmp_path / "folder" / "squares.jsonl", Square)


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> list[Square]:
    """Runs tasks in this process (workers have their own tests) and records them."""
    ran: list[Square] = []

    def run_all(function: Any, tasks: list[Square], jobs: int) -> Any:
        for task in tasks:
            ran.append(task)
            try:
                outcome = Outcome(value=function(task))
            except ValueError as error:
                outcome = Outcome(error=str(error), trace="Traceback")
            yield Finished(task, outcome)

    monkeypatch.setattr(runner, "run_all", run_all)
    return ran


def test_only_missing_tasks_run_and_all_records_are_returned(
    file: RunFile[Square], in_process: list[Square], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [record.square for record in complete("squares", squared, TASKS[:2], file, 1, True)] == [0, 1]
    in_process.clear()
    records = complete("squares", squared, [TASKS[3], *TASKS[:2]], file, 1, False)
    assert in_process == [TASKS[3]]
    assert [record.square for record in records] == [0, 1, 9]
    assert "2 of 3 runs are already in" in capsys.readouterr().err


def test_a_failed_run_is_in_the_file_and_runs_again(file: RunFile[Square], in_process: list[Square]) -> None:
    failures = run_missing("squares", squared, TASKS, file, 1, True)
    assert [(failure.task, failure.error) for failure in failures] == [(TASKS[2], "two is not allowed")]
    lines = [json.loads(line) for line in file.path.read_text().splitlines()]
    assert lines[2]["number"] == 2
    assert lines[2]["error"] == "two is not allowed"
    assert lines[2]["trace"] == "Traceback"
    in_process.clear()
    assert run_missing("squares", lambda task: Square(task.number, 4), TASKS, file, 1, True) == []
    assert in_process == [TASKS[2]]
    assert sorted(record.number for record in file.read()) == [0, 1, 2, 3]


def test_failures_end_the_command_with_sentences_and_exit_code_1(
    file: RunFile[Square], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        complete("squares", squared, TASKS, file, 1, True)
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err.splitlines() == [
        "1 of 4 runs failed; repeat the command to try them again:",
        "  number 2: two is not allowed",
    ]


def test_many_failures_are_counted_but_not_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    failures = [runner.FailedTask(Square(number), "no") for number in range(12)]
    with pytest.raises(typer.Exit):
        stop_on_failures(failures, 20)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("12 of 20 runs failed")
    assert lines[-1] == "  and 2 more"
    assert len(lines) == 12


def test_ctrl_c_keeps_finished_runs_and_ends_with_a_sentence_and_exit_code_130(
    file: RunFile[Square], capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(task: Square) -> Square:
        if task.number == 1:
            raise KeyboardInterrupt
        return Square(task.number, 0)

    with pytest.raises(typer.Exit) as ended:
        run_missing("squares", interrupted, TASKS, file, 1, True)
    assert ended.value.exit_code == 130
    assert "Stopped: 1 of 4 runs were added to" in capsys.readouterr().err
    assert [record.number for record in file.read()] == [0]


def test_a_task_may_have_several_records(file: RunFile[Square]) -> None:
    run_missing("squares", lambda task: [task, Square(10 + task.number)], TASKS[:2], file, 1, True)
    assert [record.number for record in file.read()] == [0, 10, 1, 11]
