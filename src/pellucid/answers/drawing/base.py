"""What all figures share: colours, style, escaping of the user's names, and writing a figure to a file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go
import plotly.io
from plotly.io import to_json
from plotly.offline import get_plotlyjs

from pellucid.answers import catalogue
from pellucid.answers.base import resolve
from pellucid.answers.drawing.colours import faint
from pellucid.files import make_folder, write_atomically
from pellucid.words import escape, parts_of, printable

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
LEGEND_ABOVE = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right"}
# Pixels above a figure whose title is text beside it: room for its legend.
TOP = 34
# Longer names are cut: they would take the figure's width.
_LONGEST_NAME = 30
_TEMPLATE = "simple_white"
_FONT = "DejaVu Sans, Arial, sans-serif"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def draw(record: object, what: str | None = None) -> go.Figure:
    """The figure of a record, or the one called `what` if there are several."""
    figure = bare(record, what)
    figure.layout.template = _TEMPLATE
    return figure


def show(record: object) -> None:
    """Show the figure of a record in a notebook that has the record's sentence and notes above it: without its title,
    as wide as the cell. Shows nothing if there is no such figure."""
    if not drawings_of(record):
        return
    figure = draw(record)
    layout = figure.layout
    layout.height += TOP - layout.margin.t
    layout.margin.t = TOP
    layout.title = layout.meta = None
    try:
        plotly.io.show(figure)
    except ValueError:  # Plotly wants nbformat, which may be installed only where the notebook's server is.
        from IPython.display import display

        display({"application/vnd.plotly.v1+json": json.loads(to_json(figure, validate=False))}, raw=True)


def bare(record: object, what: str | None = None) -> go.Figure:
    """`draw` without a template, for pages that store it once: Plotly copies it into every figure, which takes as long
    as drawing."""
    drawings = drawings_of(record)
    if not drawings:
        raise TypeError(f"There is no figure for {type(record).__name__}.")
    if what is not None and what not in drawings:
        names = " or ".join(map(repr, drawings))
        raise ValueError(printable(f"{type(record).__name__} is drawn as {names}, but got {what!r}."))
    drawing = resolve(next(iter(drawings.values())) if what is None else drawings[what])
    figure: go.Figure = drawing(record)
    figure.layout.width = None  # As wide as the page, the cell or the card that shows it.
    return figure


def drawings_of(record: object) -> Mapping[str, str]:
    """References to the functions that draw a record, by the name of the figure; the first one is drawn unless another
    is named. None if no answer of the catalogue is such a record."""
    kinds = (figures for answer in catalogue.CATALOGUE for figures in answer.records.items())
    return next((figures for kind, figures in kinds if resolve(kind) is type(record)), {})


def cut(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def labels(names: Sequence[str]) -> list[str]:
    """Names as labels: escaped, and cut if they are long and stay different."""
    short = [cut(name) for name in names]
    return [escape(name) for name in (short if len(set(short)) == len(set(names)) else names)]


def say(figure: go.Figure, finding: str, doubts: Sequence[str], *, width: int = 92) -> int:
    """Set the finding as the title, with reasons for doubt below it. Returns the height of both."""
    title = wrap(escape(finding, quote=False), width)
    under = wrap(escape(" ".join(doubts), quote=False), round(1.36 * width))
    lines = [*title, *(f"<span style='font-size:12px;color:#a03030'>{line}</span>" for line in under)]
    top = 62 + 20 * len(title) + 17 * len(under)
    figure.layout.margin.t = top
    figure.update_layout(
        overwrite=True,  # In place of merging, which takes longer.
        title={
            "text": bold_names("<br>".join(lines)),
            "x": 0.01,
            "y": 1.0,
            "yanchor": "top",
            "pad": {"t": 16},
            "font": {"size": 15},
        },
        # For pages that set the finding as text of their own.
        meta={"finding": escape(finding), "doubts": [escape(doubt) for doubt in doubts]},
    )
    return top


def bold_names(text: str) -> str:
    """Names between backticks in bold, which is the markup that Plotly has for them."""
    return "".join(f"<b>{part}</b>" if name else part for part, name in parts_of(text))


def add_band(
    figure: go.Figure, x: Sequence[Any], low: Sequence[float], high: Sequence[float], colour: str, **where: int
) -> None:
    figure.add_scatter(
        x=[*x, *list(x)[::-1]], y=[*high, *list(low)[::-1]], mode="lines", fill="toself", fillcolor=faint(colour),
        line={"width": 0}, hoverinfo="skip", showlegend=False, **where,
    )  # fmt: skip


def style(figure: go.Figure, title: str, width: int, height: int) -> None:
    """Title, size, margins, font and template of a figure that is not a record's."""
    frame(figure, title, width, height)
    figure.layout.template = _TEMPLATE


def frame(figure: go.Figure, title: str, width: int, height: int) -> None:
    """`style` without the template, which `draw` adds."""
    figure.update_layout(
        overwrite=True,
        title={"text": title, "x": 0.01, "font": {"size": 18}},
        width=width,
        height=height,
        margin={"l": 70, "r": 30, "t": 60, "b": 60},
        font={"family": _FONT, "size": 13},
    )


def browser() -> str | None:
    """A Chromium that can take a picture of a figure: `$CHROMIUM`, or the first of the usual names that is found."""
    named = os.environ.get("CHROMIUM")
    return named if named else next((name for name in _BROWSERS if shutil.which(name)), None)


def script() -> str:
    """The script that a page needs to draw figures."""
    return str(get_plotlyjs())


def stored(figure: go.Figure) -> dict[str, Any]:
    """A figure as a page stores it: plain data, with numbers rounded to what a screen shows."""
    return dict(json.loads(to_json(figure, validate=False, engine="json"), parse_float=_rounded))


def template() -> dict[str, Any]:
    """The template that all figures share."""
    return dict(stored(go.Figure(layout={"template": _TEMPLATE}))["layout"]["template"])


def _rounded(text: str) -> float:
    """Six digits: more than a screen shows, at half the size."""
    return float(f"{float(text):.6g}")


def save(figure: go.Figure, path: Path) -> None:
    """Write a figure as a page that needs no network (.html), or as a picture that a browser takes of it (.png)."""
    make_folder(path.parent)
    if path.suffix == ".html":
        write_atomically(path, figure.to_html(include_plotlyjs=True).encode())
        return
    program = browser()
    if path.suffix != ".png" or program is None:
        raise ValueError(printable(f"A figure is saved as .html, or as .png if Chromium is installed, but got {path}."))
    size = f"{figure.layout.width or 1000},{figure.layout.height or 560}"
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder) / "figure.html", Path(folder) / "figure.png"
        figure.write_html(page, include_plotlyjs=True, config={"staticPlot": True})
        page.write_text(page.read_text(encoding="utf-8").replace("<body>", "<body style='margin:0'>"), encoding="utf-8")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        subprocess.run(
            [program, *flags, f"--user-data-dir={folder}/profile", "--hide-scrollbars", f"--window-size={size}",
             "--virtual-time-budget=5000", f"--screenshot={picture}", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip
        write_atomically(path, picture.read_bytes())
