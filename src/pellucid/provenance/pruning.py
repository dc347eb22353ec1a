"""The decision to stop a trial, as it is stored with it.

Values are in the unit and direction of the objective as the user returns it.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from pellucid.provenance.rules import is_count, is_finite_from, is_spans
from pellucid.words import RecordError, UnreadableRecordError, by_text, chance_text, number_text, printable

DECISION_VERSION = 1


@dataclass(frozen=True)
class PruningDecision:
    """Why `CurvePruner` stopped a trial, stored with it.

    step, horizon       the last report, and the step that a complete trial ends at
    chance, needed      of ending better than `best` by `tolerance`, and the chance below which trials are stopped
    best, best_trial    the best value of a complete, feasible trial at that moment
    expected, low, high the median of what the trial would have returned, and its 95% interval
    learned_from        trials whose curves the model had learned from ('0-24,26')
    """

    trial: int
    step: int
    horizon: int
    chance: float
    needed: float
    best: float
    best_trial: int
    expected: float
    low: float
    high: float
    learned_from: str
    tolerance: float = 0.0
    version: int = DECISION_VERSION

    def __post_init__(self) -> None:
        got: dict[str, Any] = dict(vars(self))  # Read from JSON, a field can hold anything.
        fine = (
            all(type(got[name]) is int for name in ("step", "horizon", "version"))
            and is_count(got["trial"])
            and is_count(got["best_trial"])
            and is_spans(got["learned_from"])
            and all(is_finite_from(got[name], 0.0) and got[name] <= 1.0 for name in ("chance", "needed"))
            and all(is_finite_from(got[name], -math.inf) for name in ("best", "expected", "low", "high"))
            and is_finite_from(got["tolerance"], 0.0)
        )
        if not fine:
            raise RecordError(f"A decision to stop a trial has the wrong form: {vars(self)!r:.300}.")

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> PruningDecision:
        try:
            data, _ = json.JSONDecoder().raw_decode(text)  # An earlier, longer decision may have left its end behind.
            version = int(data["version"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise UnreadableRecordError(f"This decision is damaged and cannot be read ({error}).") from error
        if version > DECISION_VERSION:
            raise UnreadableRecordError(
                f"This decision has version {version}, but this pellucid reads up to version {DECISION_VERSION}: "
                "upgrade pellucid to read it."
            )
        try:
            return PruningDecision(**data)
        except (TypeError, ValueError) as error:
            raise UnreadableRecordError(f"This decision is damaged and cannot be read ({error}).") from error

    @property
    def reason(self) -> str:
        """What is stored with the trial for people to read."""
        best, expected, low, high = map(number_text, (self.best, self.expected, self.low, self.high))
        return (
            f"Stopped at step {self.step} of {self.horizon}: {chance_text(self.chance)} chance to beat {best} (trial "
            f"{self.best_trial}){by_text(self.tolerance)}, and {chance_text(self.needed)} was needed; expected "
            f"{expected} ({low} to {high})."
        )

    def __str__(self) -> str:
        return printable(f"Trial {self.trial}: {self.reason}")
