"""What a parameter does to the objective: on average, and to the best that can be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.answers.finding import Finding
from pellucid.notebook import Rows
from pellucid.words import OBJECTIVE


@dataclass(frozen=True)
class IndividualCurve:
    """The objective along one parameter, with all others as in one trial. `low` and `high`: its band, if asked for."""

    trial: int
    mean: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class PartialDependence(Finding):
    """The average objective at values of one parameter, or at pairs of values of two.

    values       per parameter, its value at every grid point; of two parameters, the second one varies fastest
    mean         the average over all other parameters;  low, high  the calibrated band at `level`
    raw_sd       the model's own standard deviation, without what calibration adds
    support      trials near each grid point
    verdict      'matters' if the average clearly differs between some values, 'no effect' if it cannot differ by more
                 than a little, otherwise 'cannot tell'; of the average: a parameter may matter all the same
    axes         per parameter: 'linear', 'log' or 'category'
    individual   curves through single trials (for one parameter)
    typical      the model needed a monotone output warp, so curves show typical values instead of averages
    condition    in words, the part of the space that the average covers; empty if all of it
    best         index of the best grid point (in the study's direction)
    objective    its name, or that of a constraint
    position     of the first parameter in the study's order, which decides its colour
    pair         if it matters: two grid points, the first of which is better on average
    difference   by how much the averages of the pair differ, and half the width of the band of that; None without a
                 pair, and if curves show typical values
    """

    _rows: ClassVar[Rows] = "even"

    params: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    raw_sd: tuple[float, ...]
    level: float
    support: tuple[int, ...]
    axes: tuple[str, ...]
    trial_numbers: tuple[int, ...]
    trial_values: tuple[tuple[Any, ...], ...]
    trial_objectives: tuple[float, ...]
    individual: tuple[IndividualCurve, ...]
    typical: bool
    direction: str
    sentence: str
    condition: str
    notes: tuple[str, ...]
    best: int
    verdict: str
    objective: str = OBJECTIVE
    position: int = 0
    pair: tuple[int, int] | None = None
    difference: tuple[float, float] | None = None

    @property
    def half_width(self) -> float:
        """Mean half-width of the band."""
        return sum(high - low for low, high in zip(self.low, self.high, strict=True)) / (2.0 * len(self.mean))

    @property
    def n_trials(self) -> int:
        return len(self.trial_numbers)

    def _columns(self) -> Mapping[str, Any]:
        """One row per grid point."""
        columns: dict[str, Any] = dict(zip(self.params, self.values, strict=True))
        for name in ("mean", "low", "high", "raw_sd", "support"):
            columns[name if name not in columns else f"{name}_"] = getattr(self, name)
        return columns


@dataclass(frozen=True)
class Cost:
    """Values of a number, from `low` to `high`, and how much worse at least the best is that can be reached with any of
    them than with the best value: two digits, in the unit of the objective."""

    low: Any
    high: Any
    at_least: float


@dataclass(frozen=True)
class ProfileEffect(Finding):
    """The best objective that can be reached at each value of a parameter, over all other parameters.

    values       of the parameter, on a grid;  best  index of the best one (in the study's direction)
    mean         what the model expects of the best configuration with each value;  low, high  the band at `level`
    support      trials with each value, or near it
    verdict      'matters' if some value is clearly better than another, 'no effect' if all of them reach about the
                 same, otherwise 'cannot tell'
    scale        of the parameter: 'linear', 'log' or 'category'
    condition    in words, the branch in which the parameter exists; empty if it always does
    objective    its name, or that of a constraint
    position     of the parameter in the study's order, which decides its colour
    costs        what other values cost, as far as the sentence says: of a number that matters
    """

    _rows: ClassVar[Rows] = "even"

    param: str
    values: tuple[Any, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    best: int
    support: tuple[int, ...]
    verdict: str
    level: float
    scale: str
    condition: str
    trial_numbers: tuple[int, ...]
    trial_values: tuple[Any, ...]
    trial_objectives: tuple[float, ...]
    direction: str
    sentence: str
    notes: tuple[str, ...]
    objective: str = OBJECTIVE
    position: int = 0
    costs: tuple[Cost, ...] = ()

    @property
    def best_value(self) -> Any:
        return self.values[self.best]

    @property
    def n_trials(self) -> int:
        return len(self.trial_numbers)

    def _columns(self) -> Mapping[str, Any]:
        """One row per value."""
        columns: dict[str, Any] = {self.param: self.values}
        for name in ("mean", "low", "high", "support"):
            columns[name if name not in columns else f"{name}_"] = getattr(self, name)
        return columns
