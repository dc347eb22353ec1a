"""The resumable runner: run the tasks that a file lacks, in worker processes, with a progress bar.

Every run is in the file before the next one is reported, so that Ctrl-C or a crash loses only the runs under way.
Repeating the command runs what is missing, failed runs included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import typer

from pellucid.surfaces.cli.terminal import FAILED, STOPPED, say
from pellucid_lab.runs.files import Record, RunFile
from pellucid_lab.runs.provenance import now
from pellucid_lab.runs.workers import run_all
from pellucid_lab.terminal import progress_bar

# Failures after these are counted but not listed: they usually have the same cause.
LISTED_FAILURES = 10


class RunTask(Protocol):
    """A frozen dataclass of plain values: it is sent to another process, and written to the file if it fails."""

    @property
    def key(self) -> tuple[Any, ...]: ...

    @property
    def label(self) -> str:
        """A few words for the progress bar."""


Task = TypeVar("Task", bound=RunTask)


@dataclass(frozen=True)
class FailedTask(Generic[Task]):
    task: Task
    error: str


def run_missing(
    what: str, function: Callable[[Task], Any], tasks: Sequence[Task], file: RunFile[Record], jobs: int, quiet: bool
) -> list[FailedTask[Task]]:
    """Run the tasks that the file lacks and return the failures. Ctrl-C ends the command with a sentence.

    ``function`` takes a task, in a worker process with one thread, and returns its record or a list of records.
    """
    missing = file.missing(tasks)
    if len(missing) < len(tasks) and not quiet:
        say(f"{len(tasks) - len(missing)} of {len(tasks)} runs are already in {file.path}.")
    failures: list[FailedTask[Task]] = []
    finished = 0
    try:
        with progress_bar(what, len(missing), quiet) as advance:
            file.prepare()
            for result in run_all(function, missing, jobs):
                outcome = result.outcome
                if outcome.error is None:
                    file.append(outcome.value if isinstance(outcome.value, list) else [outcome.value])
                else:
                    file.append_failure(result.task, outcome.error, outcome.trace, now())
                    failures.append(FailedTask(result.task, outcome.error))
                finished += 1
                advance(result.task.label)
    except KeyboardInterrupt:
        say(f"Stopped: {finished} of {len(missing)} runs were added to {file.path}; repeat the command to continue.")
        raise typer.Exit(STOPPED) from None
    return failures


def complete(
    what: str, function: Callable[[Task], Any], tasks: Sequence[Task], file: RunFile[Record], jobs: int, quiet: bool
) -> list[Record]:
    """Run the tasks that the file lacks and return the records of all tasks. Failures end the command."""
    stop_on_failures(run_missing(what, function, tasks, file, jobs, quiet), len(tasks))
    return file.of(tasks)


def stop_on_failures(failures: Sequence[FailedTask[Any]], total: int) -> None:
    """List the failures and end the command, if there are any."""
    if not failures:
        return
    say(f"{len(failures)} of {total} runs failed; repeat the command to try them again:")
    for failure in failures[:LISTED_FAILURES]:
        say(f"  {failure.task.label}: {failure.error}")
    if len(failures) > LISTED_FAILURES:
        say(f"  and {len(failures) - LISTED_FAILURES} more")
    raise typer.Exit(FAILED)
