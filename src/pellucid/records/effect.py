"""What a parameter does to the objective on average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pellucid.records.finding import Finding


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
    support      trials near each grid point;  trusted  whether the band there is narrow enough to be informative
    axes         per parameter: 'linear', 'log' or 'category'
    individual   curves through single trials (for one parameter)
    typical      the model needed a monotone output warp, so curves show typical values instead of averages
    condition    in words, the part of the space that the average covers; empty if all of it
    best         index of the best trusted grid point (in the study's direction); None if none is trusted
    """

    params: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    raw_sd: tuple[float, ...]
    level: float
    support: tuple[int, ...]
    trusted: tuple[bool, ...]
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
    best: int | None

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
        for name in ("mean", "low", "high", "raw_sd", "support", "trusted"):
            columns[name if name not in columns else f"{name}_"] = getattr(self, name)
        return columns
