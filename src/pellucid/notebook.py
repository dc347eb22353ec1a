"""Answers as a notebook shows them: a sentence, a small table and notes, as HTML.

Names and choices are the user's: everything is escaped. Nothing sets a colour or a font, so that the text looks like
the rest of the notebook, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pellucid.words import escape, number_text, parts_of

# Rows of a table: more would push the figure and the notes off the screen. Longer texts of a cell are cut.
_MOST_ROWS, _LONGEST_TEXT = 8, 200
# A table of one row with more columns than this is turned, so that it fits the width of a cell.
_MOST_COLUMNS = 6
_SMALL = "font-size:85%;opacity:.75"

Rows = Literal["first", "last", "even"]


def prose(text: str) -> str:
    """A sentence in which `names` are set as code."""
    return "".join(f"<code>{escape(part)}</code>" if name else escape(part) for part, name in parts_of(text))


def document(sentence: str, columns: Mapping[str, Sequence[Any]], notes: Iterable[str], rows: Rows = "first") -> str:
    """An answer as HTML. `rows`: those that are shown of a long table. Columns that are empty are left out."""
    filled = {name: values for name, values in columns.items() if not all(cell(value) in ("", "–") for value in values)}
    listed = "".join(f"<li>{prose(note)}</li>" for note in notes)
    return f"<p>{prose(sentence)}</p>{table(filled, rows)}" + (f"<ul>{listed}</ul>" if listed else "")


def table(columns: Mapping[str, Sequence[Any]], rows: Rows = "first") -> str:
    """The first, the last or an even selection of the rows, with a line that says how many there are."""
    n = max(map(len, columns.values()), default=0)
    if n == 0:
        return ""
    if n == 1 and len(columns) > _MOST_COLUMNS:
        return _element([(name, values[0]) for name, values in columns.items()])
    chosen = _chosen(n, rows)
    shown = _element([[values[i] for values in columns.values()] for i in chosen], head=list(columns))
    if len(chosen) == n:
        return shown
    which = {"first": "The first", "last": "The last", "even": "An even selection of"}[rows]
    return f"{shown}<p style='{_SMALL}'>{which} {len(chosen)} of {n:,} rows; <code>.to_frame()</code> has all.</p>"


def cell(value: Any) -> str:
    """A value of a table as text: numbers with four digits, and a dash if there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return number_text(value)
    text = str(value)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _chosen(n: int, rows: Rows) -> Sequence[int]:
    if n <= _MOST_ROWS or rows == "first":
        return range(min(n, _MOST_ROWS))
    if rows == "last":
        return range(n - _MOST_ROWS, n)
    return [round(i * (n - 1) / (_MOST_ROWS - 1)) for i in range(_MOST_ROWS)]


def _element(rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    header = "".join(f"<th style='text-align:left'>{escape(cell(name))}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    return f"<table>{f'<thead><tr>{header}</tr></thead>' if header else ''}<tbody>{body}</tbody></table>"
