"""What stopping trials early saved and cost, why one was stopped, and what learning curves look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pellucid.answers.base import Overview, Subject
from pellucid.answers.catalogue import PRUNING, STOP
from pellucid.answers.finding import NotKnown
from pellucid.answers.on_pages import CURVES
from pellucid.answers.pieces import Drawing, Piece, text, unknown
from pellucid.answers.pruning.curves import LearningCurve, LearningCurves
from pellucid.answers.pruning.records import PruningRecord
from pellucid.study.trials import state_word
from pellucid.words import percent

if TYPE_CHECKING:
    from pellucid.answers.pruning.records import PruningExplanation
    from pellucid.study.view import StudyView

Item = TypeVar("Item")
# Curves and reports that a figure can show legibly, and stopped trials that are explained.
_MOST_CURVES, _MOST_REPORTS, _MOST_EXPLAINED = 200, 100, 3

# The chance of having stopped the best trial above which that is a reason for doubt, and the chance of one of them
# from which it is worth running again.
_LOST, _WORTH_A_RUN = 0.1, 0.05
_STOPPED = (
    "The stopped trials that were likeliest to become the best, as the model of all trials sees it now: what they "
    "reported, what was expected of them, and their chance when they were stopped."
)


def pruning(overview: Overview, _: Subject) -> PruningRecord:
    from pellucid.answers.pruning.saved import pruning_record_of

    return pruning_record_of(overview.beliefs)


def stop(overview: Overview, subject: Subject) -> PruningExplanation:
    from pellucid.answers.pruning.explanation import pruning_explanation_of

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


# ---------------------------------------------------------------------- on a page


def what_stops_saved(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = overview.ask(PRUNING)
    if isinstance(known, NotKnown):
        yield unknown(known)
        return
    if known.rows or known.bins:
        yield Drawing("pruning", known)
    if known.stopped:
        yield Drawing("pruning", known, on="dashboard")


def all_curves(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = overview.ask(CURVES)
    yield unknown(known) if isinstance(known, NotKnown) else Drawing("curves", known)


def why_stopped(overview: Overview, _: Subject) -> Iterator[Piece]:
    asked = [question.answered() for question in overview.shown(STOP)]
    known = [answer for answer in asked if not isinstance(answer, NotKnown)]
    if known:
        yield text(_STOPPED, kind="soft")
    for answer in known:
        yield Drawing(f"stopped-{answer.trial}", answer)


def lost(overview: Overview) -> list[str]:
    """Whether a stopped trial may well have been the best."""
    record = overview.found(PRUNING) if len(overview.view.curves) else None
    if record is None or record.lost <= _LOST:
        return []
    chance = next(row.chance for row in record.rows if row.trial == record.likeliest)
    number = record.likeliest
    words = f"A trial that was stopped early would have been the best with a chance of {percent(record.lost)}"
    if chance < _WORTH_A_RUN:
        most = percent(max(chance, 0.01))
        return [f"{words}, none of them alone with more than {most}: let trials run longer next time."]
    return [f"{words} (trial {number} alone: {percent(chance)}): run trial {number} again to its end."]
