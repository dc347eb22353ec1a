"""What is tried and what is counted.

lost        a trial or a value that had been told (`tell` returned) and is not in the storage afterwards
unusable    a study that cannot be opened, continued, explained or reported afterwards
executed    a text of the fault that ran as code: it would have created a file
hangs       a step that took more than 30 seconds
different   a trial after a kill that differs from the same trial of a process that was not killed
crashes     an error that is not a sentence for the user
shown       a name that reached a terminal or a reader with characters that control what is shown
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pellucid_lab.runs.provenance import stamp

PATIENCE_S = 30.0
# A process that takes more is a failure.
MOST_MEMORY_MB = 1000.0
# Notes of a record: failures usually repeat each other.
_MOST_NOTES = 8
_LONGEST_NOTE = 300
PACKAGES = ("pellucid", "optuna", "sqlalchemy", "numpy", "scipy", "torch")


@dataclass(frozen=True)
class FaultTask:
    """Some faults of one kind. `case`: a storage, or a sort of input; `size`: how many; `chunk`: seed of the random
    ones, and which of the others."""

    kind: str
    case: str
    chunk: int
    size: int
    command: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        return self.kind, self.case, self.chunk, self.size

    @property
    def label(self) -> str:
        return f"{self.kind}, {self.case} {self.chunk}"


@dataclass
class Tally:
    """Counts of what was tried and what went wrong, while a task runs."""

    tried: int = 0
    lost: int = 0
    unusable: int = 0
    executed: int = 0
    hangs: int = 0
    different: int = 0
    crashes: int = 0
    shown: int = 0
    peak_mb: float = 0.0
    notes: list[str] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)

    def note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(text[:_LONGEST_NOTE])

    def count(self, what: str, times: int = 1) -> None:
        """How often something happened that is no failure, such as trials that were told."""
        self.counted[what] = self.counted.get(what, 0) + times

    def add(self, counts: Mapping[str, Any]) -> None:
        """Add the counts of another tally, as `asdict` gives them."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + counts[name])
        self.peak_mb = max(self.peak_mb, counts["peak_mb"])
        for text in counts["notes"]:
            self.note(text)
        for what, times in counts["counted"].items():
            self.count(what, times)

    @property
    def failures(self) -> int:
        failed = self.lost + self.unusable + self.executed + self.hangs + self.different + self.crashes
        return failed + self.shown


COUNTS = tuple(each.name for each in fields(Tally) if each.name not in ("peak_mb", "notes", "counted"))


@dataclass(frozen=True)
class FaultRecord:
    """The counts of a task, and how they were made. `seconds` of wall time."""

    kind: str
    case: str
    chunk: int
    size: int
    tried: int
    lost: int
    unusable: int
    executed: int
    hangs: int
    different: int
    crashes: int
    peak_mb: float
    seconds: float
    counted: dict[str, int]
    notes: tuple[str, ...]
    versions: dict[str, str]
    machine: str
    date: str
    command: str
    shown: int = 0

    @property
    def key(self) -> tuple[Any, ...]:
        return self.kind, self.case, self.chunk, self.size


def recorded(task: FaultTask, tally: Tally, seconds: float) -> FaultRecord:
    identity = {name: value for name, value in asdict(task).items() if name != "command"}
    counts = {**asdict(tally), "notes": tuple(tally.notes), "peak_mb": round(tally.peak_mb, 1)}
    return FaultRecord(**identity, **counts, seconds=round(seconds, 2), **stamp(PACKAGES, task.command))
