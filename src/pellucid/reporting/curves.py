"""What a report says about learning curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from pellucid.explain.pruning.explanation import pruning_explanation_of
from pellucid.records import LearningCurve, LearningCurves, NotKnown, PruningExplanation, PruningRecord, attempt
from pellucid.study.trials import state_word
from pellucid.study.view import StudyView

Item = TypeVar("Item")
# Curves and reports that a figure can show legibly, and stopped trials that are explained.
_MOST_CURVES, _MOST_REPORTS, _MOST_EXPLAINED = 200, 100, 3


@dataclass(frozen=True)
class CurveAnswers:
    """The answers about learning curves.

    stopped        the stopped trials with the largest chance of having been the best, the largest first
    extrapolated   whether other answers expect of stopped trials what their curves promise
    broken         explanations of stops that failed, by name
    """

    curves: LearningCurves
    record: PruningRecord | NotKnown
    stopped: tuple[PruningExplanation, ...]
    extrapolated: bool
    broken: Mapping[str, NotKnown] = field(default_factory=dict)


def curve_answers(view: StudyView, record: PruningRecord | NotKnown) -> CurveAnswers:
    """About a study with at least one curve. `record`: what its stops saved and cost."""
    asked = _explained(view, record)
    stopped = tuple(answer for answer in asked.values() if not isinstance(answer, NotKnown))
    broken = {what: answer for what, answer in asked.items() if isinstance(answer, NotKnown) and answer.failed}
    return CurveAnswers(_learning_curves(view), record, stopped, view.extrapolation is not None, broken)


def _explained(view: StudyView, record: PruningRecord | NotKnown) -> dict[str, PruningExplanation | NotKnown]:
    """Why the stopped trials that were likeliest to become the best were stopped, by the name of the answer."""
    if isinstance(record, NotKnown):
        return {}
    likeliest = sorted(record.rows, key=lambda row: -row.chance)[:_MOST_EXPLAINED]
    return {
        f"why trial {row.trial} was stopped": attempt(lambda n=row.trial: pruning_explanation_of(view, n))  # type: ignore[misc]
        for row in likeliest
    }


def _learning_curves(view: StudyView) -> LearningCurves:
    curves, numbers = view.curves, view.curves.numbers.tolist()
    states = [state_word(view.by_number[number]) for number in numbers]
    best = _best_row(view)
    rows = sorted({*_even(range(len(curves)), _MOST_CURVES - 1), *([] if best is None else [best])})
    shown = []
    for row in rows:
        steps, losses = curves.curve(row)
        kept = _even(range(len(steps)), _MOST_REPORTS)
        values = view.sign * losses[kept]
        shown.append(LearningCurve(numbers[row], states[row], tuple(steps[kept].tolist()), tuple(values.tolist())))
    return LearningCurves(
        curves=tuple(shown),
        counts=dict(Counter(states)),
        best=None if best is None else view.sign * float(curves.final[best]),
        best_trial=None if best is None else numbers[best],
        every_report=bool(curves.lengths[rows].max() <= _MOST_REPORTS),
        direction=view.direction,
        objective=view.objective.name,
    )


def _best_row(view: StudyView) -> int | None:
    """The curve of the best complete, feasible trial that has one."""
    usable = set(view.observations.of_complete_trials.of_feasible_trials.numbers)
    rows = [row for row, number in enumerate(view.curves.numbers.tolist()) if number in usable]
    return min(rows, key=lambda row: float(view.curves.final[row])) if rows else None


def _even(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of them, spread evenly, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, most).round().astype(int).tolist()]
