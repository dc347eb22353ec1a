"""Which configuration to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.records.finding import OBJECTIVE, Finding, percent, prefix


@dataclass(frozen=True)
class Recommendation(Finding):
    """The configuration with the best *expected* objective, with an interval for its true value.

    trial      the trial that evaluated it;  observed  what that trial returned
    low, high  of the interval at `level`; None if there is no evidence for one
    n_trials   trials that the model was fitted to
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
        settings = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.params.items())
        use = f"Use {settings} (trial {self.trial}): expected {prefix(self.objective)}{self.expected:.6g}"
        chance = "" if self.feasible is None else f", feasible with a chance of {percent(self.feasible)}"
        if self.low is None or self.high is None:
            return f"{use}, observed {self.observed:.6g}{chance}."
        interval = f"{self.level:.0%} interval [{self.low:.6g}, {self.high:.6g}]"
        return f"{use}, {interval}, observed {self.observed:.6g}{chance}."

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        return {"param": list(self.params), "value": list(self.params.values())}
