"""Whether predictions were true: what the model expected of trials, beside what they returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.notebook import Rows
from pellucid.records.finding import Finding
from pellucid.words import OBJECTIVE


@dataclass(frozen=True)
class PredictedTrial:
    """A trial with its prediction. `sd` is that of the value, noise included; z = (observed - predicted) / sd; for
    leave-one-out on the scale of the model, where its distribution is normal."""

    trial: int
    predicted: float
    sd: float
    observed: float
    z: float


@dataclass(frozen=True)
class CalibrationWindow:
    """Consecutive predictions: from trial `first` to trial `last`."""

    first: int
    last: int
    n: int
    coverage: float
    z_mean: float
    z_sd: float


@dataclass(frozen=True)
class Calibration(Finding):
    """Whether predictions were true.

    n              predictions that could be compared with a value
    coverage       the share of values inside their interval at `level`
    z_mean, z_sd   of z = (observed - predicted) / sd: 0 and 1 if the model is right; z_sd is None for one prediction
    source         'receipts' (predictions made before the trials ran) or 'leave-one-out' (made afterwards: each trial
                   predicted from all others)
    verdict        'trust', 'optimistic', 'pessimistic', 'too sure', 'too cautious' or 'too few'
    rows           every prediction;  windows  the first, middle and last third of them, if there are enough
    objective      its name, or that of a constraint
    """

    _rows: ClassVar[Rows] = "last"

    n: int
    coverage: float
    level: float
    z_mean: float
    z_sd: float | None
    source: str
    verdict: str
    rows: tuple[PredictedTrial, ...]
    windows: tuple[CalibrationWindow, ...]
    direction: str
    sentence: str
    notes: tuple[str, ...] = ()
    objective: str = OBJECTIVE

    @property
    def n_trials(self) -> int:
        """Trials with a prediction that could be compared."""
        return self.n

    @property
    def doubtful(self) -> bool:
        """Whether intervals of the model should not be taken at their word."""
        return self.verdict in ("optimistic", "pessimistic", "too sure")

    def _columns(self) -> Mapping[str, Any]:
        """One row per prediction."""
        names = ("trial", "predicted", "sd", "observed", "z")
        return {name: [getattr(row, name) for row in self.rows] for name in names}
