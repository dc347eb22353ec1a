"""Which configuration to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.records.finding import Finding
from pellucid.words import OBJECTIVE, number_text, percent, prefix, rounded


@dataclass(frozen=True)
class Recommendation(Finding):
    """The configuration with the best *expected* objective, with an interval for its true value.

    trial      the trial that evaluated it;  observed  what that trial returned
    low, high  of the interval at `level`; None if there is no evidence for one
    n_trials   trials that it rests on; a note says if the model is conditioned on some of them
    feasible   the chance that it is truly feasible, for a study with constraints; otherwise None
    objective  its name
    """

    _pictured: ClassVar[bool] = False

    params: dict[str, Any]
    trial: int
    expected: float
    low: float | None
    high: float | None
    level: float
    observed: float
    n_trials: int
    direction: str
    notes: tuple[str, ...] = ()
    feasible: float | None = None
    objective: str = OBJECTIVE

    @property
    def sentence(self) -> str:
        settings = ", ".join(f"{k}={number_text(v) if isinstance(v, float) else v}" for k, v in self.params.items())
        error, interval = 0.0, ""
        if self.low is not None and self.high is not None:
            error = 0.5 * (self.high - self.low)
            ends = f"{rounded(self.low, error)} to {rounded(self.high, error)}"
            interval = f" ({self.level:.0%} interval {ends})"
        chance = "" if self.feasible is None else f", feasible with a chance of {percent(self.feasible)}"
        use = f"Use {settings} (trial {self.trial})"
        expected, observed = rounded(self.expected, error), rounded(self.observed, error)
        return f"{use}: expect {prefix(self.objective)}{expected}{interval}{chance}; it returned {observed}."

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        return {"param": list(self.params), "value": list(self.params.values())}
