"""What to use: one configuration, or the front of several objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject

if TYPE_CHECKING:
    from pellucid.records import Front, Recommendation


def recommendation(overview: Overview, _: Subject) -> Recommendation | Front:
    if overview.view.several:
        from pellucid.explain.fronts.answer import front_of

        return front_of(overview.beliefs)
    from pellucid.explain.recommend import recommendation_of

    return recommendation_of(overview.beliefs, overview.view.objective)
