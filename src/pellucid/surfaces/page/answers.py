"""The first screen: what to use, whether to stop, what matters, what to change, what to distrust."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pellucid.answers.agreement import lead
from pellucid.answers.base import Answer, Overview, resolve
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.doubts import MOST_SHOWN, doubts
from pellucid.answers.finding import PENDING, NotKnown, attempt
from pellucid.answers.pieces import Items, Piece, Unknown, text
from pellucid.answers.places import Place
from pellucid.surfaces.page.html import Writer
from pellucid.surfaces.page.markup import Markup, tag


def answers(overview: Overview, writer: Writer) -> Markup:
    cards = [tag("div", tag("h2", title), *writer.all(pieces), class_="card") for title, pieces in cards_of(overview)]
    return tag("section", *cards, class_="answers", id="answers", aria_label="Answers")


def cards_of(overview: Overview) -> Iterator[tuple[str, list[Piece]]]:
    """Title and pieces of every card."""
    for answer in CATALOGUE:
        if answer.card is not None and overview.applies(answer):
            yield answer.card.heading(overview), list(placed(answer, answer.card, overview))
    yield "What to distrust", [distrust(overview) if overview.whole else Unknown(PENDING)]


def placed(answer: Answer[Any], place: Place, overview: Overview) -> Iterator[Piece]:
    """The pieces of an answer in a place, after what other answers have to say before it."""
    questions = overview.shown(answer)
    for words in dict.fromkeys(filter(None, map(lead, questions))):
        yield text(words)
    if place.content:
        shown = attempt(lambda: list(resolve(place.content)(overview)))
        yield from [Unknown(shown)] if isinstance(shown, NotKnown) else shown
        return
    for question in questions:
        known = question.answered()
        yield Unknown(known) if isinstance(known, NotKnown) else text(known.sentence)


def distrust(overview: Overview) -> Piece:
    reasons = doubts(overview)[:MOST_SHOWN]
    return Items(tuple(reasons)) if reasons else text("Nothing stands out.")
