"""Every trial as a line through the values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.notebook import Rows
from pellucid.records.finding import Finding


@dataclass(frozen=True)
class Coordinate:
    """One parameter of the trials. `ticks`: places between 0 and 1 with the values there, as text."""

    param: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class ParallelCoordinates(Finding):
    """Every trial as a line through the values of its parameters, and what the best of them have in common.

    numbers   of the trials;  places  per trial, its place on every axis, between 0 and 1; None without the parameter
    best      per trial, whether it is among the best tenth, or on the front of several objectives
    """

    _rows: ClassVar[Rows] = "even"

    axes: tuple[Coordinate, ...]
    numbers: tuple[int, ...]
    places: tuple[tuple[float | None, ...], ...]
    best: tuple[bool, ...]
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        columns: dict[str, Any] = {"trial": self.numbers, "best": self.best}
        for i, axis in enumerate(self.axes):
            name = axis.param if axis.param not in columns else f"{axis.param}_"
            columns[name] = [places[i] for places in self.places]
        return columns
