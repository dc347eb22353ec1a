"""The learning curves of a study: what trials reported on the way to their values.

Values are in the unit and direction of the objective as the user returns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pellucid.answers.finding import Finding
from pellucid.words import OBJECTIVE, Note, number_text, prefix

# States of trials, and what a sentence calls them, in this order.
_WORDS = {"complete": "complete", "stopped": "stopped early", "failed": "failed", "running": "running"}


@dataclass(frozen=True)
class LearningCurve:
    """Reports of a trial: an even selection if there are many, always with the first and the last.

    state   'complete', 'stopped', 'failed' or 'running'
    """

    trial: int
    state: str
    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class LearningCurves(Finding):
    """What the trials of a study reported, and which of them is the best.

    curves         in the order of their trials: an even selection if there are many, always with the best
    counts         of all trials that reported a number, by state
    best, best_trial   of the complete, feasible trials that reported a number; None if there is none
    every_report   whether `curves` have all reports of their trials
    """

    curves: tuple[LearningCurve, ...]
    counts: dict[str, int]
    best: float | None
    best_trial: int | None
    every_report: bool
    direction: str
    objective: str = OBJECTIVE

    @property
    def n_trials(self) -> int:
        """All that reported a number."""
        return sum(self.counts.values())

    @property
    def sentence(self) -> str:
        n = self.n_trials
        states = [f"{self.counts[state]:,} {word}" for state, word in _WORDS.items() if self.counts.get(state)]
        start = f"{n:,} trial{'' if n == 1 else 's'} reported a learning curve: {', '.join(states)}"
        if self.best is None:
            return f"{start}."
        return f"{start}. The best is trial {self.best_trial} ({prefix(self.objective)}{number_text(self.best)})."

    @property
    def notes(self) -> tuple[str, ...]:
        n = self.n_trials
        texts = [f"{len(self.curves)} of {n:,} curves are shown."] if len(self.curves) < n else []
        if not self.every_report:
            longest = max(len(curve.steps) for curve in self.curves)
            texts.append(f"At most {longest} reports of each curve are shown.")
        return tuple(Note(text, "omission") for text in texts)

    def _columns(self) -> Mapping[str, Any]:
        """One row per report."""
        return {
            "trial": [curve.trial for curve in self.curves for _ in curve.steps],
            "state": [curve.state for curve in self.curves for _ in curve.steps],
            "step": [step for curve in self.curves for step in curve.steps],
            "value": [value for curve in self.curves for value in curve.values],
        }
