"""The trials of a study: how it went, when they ran, and what the best of them share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pellucid.answers.base import Metrics, Overview, Subject
from pellucid.answers.finding import NotKnown
from pellucid.answers.on_pages import COORDINATES, HISTORY, TIMELINE
from pellucid.answers.pieces import Drawing, Piece, text

if TYPE_CHECKING:
    from pellucid.answers.coordinates import ParallelCoordinates
    from pellucid.answers.history import FrontHistory, History
    from pellucid.answers.timeline import Timeline


def history(overview: Overview, _: Subject) -> History | FrontHistory:
    from pellucid.answers import history

    beliefs, view = overview.beliefs, overview.view
    return history.front_history_of(beliefs) if view.several else history.history_of(beliefs, view.objective)


def timeline(overview: Overview, _: Subject) -> Timeline:
    from pellucid.answers.timeline import timeline_of

    return timeline_of(overview.beliefs)


def coordinates(overview: Overview, _: Subject) -> ParallelCoordinates:
    from pellucid.answers.coordinates import coordinates_of

    return coordinates_of(overview.beliefs)


def course(overview: Overview) -> History | FrontHistory:
    """The history of the study. If that failed, what Optuna knows of the trials."""
    from pellucid.answers.history import plain_history

    known = overview.ask(HISTORY)
    return plain_history(overview.view, known.reason) if isinstance(known, NotKnown) else known


# ---------------------------------------------------------------------- on a page


def how_it_went(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = course(overview)
    if any(value is not None for value in known.values):
        yield Drawing("history", known, on="both")
    else:
        yield text(known.sentence, kind="soft")


def when_they_ran(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = overview.found(TIMELINE)
    if known is not None:
        yield Drawing("timeline", known)


def what_they_share(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = overview.found(COORDINATES)
    if known is not None:
        yield Drawing("coordinates", known)


# ---------------------------------------------------------------------- for trackers


def metrics(history: History | FrontHistory) -> Metrics:
    """The best that trials returned, under the names of the objectives."""
    from pellucid.answers.history import History

    if isinstance(history, History):
        return {(history.objective, "best"): history.best[-1] if history.best else None}
    rows = dict(zip(history.numbers, history.values, strict=True))
    front = [row for number in history.front if (row := rows[number]) is not None]
    best: Metrics = {
        (name, "best"): (max if direction == "maximize" else min)((row[i] for row in front), default=None)
        for i, (name, direction) in enumerate(zip(history.objectives, history.directions, strict=True))
    }
    return {**best, ("front", "trials"): float(len(front))}
