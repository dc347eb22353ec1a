"""Files of runs: one JSON line per run, appended when the run ends.

A line holds what cannot be computed again (values and times) and what a reader needs to understand it on its own
(settings, versions, command). Tables are derived from the lines later, so a new kind of table needs no new run. A line
with an ``error`` stands for a failed run: it is kept as a log, skipped by readers, and the run is repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pellucid.surfaces.cli.errors import Mistake


class Keyed(Protocol):
    @property
    def key(self) -> tuple[Any, ...]: ...


Record = TypeVar("Record", bound=Keyed)
Task = TypeVar("Task", bound=Keyed)


@dataclass(frozen=True)
class RunFile(Generic[Record]):
    """A file of records; a task and the record of its run have the same key."""

    path: Path
    record: Callable[..., Record]

    def read(self) -> list[Record]:
        """The finished runs; if several lines have the same key, the last one counts."""
        records: dict[tuple[Any, ...], Record] = {}
        for number, line in enumerate(self._complete_lines(), start=1):
            try:
                fields: dict[str, Any] = json.loads(line)
                if "error" in fields:
                    continue
                lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
                record = self.record(**{**fields, **lists})
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise Mistake(
                    f"Every line of a results file is the JSON record of one run, but line {number} of {self.path} is "
                    f"not ({type(error).__name__}: {error}): remove that line or choose another file."
                ) from error
            records[record.key] = record
        return list(records.values())

    def missing(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks without a finished run in the file."""
        done = {record.key for record in self.read()}
        return [task for task in tasks if task.key not in done]

    def of(self, tasks: Iterable[Keyed]) -> list[Record]:
        """The finished runs of these tasks, in the order of the file."""
        keys = {task.key for task in tasks}
        return [record for record in self.read() if record.key in keys]

    def prepare(self) -> None:
        """Create the folder, and remove an incomplete last line so that the next line does not continue it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            end = file.tell()
            file.seek(0)
            complete = file.read().rfind(b"\n") + 1
            if complete < end:
                file.truncate(complete)

    def append(self, records: Iterable[Any]) -> None:
        self._append(asdict(record) for record in records)

    def append_failure(self, task: Any, error: str, trace: str, date: str) -> None:
        self._append([{**asdict(task), "error": error, "trace": trace, "date": date}])

    def _append(self, lines: Iterable[dict[str, Any]]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def _complete_lines(self) -> list[str]:
        """Lines that end with a newline: a crash or a full disk can cut the last one short."""
        if not self.path.exists():
            return []
        return self.path.read_text(encoding="utf-8").split("\n")[:-1]
