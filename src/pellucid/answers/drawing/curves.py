"""Small multiples from plain data: panels of lines with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.base import add_band, style


@dataclass(frozen=True)
class Line:
    """A line of a panel; `low`, `high`: of its band, if it has one. Lines of one name share a legend entry."""

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
