"""When trials ran, and how long they took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.notebook import Rows
from pellucid.records.finding import Finding


@dataclass(frozen=True)
class Timeline(Finding):
    """When trials ran. Trials that never started are left out.

    starts      seconds after the first trial started
    durations   seconds; None for a trial that has not ended
    lanes       trials that ran at the same time have different numbers, from 0 up
    """

    _rows: ClassVar[Rows] = "even"

    numbers: tuple[int, ...]
    states: tuple[str, ...]
    starts: tuple[float, ...]
    durations: tuple[float | None, ...]
    lanes: tuple[int, ...]
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    @property
    def n_lanes(self) -> int:
        """How many trials ran at once at most."""
        return max(self.lanes, default=-1) + 1

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        return {
            "trial": self.numbers,
            "state": self.states,
            "start": self.starts,
            "duration": self.durations,
            "lane": self.lanes,
        }
