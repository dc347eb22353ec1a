"""What stopping trials early saved and cost, why one was stopped, and what learning curves look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pellucid.answers.base import Overview, Subject
from pellucid.answers.catalogue import PRUNING
from pellucid.records import LearningCurve, LearningCurves, PruningRecord
from pellucid.study.trials import state_word

if TYPE_CHECKING:
    from pellucid.records import PruningExplanation
    from pellucid.study.view import StudyView

Item = TypeVar("Item")
# Curves and reports that a figure can show legibly, and stopped trials that are explained.
_MOST_CURVES, _MOST_REPORTS, _MOST_EXPLAINED = 200, 100, 3


def pruning(overview: Overview, _: Subject) -> PruningRecord:
    from pellucid.explain.pruning.record import pruning_record_of

    return pruning_record_of(overview.beliefs)


def stop(overview: Overview, subject: Subject) -> PruningExplanation:
    from pellucid.explain.pruning.explanation import pruning_explanation_of

    assert subject.trial is not None
    return pruning_explanation_of(overview.beliefs, subject.trial)


def likeliest(overview: Overview, part: Subject) -> Sequence[Subject]:
    """The stopped trials that were likeliest to become the best, the likeliest first."""
    record = overview.ask(PRUNING)
    rows = record.rows if isinstance(record, PruningRecord) else ()
    return [replace(part, trial=row.trial) for row in sorted(rows, key=lambda row: -row.chance)[:_MOST_EXPLAINED]]


# ---------------------------------------------------------------------- curves of all trials


def curves(overview: Overview, _: Subject) -> LearningCurves:
    view = overview.view
    curves, numbers = view.curves, view.curves.numbers.tolist()
    states = [state_word(view.by_number[number]) for number in numbers]
    best = _best_row(view)
    rows = sorted({*_even(range(len(curves)), _MOST_CURVES - 1), *([] if best is None else [best])})
    shown = []
    for row in rows:
        steps, losses = curves.curve(row)
        kept = _even(range(len(steps)), _MOST_REPORTS)
        values = view.objective.sign * losses[kept]
        shown.append(LearningCurve(numbers[row], states[row], tuple(steps[kept].tolist()), tuple(values.tolist())))
    return LearningCurves(
        curves=tuple(shown),
        counts=dict(Counter(states)),
        best=None if best is None else view.objective.sign * float(curves.final[best]),
        best_trial=None if best is None else numbers[best],
        every_report=bool(curves.lengths[rows].max() <= _MOST_REPORTS),
        direction=view.objective.direction,
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
