"""Which ranges to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject

if TYPE_CHECKING:
    from pellucid.records import ParameterRanges


def ranges(overview: Overview, subject: Subject) -> ParameterRanges:
    from pellucid.explain.ranges import ranges_of

    return ranges_of(overview.beliefs, overview.target(subject))
