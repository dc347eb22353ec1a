"""Runs as lines of JSON, appended in the order in which they end.

A line holds what cannot be computed again (values and times) and what is needed to read it alone (direction,
known optimum, versions, command). Regret and ranks are derived later: a better reference needs no new run.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pellucid.cli.errors import Mistake
from pellucid_lab.base import Direction, Job

Key = tuple[str, str, str, int, int, int]


@dataclass(frozen=True)
class Run:
    """A finished run; ``values``, ``ask_s`` and ``tell_s`` have one entry per evaluation.

    ``trace``: series that a policy left behind (``alpha``, ``ubr``), one entry per proposal.
    """

    suite: str
    problem: str
    method: str
    seed: int
    n_init: int
    n_steps: int
    direction: Direction
    values: tuple[float, ...]
    ask_s: tuple[float, ...]
    tell_s: tuple[float, ...]
    optimum: float | None = None
    optimum_is_exact: bool = False
    anchor: float | None = None
    wall_s: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    date: str = ""
    command: str = ""
    trace: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return (self.suite, self.problem, self.method, self.seed, self.n_init, self.n_steps)


@dataclass(frozen=True)
class Failure:
    """A run that ended with an error; it is tried again when the command is repeated."""

    suite: str
    problem: str
    method: str
    seed: int
    n_init: int
    n_steps: int
    error: str
    trace: str = ""
    date: str = ""
    command: str = ""


def failure(job: Job, error: str, trace: str) -> Failure:
    return Failure(*job.key, error=error, trace=trace, date=now(), command=job.command)


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {"python": platform.python_version(), **{package: _version(package) for package in packages}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def read_runs(path: Path) -> list[Run]:
    """The finished runs of a file: of runs with the same key the last one counts, failures are left out."""
    runs: dict[Key, Run] = {}
    for number, line in enumerate(_complete_lines(path), start=1):
        try:
            record = json.loads(line)
            if "error" in record:
                continue
            run = _run(record)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Mistake(
                f"Every line of a results file is the JSON record of one run, but line {number} of {path} is "
                f"not ({type(error).__name__}: {error}): remove that line or choose another file."
            ) from error
        runs[run.key] = run
    return list(runs.values())


def _run(record: dict[str, Any]) -> Run:
    lists = {name: tuple(map(float, record[name])) for name in ("values", "ask_s", "tell_s")}
    run = Run(**{**record, **lists})
    expected = run.n_init + run.n_steps
    if any(len(entries) != expected for entries in lists.values()):
        raise ValueError(f"values, ask_s and tell_s need {expected} entries each")
    return run


def _complete_lines(path: Path) -> list[str]:
    """Lines that were written to their end: a crash or a full disk can cut the last one short."""
    if not path.exists():
        return []
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def open_for_append(path: Path) -> None:
    """Create the folder, and drop a last line that was cut short: the next one must not continue it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        end = file.tell()
        file.seek(0)
        complete = file.read().rfind(b"\n") + 1
        if complete < end:
            file.truncate(complete)


def append(path: Path, record: Run | Failure) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record), allow_nan=False) + "\n")
