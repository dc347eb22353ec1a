"""The pieces of answers as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pellucid.answers.base import Overview
from pellucid.answers.drawing import parameter_colour
from pellucid.answers.finding import PENDING, NotKnown
from pellucid.answers.pieces import (
    Copies,
    Drawing,
    Folded,
    Heading,
    Inline,
    Items,
    Names,
    Paragraph,
    Parameter,
    Picker,
    Piece,
    Row,
    Table,
    ToSection,
    Trial,
    Unknown,
    Values,
    Verbatim,
)
from pellucid.surfaces.page.figures import PageFigures
from pellucid.surfaces.page.markup import Markup, joined, prose, tag
from pellucid.surfaces.page.picker import copies, picker

_CLASSES = {"stop": "big stop", "go": "big go"}


@dataclass(frozen=True)
class Writer:
    """Writes pieces of the page of a study, and collects its figures."""

    overview: Overview
    figures: PageFigures

    def all(self, pieces: Iterable[Piece]) -> list[Markup]:
        return [self.one(piece) for piece in pieces if not (isinstance(piece, Drawing) and piece.on == "dashboard")]

    def one(self, piece: Piece) -> Markup:
        match piece:
            case Paragraph(parts, kind):
                shown = map(self._inline, parts)
                return tag("p", *shown) if kind == "plain" else tag("p", *shown, class_=_CLASSES.get(kind, kind))
            case Heading(name):
                return tag("h3", tag("code", name))
            case Names(title, names):
                named = [tag("span", self._parameter(name)) for name in names] or [joined("Not known yet")]
                return tag("p", title.text, *named, class_="big")
            case Unknown(why):
                return _unknown(why)
            case Items(sentences):
                return tag("ul", *(tag("li", prose(sentence)) for sentence in sentences)) if sentences else joined()
            case Values(params, most):
                return self._values(params, most)
            case Table():
                return self._table(piece)
            case Copies(trial):
                return copies(trial)
            case Drawing():
                return self.figures.put(piece)
            case Row(drawn):
                return tag("div", *map(self.figures.put, drawn), class_="pairs")
            case Folded(key, summary, parts):
                return tag("details", tag("summary", summary), *self.all(parts), id=key)
            case Picker():
                return joined(*picker(self.overview))

    def _inline(self, part: Inline) -> Markup:
        match part:
            case Verbatim(text):
                return joined(text)
            case Parameter(name):
                return self._parameter(name)
            case Trial(number, text):
                return tag("a", text, href=f"#trial-{number}")
            case ToSection(key, text):
                return tag("a", text, href=f"#{key}")
            case sentence:
                return prose(sentence)

    def _parameter(self, name: str) -> Markup:
        """A name with the parameter's colour, which the page changes if it is dark."""
        colour = parameter_colour(self.overview.view.positions.get(name, 0))
        swatch = tag("span", class_="swatch", style=f"background:{colour}", data_ink=colour, aria_hidden="true")
        return joined(swatch, tag("code", name))

    def _values(self, params: Mapping[str, str], most: int) -> Markup:
        rows = [tag("tr", tag("th", self._parameter(name)), tag("td", value)) for name, value in params.items()]
        listed = tag("table", *rows[:most])
        if len(rows) <= most:
            return listed
        more = tag("summary", f"{len(rows) - most} more parameters")
        return joined(listed, tag("details", more, tag("table", *rows[most:])))

    def _table(self, table: Table) -> Markup:
        head = tag("tr", *(tag("th", self._cell(title)) for title in table.titles))
        rows = [tag("tr", *(tag("td", self._cell(cell)) for cell in row)) for row in table.rows]
        if not table.wide:
            return tag("table", head, *rows, class_="members")
        wide = tag("table", tag("thead", head), tag("tbody", *rows), class_="members")
        return tag("div", wide, class_="table", tabindex="0", role="region", aria_label=table.wide)

    def _cell(self, cell: Inline) -> Markup:
        """Texts in tables are names and values, not sentences."""
        return joined(cell) if isinstance(cell, str) else self._inline(cell)


def _unknown(why: NotKnown) -> Markup:
    if why is PENDING:
        return tag("p", "Computing ...", class_="big")
    if why.final:
        return tag("p", prose(why.reason))
    return joined(tag("p", "Not known yet.", class_="big"), tag("p", prose(why.reason), class_="soft"))
