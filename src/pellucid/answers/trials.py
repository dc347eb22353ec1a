"""The trials of a study: how it went, when they ran, and what the best of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject

if TYPE_CHECKING:
    from pellucid.records import FrontHistory, History, ParallelCoordinates, Timeline


def history(overview: Overview, _: Subject) -> History | FrontHistory:
    from pellucid.explain.history import front_history_of, history_of

    beliefs, view = overview.beliefs, overview.view
    return front_history_of(beliefs) if view.several else history_of(beliefs, view.objective)


def timeline(overview: Overview, _: Subject) -> Timeline:
    from pellucid.explain.timeline import timeline_of

    return timeline_of(overview.beliefs)


def coordinates(overview: Overview, _: Subject) -> ParallelCoordinates:
    from pellucid.explain.coordinates import coordinates_of

    return coordinates_of(overview.beliefs)
