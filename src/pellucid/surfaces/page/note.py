"""The answers as Markdown, in the order in which a person asks, for the note of a study in Optuna Dashboard.

Names of parameters, choices and objectives are the user's: everything that Markdown would read as markup is escaped.
"""

from __future__ import annotations

import re

from pellucid.answers.base import Overview
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.pieces import (
    Inline,
    Items,
    Paragraph,
    Parameter,
    Piece,
    ToSection,
    Trial,
    Unknown,
    Values,
    Verbatim,
)
from pellucid.surfaces.page.answers import distrust, placed
from pellucid.words import parts_of, printable

# What begins markup, with `$` for formulae, and `@`, `://` and `www.` for addresses.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$!&@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKUP.sub(r"\\\1", printable(" ".join(text.split())))


def prose(text: str) -> str:
    """A sentence in which `names` are set as code."""
    out = []
    for part, name in parts_of(text):
        lead = part[: len(part) - len(part.lstrip())]
        tail = part[len(part.rstrip()) :] if part.strip() else ""
        out.append(f"`{printable(' '.join(part.split()))}`" if name else f"{lead}{escaped(part)}{tail}")
    return "".join(out)


def note(overview: Overview, trials: str) -> str:
    """The answers of a study. `trials`: the address of a trial without its number."""
    chapters = [
        (answer.chapter.heading(overview), list(placed(answer, answer.chapter, overview)))
        for answer in CATALOGUE
        if answer.chapter is not None and overview.applies(answer)
    ]
    chapters.append(("What should I distrust?", [distrust(overview)]))
    return "\n\n".join(
        f"## {title}\n\n" + "\n\n".join(filter(None, (_written(piece, trials) for piece in pieces)))
        for title, pieces in chapters
    )


def _written(piece: Piece, trials: str) -> str:
    """A piece as Markdown; empty if a note has no place for it."""
    match piece:
        case Paragraph(parts):
            return "".join(_inline(part, trials) for part in parts)
        case Unknown(why):
            return prose(why.reason) if why.final else f"Not known yet. {prose(why.reason)}"
        case Items(sentences):
            return "\n".join(f"- {prose(sentence)}" for sentence in sentences)
        case Values(params, most):
            rows = [f"| {_cell(name)} | {_cell(value)} |" for name, value in params.items()]
            return "\n".join(["| parameter | value |", "|---|---|", *rows[:most]])
    return ""


def _inline(part: Inline, trials: str) -> str:
    match part:
        case Trial(number, text):
            return f"[{text}]({trials}{number})"
        case Verbatim(text) | Parameter(text) | ToSection(text=text):
            return escaped(text)
        case sentence:
            return prose(sentence)


def _cell(text: str) -> str:
    return escaped(text) or " "
