"""Experiments whose runs are lines of JSON: what is missing is run, each record is in the file before the next one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.terminal import FAILED, STOPPED, say
from pellucid_lab.runs.results import open_for_append
from pellucid_lab.runs.workers import run_all
from pellucid_lab.terminal import progress_bar


class Keyed(Protocol):
    @property
    def key(self) -> tuple[Any, ...]: ...


Task = TypeVar("Task", bound=Keyed)
Record = TypeVar("Record", bound=Keyed)


def read(path: Path, record: Callable[..., Record]) -> list[Record]:
    """The finished runs of a file; of runs with the same key the last one counts."""
    runs: dict[tuple[Any, ...], Record] = {}
    if path.exists():
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], start=1):
            try:
                fields: dict[str, Any] = json.loads(line)
                lists: dict[str, Any] = {k: tuple(v) for k, v in fields.items() if isinstance(v, list)}
                run = record(**{**fields, **lists})
            except (ValueError, TypeError, AttributeError) as error:
                raise Mistake(
                    f"Every line of a results file is the JSON record of one run, but line {number} of {path} is "
                    f"not ({error}): remove that line or choose another file."
                ) from error
            runs[run.key] = run
    return list(runs.values())


def run_missing(
    function: Callable[[Task], Any], tasks: Sequence[Task], done: set[tuple[Any, ...]], path: Path, processes: int
) -> Iterator[tuple[Task, str | None]]:
    """Run the tasks whose keys are not `done`; yields each one, with a sentence where it failed."""
    open_for_append(path)
    for finished in run_all(function, [task for task in tasks if task.key not in done], processes):
        if finished.outcome.error is None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(finished.outcome.value)) + "\n")
        yield finished.task, finished.outcome.error


def run_with_bar(
    what: str,
    function: Callable[[Task], Any],
    tasks: Sequence[Task],
    done: set[tuple[Any, ...]],
    path: Path,
    processes: int,
    quiet: bool,
) -> None:
    """The same with a progress bar; Ctrl-C and failures end the command with a sentence."""
    left = len([task for task in tasks if task.key not in done])
    if left < len(tasks) and not quiet:
        say(f"{len(tasks) - left} of {len(tasks)} runs are already in {path}.")
    failures = []
    finished = 0
    try:
        with progress_bar(what, left, quiet) as advance:
            for task, error in run_missing(function, tasks, done, path, processes):
                finished += 1
                name = " ".join(map(str, task.key[1:]))
                advance(name)
                if error is not None:
                    failures.append(f"{name}: {error}")
    except KeyboardInterrupt:
        say(f"Stopped: {finished} runs were added to {path}; the same command continues.")
        raise typer.Exit(STOPPED) from None
    if failures:
        say(f"{len(failures)} runs failed; repeat the command to try them again. The first: {failures[0]}")
        raise typer.Exit(FAILED)
