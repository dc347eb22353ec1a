"""Trials that were stopped early: the explanation of a stop, and the record of a study.

Values are in the unit and direction of the objective as the user returns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.answers.finding import Finding
from pellucid.notebook import Rows
from pellucid.words import OBJECTIVE, chance_text, number_text, prefix


@dataclass(frozen=True)
class FanPoint:
    """What was expected of a curve at a step: the median and a central interval."""

    step: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class PruningExplanation(Finding):
    """Why a trial was stopped, or what its curve promised at a step.

    steps, values      its reports up to `step`;  later_steps, later_values  those after it
    step, horizon      the report that the answer is about, and the step that a complete trial ends at
    chance, needed     of ending better than `best` (of trial `best_trial`) by `tolerance`, and the chance below which
                       trials are stopped; `needed` is None if another pruner decided, or none
    expected, low, high  the median of what the trial would return, and its interval at `level`
    fan                what was expected after `step`; the last entry is the value that the trial returns
    source             'recorded' (by `CurvePruner`, at that moment) or 'reconstructed' (from the trials that had ended
                       by then)
    state              'stopped', 'complete', 'running' or 'failed';  returned  the value of a complete trial
    n_trials           complete trials with a curve that the answer rests on
    """

    _rows: ClassVar[Rows] = "last"

    trial: int
    steps: tuple[int, ...]
    values: tuple[float, ...]
    later_steps: tuple[int, ...]
    later_values: tuple[float, ...]
    step: int
    horizon: int
    chance: float
    needed: float | None
    best: float
    best_trial: int
    expected: float
    low: float
    high: float
    level: float
    fan: tuple[FanPoint, ...]
    source: str
    state: str
    returned: float | None
    direction: str
    sentence: str
    notes: tuple[str, ...] = ()
    objective: str = OBJECTIVE
    tolerance: float = 0.0
    n_trials: int = 0

    def _columns(self) -> Mapping[str, Any]:
        """One row per report, then one per step ahead."""
        reports = [*zip(self.steps, self.values, strict=True)]
        return {
            "step": [*(step for step, _ in reports), *(point.step for point in self.fan)],
            "reported": [*(value for _, value in reports), *(None for _ in self.fan)],
            "expected": [*(None for _ in reports), *(point.median for point in self.fan)],
            "low": [*(None for _ in reports), *(point.low for point in self.fan)],
            "high": [*(None for _ in reports), *(point.high for point in self.fan)],
        }


@dataclass(frozen=True)
class StoppedTrial:
    """A trial that was stopped early.

    steps, saved   reports' last step, and the steps that were left
    stated         the chance of beating the best that was stated when it was stopped; None if no `CurvePruner` did
    chance         that it would have beaten the best of the study as it is now, by a model of all trials
    """

    trial: int
    steps: int
    saved: int
    stated: float | None
    chance: float
    expected: float


@dataclass(frozen=True)
class ChanceBin:
    """Predictions with a chance from `low` to `high` that a trial beats the best before it, and how many did."""

    low: float
    high: float
    n: int
    stated: float
    true: float


@dataclass(frozen=True)
class PruningRecord(Finding):
    """What stopping trials early saved in a study, and what it may have cost.

    complete, stopped   trials of each kind that reported a curve;  rows  those that were stopped
    steps               that all of them took;  saved  those that stopped trials did not take;  horizon  the last step
    promised            the sum of the chances stated at the stops: winners that were expected to be lost, each better
                        than the best before it; None if no `CurvePruner` stopped any
    lost                the chance that at least one stopped trial would be better than the best one now, by a model of
                        all trials;  likeliest  the stopped trial with the largest share in it
    bins, checked       predictions for complete trials, made again from the trials that had ended before each of them
                        began, beside what came true
    coverage            share of complete trials whose value was inside the 95% interval that those predictions gave;
                        None if there is none
    """

    complete: int
    stopped: int
    steps: int
    saved: int
    horizon: int
    promised: float | None
    lost: float
    likeliest: int | None
    best: float
    best_trial: int
    rows: tuple[StoppedTrial, ...]
    bins: tuple[ChanceBin, ...]
    checked: int
    coverage: float | None
    direction: str
    notes: tuple[str, ...] = ()
    objective: str = OBJECTIVE

    @property
    def n_trials(self) -> int:
        """Trials that reported a curve and ended, by themselves or early."""
        return self.complete + self.stopped

    @property
    def share_saved(self) -> float:
        """The share of the steps that would have been taken without a stop."""
        return self.saved / max(self.steps + self.saved, 1)

    @property
    def sentence(self) -> str:
        if not self.stopped:
            return f"No trial was stopped early: {self.complete} trials ran to their end."
        start = (
            f"{self.stopped} of {self.stopped + self.complete} trials were stopped early, which saved {self.saved:,} "
            f"steps ({self.share_saved:.0%})"
        )
        than = f"{prefix(self.objective)}{number_text(self.best)} (trial {self.best_trial})"
        return f"{start}; the chance that one of them would have beaten {than} is {chance_text(self.lost)}."

    def _columns(self) -> Mapping[str, Any]:
        """One row per stopped trial."""
        names = ("trial", "steps", "saved", "stated", "chance", "expected")
        return {name: [getattr(row, name) for row in self.rows] for name in names}
