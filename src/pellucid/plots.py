"""Figures from plain data, and figures into files. Nothing is computed here; titles are the caller's findings.

Notation: curves and samples come by name, in the order in which the legend shall list them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import plotly.graph_objects as go

# Colours that differ in lightness too, so that a figure survives greyscale and colour-blindness.
COLOURS = ("#0b3c6f", "#d1495b", "#e8a33d", "#3f8f6b", "#8d6fb0", "#5aa9c7", "#7a4b2a", "#c97fa7", "#4d4d4d")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_FONT = "DejaVu Sans, Arial, sans-serif"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def curves(
    lines: Mapping[str, Sequence[float]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    first_x: int = 1,
    bold: Sequence[str] = (),
    width: int = 1000,
    height: int = 560,
) -> go.Figure:
    """Lines over a count, labelled at their right end; `bands` (low, high) are shaded; `bold` lines stand out."""
    figure = go.Figure()
    for i, (name, y) in enumerate(lines.items()):
        x = list(range(first_x, first_x + len(y)))
        colour = COLOURS[i % len(COLOURS)]
        if bands and name in bands:
            low, high = bands[name]
            figure.add_scatter(
                x=[*x, *x[::-1]], y=[*high, *list(low)[::-1]], fill="toself", fillcolor=_faint(colour),
                line={"width": 0}, hoverinfo="skip", showlegend=False,
            )  # fmt: skip
        figure.add_scatter(
            x=x,
            y=list(y),
            name=name,
            mode="lines",
            line={
                "color": colour,
                "width": 4 if name in bold else 1.6,
                "dash": DASHES[i // len(COLOURS) % len(DASHES)],
            },
        )
    _style(figure, title, width, height)
    figure.update_xaxes(title=x_title)
    figure.update_yaxes(title=y_title)
    return figure


def boxes(
    samples: Mapping[str, Sequence[float]], *, title: str, x_title: str, bold: Sequence[str] = (), width: int = 1000
) -> go.Figure:
    """One horizontal box per name, every value shown beside it."""
    figure = go.Figure()
    for name in reversed(list(samples)):
        colour = COLOURS[0] if name in bold else "#7f8c99"
        figure.add_box(x=list(samples[name]), name=name, boxpoints="all", jitter=0.4, pointpos=0, marker_color=colour)
    _style(figure, title, width, 90 + 34 * len(samples))
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title=x_title)
    return figure


def _style(figure: go.Figure, title: str, width: int, height: int) -> None:
    figure.update_layout(
        template="simple_white",
        title={"text": title, "x": 0.01, "font": {"size": 18}},
        width=width,
        height=height,
        margin={"l": 70, "r": 30, "t": 60, "b": 60},
        font={"family": _FONT, "size": 13},
    )


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


def browser() -> str | None:
    """A Chromium that can draw a figure as a picture: `$CHROMIUM`, or the first of the usual names that is here."""
    named = os.environ.get("CHROMIUM")
    return named if named else next((name for name in _BROWSERS if shutil.which(name)), None)


def save(figure: go.Figure, path: Path) -> None:
    """As a page that needs no network (.html), or as a picture of it that a real browser drew (.png)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".html":
        figure.write_html(path, include_plotlyjs=True)
        return
    program = browser()
    if path.suffix != ".png" or program is None:
        raise ValueError(f"A figure is saved as .html, or as .png where a Chromium is installed; got {path}.")
    size = f"{figure.layout.width or 1000},{figure.layout.height or 560}"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "figure.html"
        figure.write_html(page, include_plotlyjs=True, config={"staticPlot": True})
        page.write_text(page.read_text(encoding="utf-8").replace("<body>", "<body style='margin:0'>"), encoding="utf-8")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        subprocess.run(
            [program, *flags, f"--user-data-dir={folder}/profile", "--hide-scrollbars", f"--window-size={size}",
             "--virtual-time-budget=5000", f"--screenshot={path.resolve()}", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip
