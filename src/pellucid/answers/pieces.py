"""What pages and notes are made of, whoever writes them: texts, lists, tables, figures, and parts that open on demand.

An answer's module says in these which of its facts stand where. A page writes them as HTML, a note as Markdown; the
dashboard takes the figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pellucid.answers.finding import Finding, NotKnown

# ---------------------------------------------------------------------- inside a line


@dataclass(frozen=True)
class Verbatim:
    """What a user wrote: backticks in it set nothing as code."""

    text: str


@dataclass(frozen=True)
class Parameter:
    """A name, with the colour that the parameter has everywhere."""

    name: str


@dataclass(frozen=True)
class Trial:
    """A link to a trial."""

    number: int
    text: str


@dataclass(frozen=True)
class ToSection:
    """A link to a section of the page."""

    key: str
    text: str


# A string is a sentence in which `names` are set as code.
Inline = str | Verbatim | Parameter | Trial | ToSection

# ---------------------------------------------------------------------- parts of a page or a note


Kind = Literal["plain", "soft", "doubt", "big", "stop", "go"]


@dataclass(frozen=True)
class Paragraph:
    """Sentences that belong together. `kind`: how loud they are."""

    parts: tuple[Inline, ...]
    kind: Kind = "plain"


def text(*parts: Inline, kind: Kind = "plain") -> Paragraph:
    return Paragraph(parts, kind)


@dataclass(frozen=True)
class Heading:
    """The name of what the next parts are about."""

    name: str


@dataclass(frozen=True)
class Names:
    """Parameters in one line, after a title."""

    title: Verbatim
    names: tuple[str, ...]


@dataclass(frozen=True)
class Unknown:
    """Why there is no answer, on a card."""

    why: NotKnown


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Values:
    """Parameters with their values: of more than `most`, the others open on demand."""

    params: dict[str, str]
    most: int


@dataclass(frozen=True)
class Table:
    """Rows of texts and links under their titles. `wide`: what it shows, if it may be wider than the page."""

    titles: tuple[str | Parameter, ...]
    rows: tuple[tuple[str | Trial, ...], ...]
    wide: str = ""


@dataclass(frozen=True)
class Copies:
    """Ways to copy the configuration of a trial."""

    trial: int


@dataclass(frozen=True)
class Drawing:
    """The figure of a record with its finding, and with its doubts except those that were `said` before.

    name  of the figure among all;  what  which one, if the record has several
    top   pixels above the figure, for its legend;  None: as most have
    on    where it is shown
    """

    name: str
    record: Finding
    what: str | None = None
    top: int | None = None
    said: tuple[str, ...] = ()
    on: Literal["page", "dashboard", "both"] = "page"


@dataclass(frozen=True)
class Row:
    """Figures side by side."""

    figures: tuple[Drawing, ...]


@dataclass(frozen=True)
class Folded:
    """Parts that open on demand."""

    key: str
    summary: str
    parts: tuple[Piece, ...]


@dataclass(frozen=True)
class Picker:
    """A list of trials, and what is said about the one that the reader picks."""


Piece = Paragraph | Heading | Names | Unknown | Items | Values | Table | Copies | Drawing | Row | Folded | Picker


def doubtful(notes: Iterable[str]) -> list[Paragraph]:
    return [text(note, kind="doubt") for note in notes]


def soft(notes: Iterable[str]) -> list[Paragraph]:
    return [text(note, kind="soft") for note in notes]


def unknown(why: NotKnown) -> Paragraph:
    """Why there is no answer, in a section."""
    return text(str(why), kind="soft")


def drawings(parts: Sequence[Piece]) -> Iterable[Drawing]:
    """All figures among the parts, in their order."""
    for part in parts:
        match part:
            case Drawing():
                yield part
            case Row(figures):
                yield from figures
            case Folded(parts=inside):
                yield from drawings(inside)
