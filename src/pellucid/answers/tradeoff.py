"""What one objective costs in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject

if TYPE_CHECKING:
    from pellucid.records import Tradeoff


def tradeoff(overview: Overview, subject: Subject) -> Tradeoff:
    from pellucid.explain.fronts.tradeoff import tradeoff_of

    assert subject.pair is not None
    return tradeoff_of(overview.beliefs, subject.pair)
