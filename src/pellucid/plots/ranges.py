"""The ranges of a study as axes: where trials are, where the best of them are, and what to change."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from pellucid.plots.base import CHOSEN, GREY, LEGEND_ABOVE, PALE, cut, labels, parameter_colour, say, style
from pellucid.records import ParameterRanges

_FILLS = {"widen": "rgba(63,143,107,0.30)", "narrow": "rgba(138,146,156,0.35)", "drop": "rgba(209,73,91,0.30)"}
_SIGNS = {"widen": "widen", "narrow": "nothing good here", "drop": "drop"}
_MOST_POINTS = 400


def ranges(found: ParameterRanges) -> go.Figure:
    """A strip per parameter: grey trials below, the best in the parameter's colour above, advice as shaded parts."""
    figure = go.Figure()
    advised = {one.param for one in found.advice}
    # From the bottom up: those with advice come out on top.
    axes = [*(a for a in found.axes if a.param not in advised), *(a for a in found.axes if a.param in advised)]
    row_of = {axis.param: i for i, axis in enumerate(axes)}
    for one in found.advice:
        row = row_of[one.param]
        figure.add_shape(type="rect", x0=one.start, x1=one.stop, y0=row - 0.38, y1=row + 0.38, line={"width": 0},
                         fillcolor=_FILLS[one.what], layer="below")  # fmt: skip
        edge = {"widen": "left" if one.start == 0.0 else "right"}.get(one.what, "center")
        at = {"left": 0.0, "right": 1.0, "center": 0.5 * (one.start + one.stop)}[edge]
        text = {"left": "◀ widen", "right": "widen ▶"}.get(edge, _SIGNS[one.what])
        figure.add_annotation(x=at, y=row + 0.36, text=text, showarrow=False, xanchor=edge, yanchor="top",
                              font={"size": 10})  # fmt: skip
    for axis in axes:
        row = row_of[axis.param]
        step = max(1, -(-len(axis.others) // _MOST_POINTS))
        some = axis.others[::step]
        figure.add_scatter(x=some, y=[row - 0.12] * len(some), mode="markers", hoverinfo="skip", showlegend=False,
                           marker={"color": GREY, "size": 5, "opacity": 0.35})  # fmt: skip
        figure.add_scatter(x=axis.best, y=[row + 0.08] * len(axis.best), mode="markers", hoverinfo="skip",
                           showlegend=False, marker={"color": parameter_colour(axis.param), "size": 8,
                                                     "symbol": "diamond"})  # fmt: skip
        every = max(1, -(-len(axis.ticks) // 6))
        for k, (at, text) in enumerate(axis.ticks):
            if k % every == 0:
                figure.add_annotation(x=at, y=row - 0.42, text=escape(cut(text)), showarrow=False, yanchor="middle",
                                      font={"size": 9})  # fmt: skip
    for name, colour, symbol in (("the best tenth", CHOSEN, "diamond"), ("other trials", GREY, "circle")):
        figure.add_scatter(x=[None], y=[None], mode="markers", name=name, marker={"color": colour, "symbol": symbol})
    style(figure, "", 900, 200 + 62 * len(axes))
    top = say(figure, str(found), [])
    figure.update_layout(height=top + 40 + 62 * len(axes), margin={"b": 40},
                         legend=LEGEND_ABOVE)  # fmt: skip
    figure.update_xaxes(visible=False, range=[-0.03, 1.03])
    figure.update_yaxes(tickvals=list(range(len(axes))), ticktext=labels([axis.param for axis in axes]), ticks="",
                        showline=False, automargin=True, range=[-0.6, len(axes) - 0.4], gridcolor=PALE)  # fmt: skip
    return figure
