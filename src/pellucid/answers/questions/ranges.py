"""Which ranges to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pellucid.answers.base import Metrics, Overview, Subject
from pellucid.answers.catalogue import RANGES
from pellucid.answers.finding import NotKnown
from pellucid.answers.pieces import Drawing, Items, Piece, Unknown, soft, text, unknown

if TYPE_CHECKING:
    from pellucid.answers.ranges.records import ParameterRanges

# Advice on a card, and in a note.
_MOST, _MOST_NOTED = 4, 12


def ranges(overview: Overview, subject: Subject) -> ParameterRanges:
    from pellucid.answers.ranges.advice import ranges_of

    return ranges_of(overview.beliefs, overview.target(subject))


def card(overview: Overview) -> Iterator[Piece]:
    known = overview.ask(RANGES, overview.part)
    if isinstance(known, NotKnown):
        yield Unknown(known)
    elif not known.advice:
        yield text("Keep them", kind="big")
        yield text(known.sentence)
        yield from soft(known.notes[:_MOST])
    else:
        yield Items(tuple(advice.sentence for advice in known.advice[:_MOST]))
        left = len(known.advice) - _MOST
        if left > 0:
            yield text(f"And {left} more, below.", kind="soft")


def section(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = overview.ask(RANGES, overview.part)
    if isinstance(known, NotKnown):
        yield unknown(known)
        return
    yield Drawing("ranges", known, on="both")
    yield Items(tuple(advice.sentence for advice in known.advice))


def chapter(overview: Overview) -> Iterator[Piece]:
    known = overview.ask(RANGES, overview.part)
    if isinstance(known, NotKnown):
        yield Unknown(known)
        return
    yield text(known.sentence)
    yield Items((*(advice.sentence for advice in known.advice), *known.notes)[:_MOST_NOTED])


# ---------------------------------------------------------------------- for trackers


def metrics(ranges: ParameterRanges) -> Metrics:
    return {("ranges", "advice"): float(len(ranges.advice))}
