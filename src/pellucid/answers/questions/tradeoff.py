"""What one objective costs in another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pellucid.answers.base import Overview, Subject
from pellucid.answers.catalogue import TRADEOFF
from pellucid.answers.finding import NotKnown
from pellucid.answers.pieces import Drawing, Piece, Unknown, soft, text, unknown

if TYPE_CHECKING:
    from pellucid.answers.fronts.records import Tradeoff

# Trade-offs on a card.
_MOST = 4


def tradeoff(overview: Overview, subject: Subject) -> Tradeoff:
    from pellucid.answers.fronts.tradeoff import tradeoff_of

    assert subject.pair is not None
    return tradeoff_of(overview.beliefs, subject.pair)


def card(overview: Overview) -> Iterator[Piece]:
    """All that is known; why the first is not, if none is."""
    asked = [question.answered() for question in overview.shown(TRADEOFF)]
    known = [answer for answer in asked if not isinstance(answer, NotKnown)]
    missing = [answer for answer in asked if isinstance(answer, NotKnown)]
    if not known:
        yield Unknown(missing[0])
        return
    for answer in known[:_MOST]:
        yield text(answer.sentence)
    yield from soft(dict.fromkeys(note for answer in known for note in answer.notes))
    for why in missing:
        if why.failed:
            yield Unknown(why)


def section(overview: Overview, _: Subject) -> Iterator[Piece]:
    for i, question in enumerate(overview.shown(TRADEOFF)):
        known = question.answered()
        yield unknown(known) if isinstance(known, NotKnown) else Drawing(f"tradeoff-{i}", known, on="both")
