"""What pellucid tells a user about a study: records with a sentence, a table and a figure.

Numbers are in the unit and direction of the objective as the user returns it, parameters in their own values.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pellucid.records.views import drawn, framed


@dataclass(frozen=True)
class Recommendation:
    """The configuration with the best *expected* objective, with an interval; all in the user's units and direction.

    `trial` is the trial that evaluated it, `observed` what that trial returned, `n_trials` how many trials were used.
    """

    params: dict[str, Any]
    trial: int
    expected: float
    low: float
    high: float
    level: float
    observed: float
    n_trials: int
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        settings = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.params.items())
        text = (
            f"Use {settings} (trial {self.trial}): expected {self.expected:.6g}, "
            f"{self.level:.0%} interval [{self.low:.6g}, {self.high:.6g}], observed {self.observed:.6g}."
        )
        return f"{text} {self.note}".rstrip()


@dataclass(frozen=True)
class StoppingVerdict:
    """Whether a study can stop; numbers in the unit of the objective.

    bound       no configuration is expected to be better than the best evaluated one by more than this (95 % bounds);
                None when there was too little to say
    tolerance   what was asked for, or the noise of one trial where nothing was
    noise       estimated standard deviation of one trial's noise
    why         the reason in words
    """

    stop: bool
    n_trials: int
    best_value: float | None
    bound: float | None
    tolerance: float | None
    noise: float | None
    why: str

    @staticmethod
    def from_bound(
        n_trials: int, best_value: float | None, bound: float, tolerance: float | None, noise: float
    ) -> StoppingVerdict:
        asked = tolerance is not None
        limit = tolerance if tolerance is not None else noise
        stop = bound <= limit
        what = "your tolerance was" if asked else "the noise of one trial is about"
        why = f"expected remaining improvement ≤ {bound:.2g} after {n_trials} trials; {what} {limit:.2g}"
        return StoppingVerdict(stop, n_trials, best_value, bound, limit, noise, why)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{'Stop' if self.stop else 'Go on'}: {self.why}."


@dataclass(frozen=True)
class IndividualCurve:
    """The objective along one parameter with everything else as in one trial; `low`, `high` where a band was asked."""

    trial: int
    mean: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class PartialDependence:
    """The average objective at values of one parameter, or at pairs of values of two.

    values       per parameter, its value at every grid point; of two parameters the second one varies fastest
    mean         the average over all other parameters; low, high the calibrated band at `level`
    raw_sd       the model's own standard deviation, without what calibration adds
    support      trials near each grid point;  trusted  whether the band there is narrow enough to say anything
    axes         per parameter: 'linear', 'log' or 'category'
    individual   curves through single trials (of one parameter)
    typical      the model needed a monotone output warp: curves show typical values instead of averages
    condition    in words, where the average is over a part of the space only
    alarms       reasons for doubt, in words
    best         index of the best grid point (in the study's direction) among the trusted ones
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
    verdict: str
    condition: str
    alarms: tuple[str, ...]
    best: int | None

    @property
    def half_width(self) -> float:
        """Mean half-width of the band."""
        return sum(high - low for low, high in zip(self.low, self.high, strict=True)) / (2.0 * len(self.mean))

    @property
    def n_trials(self) -> int:
        return len(self.trial_numbers)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per grid point."""
        columns: dict[str, Any] = dict(zip(self.params, self.values, strict=True))
        for name in ("mean", "low", "high", "raw_sd", "support", "trusted"):
            columns[name if name not in columns else f"{name}_"] = getattr(self, name)
        return framed(columns)

    def plot(self) -> Any:
        """A Plotly figure."""
        return drawn(self)

    def __str__(self) -> str:
        return " ".join((self.verdict, *self.alarms))
