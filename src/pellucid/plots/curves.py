"""Figures from plain data: curves over a count, boxes, curves over their true form.

Notation: curves and samples come by name, in the order in which the legend shall list them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.plots.base import COLOURS, DASHES, add_band, style


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
            add_band(figure, x, low, high, colour)
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
    style(figure, title, width, height)
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
    style(figure, title, width, 90 + 34 * len(samples))
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title=x_title)
    return figure


@dataclass(frozen=True)
class Line:
    """A line of a panel; `low`, `high`: of its band, where it has one. Lines of one name share a legend entry."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dash: str = "solid"
    width: float = 2.0


def panels(
    shown: Mapping[str, Sequence[Line]], *, columns: int, x_title: str, y_title: str, width: int = 1080
) -> go.Figure:
    """Small multiples on common axes, one panel per title; without a title of its own (see `base.say`)."""
    names = list(shown)
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    figure = make_subplots(rows=rows, cols=columns, shared_xaxes="all", shared_yaxes="all", horizontal_spacing=0.03,
                           vertical_spacing=0.32 / max(rows, 2), subplot_titles=names)  # fmt: skip
    listed = set()
    for i, lines in enumerate(shown.values()):
        where = {"row": i // columns + 1, "col": i % columns + 1}
        for line in lines:
            if len(line.low):
                add_band(figure, line.x, line.low, line.high, line.colour, **where)
            look = {"color": line.colour, "width": line.width, "dash": line.dash}
            mode = "lines" if len(line.x) > 1 else "markers"  # A line needs two points.
            figure.add_scatter(x=list(line.x), y=list(line.y), mode=mode, line=look, name=line.name, **where,
                               legendgroup=line.name, showlegend=line.name not in listed)  # fmt: skip
            listed.add(line.name)
    style(figure, "", width, 180 + 210 * rows)
    below = -62 / (210 * rows)  # Pixels, as a share of the panels' height: under the axis titles.
    figure.update_layout(legend={"orientation": "h", "y": below, "yanchor": "top", "x": 0.5, "xanchor": "center"},
                         margin={"b": 100})  # fmt: skip
    figure.update_xaxes(showticklabels=True)
    figure.update_yaxes(exponentformat="power", zeroline=True, zerolinewidth=1.2, zerolinecolor="#888888")
    for last in range(len(names) - columns, len(names)):
        figure.update_xaxes(title=x_title, row=last // columns + 1, col=last % columns + 1)
    figure.update_yaxes(title=y_title, col=1)
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
            add_band(figure, x, low, high, COLOURS[0], row=row, col=col)
            first = row == col == 1
            figure.add_scatter(x=x, y=mean, mode="lines", name="estimated, 95 % band", showlegend=first,
                               line={"color": COLOURS[0], "width": 3}, row=row, col=col)  # fmt: skip
            figure.add_scatter(x=x, y=truth, mode="lines", name="true", showlegend=first,
                               line={"color": COLOURS[1], "width": 2, "dash": "dash"}, row=row, col=col)  # fmt: skip
    spread = max(truth) - min(truth)
    figure.update_yaxes(range=[min(truth) - 0.6 * spread, max(truth) + 0.6 * spread])
    style(figure, title, 1100, 130 + 170 * len(rows))
    figure.update_layout(legend={"orientation": "h", "y": 1.06, "yanchor": "bottom", "x": 1.0, "xanchor": "right"},
                         margin={"t": 110})  # fmt: skip
    return figure
