"""Figures from records and plain data, and figures into files. Nothing is computed here; titles are findings.

Notation: curves and samples come by name, in the order in which the legend shall list them. Names of parameters and
choices are the user's: they are escaped wherever Plotly would read markup.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.records import PartialDependence

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


def against_truth(
    rows: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], truth: Sequence[float], *, title: str
) -> go.Figure:
    """Small multiples: a row per name, a column per moment, in each (mean, low, high) of a curve over its true form."""
    moments = list(next(iter(rows.values())))
    figure = make_subplots(
        rows=len(rows), cols=len(moments), shared_xaxes=True, shared_yaxes=True, column_titles=moments,
        row_titles=list(rows), horizontal_spacing=0.015, vertical_spacing=0.03,
    )  # fmt: skip
    x = [i / (len(truth) - 1) for i in range(len(truth))]
    for row, curves_of in enumerate(rows.values(), start=1):
        for col, (mean, low, high) in enumerate(curves_of.values(), start=1):
            figure.add_scatter(
                x=[*x, *x[::-1]], y=[*high, *list(low)[::-1]], fill="toself", fillcolor=_faint(COLOURS[0]),
                line={"width": 0}, hoverinfo="skip", showlegend=False, row=row, col=col,
            )  # fmt: skip
            first = row == col == 1
            figure.add_scatter(x=x, y=mean, mode="lines", name="estimated, 95 % band", showlegend=first,
                               line={"color": COLOURS[0], "width": 3}, row=row, col=col)  # fmt: skip
            figure.add_scatter(x=x, y=truth, mode="lines", name="true", showlegend=first,
                               line={"color": COLOURS[1], "width": 2, "dash": "dash"}, row=row, col=col)  # fmt: skip
    spread = max(truth) - min(truth)
    figure.update_yaxes(range=[min(truth) - 0.6 * spread, max(truth) + 0.6 * spread])
    _style(figure, title, 1100, 130 + 170 * len(rows))
    figure.update_layout(legend={"orientation": "h", "y": 1.06, "yanchor": "bottom", "x": 1.0, "xanchor": "right"},
                         margin={"t": 110})  # fmt: skip
    return figure


def draw(finding: object) -> go.Figure:
    """The figure of a record."""
    if isinstance(finding, PartialDependence):
        return _effect(finding) if len(finding.params) == 1 else _joint_effect(finding)
    raise TypeError(f"There is no figure for {type(finding).__name__}.")


# ---------------------------------------------------------------------- partial dependence


def _effect(found: PartialDependence) -> go.Figure:
    """The curve in its band, curves through single trials, the trials themselves and how many are near each value."""
    name, kind = found.params[0], found.axes[0]
    x = _shown(found.values[0], kind)
    figure = go.Figure()
    for curve in found.individual:
        if curve.low:
            _add_band(figure, x, curve.low, curve.high, COLOURS[1])
        figure.add_scatter(
            x=x, y=curve.mean, mode="lines", name=f"trial {curve.trial}", showlegend=bool(curve.low),
            line={"color": COLOURS[1] if curve.low else "#b8bec6", "width": 2 if curve.low else 1}, hoverinfo="name+y",
        )  # fmt: skip
    trials = [(v, y) for v, y in zip(found.trial_values[0], found.trial_objectives, strict=True) if v is not None]
    figure.add_scatter(
        x=_shown([v for v, _ in trials], kind, found.values[0]), y=[y for _, y in trials], mode="markers",
        name="trials", marker={"color": "#8a929c", "size": 4, "opacity": 0.6},
    )  # fmt: skip
    label = f"{'typical value' if found.typical else 'average'}, {100 * found.level:g} % band"
    if kind == "category":
        error = {
            "type": "data", "symmetric": False, "thickness": 2, "width": 8,
            "array": [h - m for h, m in zip(found.high, found.mean, strict=True)],
            "arrayminus": [m - l for m, l in zip(found.mean, found.low, strict=True)],
        }  # fmt: skip
        figure.add_scatter(x=x, y=found.mean, mode="markers", error_y=error, name=label,
                           marker={"color": COLOURS[0], "size": 10})  # fmt: skip
    else:
        _add_band(figure, x, found.low, found.high, COLOURS[0])
        # Dashed where the band is too wide to say anything, solid elsewhere.
        firm = [m if ok else None for m, ok in zip(found.mean, found.trusted, strict=True)]
        figure.add_scatter(x=x, y=found.mean, mode="lines", showlegend=False, hoverinfo="skip",
                           line={"color": COLOURS[0], "width": 2, "dash": "dot"})  # fmt: skip
        figure.add_scatter(x=x, y=firm, mode="lines", name=label, line={"color": COLOURS[0], "width": 3})
    nearby = {"name": "trials nearby", "yaxis": "y2", "showlegend": False,
              "hovertemplate": "%{y} trials nearby<extra></extra>"}  # fmt: skip
    if kind == "category":
        figure.add_bar(x=x, y=found.support, marker={"color": "#8a929c"}, opacity=0.5, **nearby)
    else:
        figure.add_scatter(x=x, y=found.support, mode="lines", fill="tozeroy", line={"color": "#8a929c", "width": 1,
                           "shape": "hvh"}, **nearby)  # fmt: skip
    _style(figure, "", 900, 560)
    _say(figure, found)
    figure.update_layout(
        yaxis={"domain": [0.16, 1.0], "title": "objective", "range": _reach(found)},
        yaxis2={"domain": [0.0, 0.1], "title": "trials", "nticks": 3, "anchor": "x"},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right"},
        bargap=0.2,
    )
    figure.update_xaxes(title=escape(name), anchor="y2", **_AXIS[kind])
    return figure


def _joint_effect(found: PartialDependence) -> go.Figure:
    """Two maps side by side: the average, and how far to believe it."""
    first, second = (list({repr(v): v for v in values}.values()) for values in found.values)
    rows, columns = len(second), len(first)

    def table(values: Sequence[Any]) -> list[list[Any]]:
        return [[values[i * rows + j] for i in range(columns)] for j in range(rows)]

    x, y = _shown(first, found.axes[0]), _shown(second, found.axes[1])
    half = [(h - l) / 2 for h, l in zip(found.high, found.low, strict=True)]
    believed = [m if ok else None for m, ok in zip(found.mean, found.trusted, strict=True)]
    what = "typical objective" if found.typical else "average objective"
    figure = make_subplots(cols=2, horizontal_spacing=0.16,
                           subplot_titles=(what, f"half-width of the {100 * found.level:g} % band"))  # fmt: skip
    figure.add_heatmap(
        x=x, y=y, z=table(believed), colorscale="Cividis", colorbar={"x": 0.43, "len": 0.9}, row=1, col=1
    )
    figure.add_heatmap(x=x, y=y, z=table(half), colorscale="Greys", colorbar={"x": 1.01, "len": 0.9}, row=1, col=2)
    pairs = [(a, b) for a, b in zip(*found.trial_values, strict=True) if a is not None and b is not None]
    for col in (1, 2):
        figure.add_scatter(
            x=_shown([a for a, _ in pairs], found.axes[0], first),
            y=_shown([b for _, b in pairs], found.axes[1], second),
            mode="markers", marker={"color": "white", "size": 6, "line": {"color": "black", "width": 1}},
            name="trials", showlegend=False, row=1, col=col,
        )  # fmt: skip
    _style(figure, "", 1080, 560)
    _say(figure, found)
    figure.update_layout(plot_bgcolor="#e9ecef")  # What is left blank is what cannot be told.
    figure.update_xaxes(title=escape(found.params[0]), **_AXIS[found.axes[0]])
    figure.update_yaxes(title=escape(found.params[1]), **_AXIS[found.axes[1]])
    return figure


_AXIS: dict[str, dict[str, Any]] = {
    "linear": {"type": "linear"},
    "log": {"type": "log", "exponentformat": "power", "dtick": 1},
    "category": {"type": "category"},
}


def _shown(values: Sequence[Any], kind: str, choices: Sequence[Any] = ()) -> list[Any]:
    """Numbers as they are; choices as escaped text, quoted where True, 'True' or 1 and '1' would look the same."""
    if kind != "category":
        return list(values)
    everything = [*choices, *values]
    alike = len({str(v) for v in everything}) < len({repr(v) for v in everything})
    return [escape(repr(v) if alike else str(v)) for v in values]


def _add_band(figure: go.Figure, x: Sequence[Any], low: Sequence[float], high: Sequence[float], colour: str) -> None:
    figure.add_scatter(
        x=[*x, *x[::-1]], y=[*high, *list(low)[::-1]], fill="toself", fillcolor=_faint(colour), line={"width": 0},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip


def _reach(found: PartialDependence) -> list[float] | None:
    """A range that shows the curve: a band that reaches to the horizon where nothing is known must not flatten it."""
    sure = [(l, h) for l, h, ok in zip(found.low, found.high, found.trusted, strict=True) if ok]
    if not sure:
        return None
    low = min(*(l for l, _ in sure), *found.trial_objectives)
    high = max(*(h for _, h in sure), *found.trial_objectives)
    margin = 0.05 * (high - low) or 1.0
    return [low - margin, high + margin]


def _say(figure: go.Figure, found: PartialDependence) -> None:
    """The finding as the title; reasons for doubt under it."""
    title = wrap(escape(found.verdict, quote=False), 92)
    doubts = wrap(escape(" ".join(found.alarms), quote=False), 125)
    lines = [*title, *(f"<span style='font-size:12px;color:#a03030'>{line}</span>" for line in doubts)]
    figure.update_layout(
        title={
            "text": "<br>".join(lines),
            "x": 0.01,
            "y": 1.0,
            "yanchor": "top",
            "pad": {"t": 16},
            "font": {"size": 15},
        },
        margin={"t": 62 + 20 * len(title) + 17 * len(doubts)},
    )


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
