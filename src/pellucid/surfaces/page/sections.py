"""The sections of a page: of the answers in each of them, the pieces one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pellucid.answers.base import WHOLE, Answer, Overview, Subject, resolve
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.finding import NotKnown, attempt
from pellucid.answers.pieces import Drawing, Piece, drawings, unknown
from pellucid.answers.places import SECTIONS

Sections = Iterator[tuple[str, str, list[Piece]]]


def sections_of(overview: Overview) -> Sections:
    """Key, title and pieces of every section. What is about each objective stands together if there are several."""
    of_each = [section.key for section in SECTIONS if section.each]
    for section in SECTIONS:
        if not (section.each and overview.view.several):
            yield section.key, section.title, list(_pieces([section.key], overview, WHOLE))
        elif section.key == of_each[0]:
            for i, objective in enumerate(overview.view.objectives):
                yield f"objective-{i}", objective.name, list(_pieces(of_each, overview, Subject(objective=i)))


def figures_of(overview: Overview) -> Iterator[Drawing]:
    """The figures that answer the questions, in the order of the sections."""
    for _, _, pieces in sections_of(overview):
        yield from (drawing for drawing in drawings(pieces) if drawing.on != "page")


def _pieces(keys: Iterable[str], overview: Overview, part: Subject) -> Iterator[Piece]:
    for key in keys:
        for answer in CATALOGUE:
            if answer.section != key or not overview.applies(answer):
                continue
            content = resolve(answer.content) if answer.content else partial(_default, answer)
            shown = attempt(lambda content=content: list(content(overview, part)))  # type: ignore[misc]
            yield from [unknown(shown)] if isinstance(shown, NotKnown) else shown


def _default(answer: Answer[Any], overview: Overview, part: Subject) -> Iterator[Piece]:
    """The figure of every answer, or why there is none."""
    questions = overview.shown(answer) if part is WHOLE else overview.shown_of(answer, part)
    for i, question in enumerate(questions):
        known = question.answered()
        name = f"{part.prefix}{answer.key}" if len(questions) == 1 else f"{part.prefix}{answer.key}-{i}"
        yield unknown(known) if isinstance(known, NotKnown) else Drawing(name, known, on="both")
