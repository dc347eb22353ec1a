"""The ranges of a study as axes: where trials are, where the best of them are, and what to change."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from pellucid.plots.base import CHOSEN, GREY, LEGEND_ABOVE, PALE, cut, labels, parameter_colour, say, style
from pellucid.records import ParameterRanges

_FILLS = {"widen": "rgba(63,143,107,0.30)", "narrow": "rgba(138,146,156,0.35)", "drop": "rgba(209,73,91,0.30)"}
_SIGNS = {"widen": "widen", "narrow": "nothing good here", "drop": "drop"}
_MOST_POINTS = 400
_MOST_TICKS = 8


def ranges(found: ParameterRanges) -> go.Figure:
    """A strip per parameter: grey trials below, the best in the parameter's colour above, advice as shaded parts."""
    figure = go.Figure()
    # From the bottom up, so that the surest advice is on top.
    advised = list(dict.fromkeys(one.param for one in found.advice))
    order = [*advised, *(axis.param for axis in found.axes if axis.param not in advised)]
    axes = sorted(found.axes, key=lambda axis: -order.index(axis.param))
    row_of = {axis.param: i for i, axis in enumerate(axes)}
    shapes, notes = [], []
    for one in found.advice:
        row = row_of[one.param]
        shapes.append({"type": "rect", "x0": one.start, "x1": one.stop, "y0": row - 0.38, "y1": row + 0.38,
                       "line": {"width": 0}, "fillcolor": _FILLS[one.what], "layer": "below"})  # fmt: skip
        edge = {"widen": "left" if one.start == 0.0 else "right"}.get(one.what, "center")
        at = {"left": 0.0, "right": 1.0, "center": 0.5 * (one.start + one.stop)}[edge]
        text = {"left": "◀ widen", "right": "widen ▶"}.get(edge, _SIGNS[one.what])
        notes.append({"x": at, "y": row + 0.36, "text": text, "showarrow": False, "xanchor": edge, "yanchor": "top",
                      "font": {"size": 10}})  # fmt: skip
    for axis in axes:
        row = row_of[axis.param]
        step = max(1, -(-len(axis.others) // _MOST_POINTS))
        for x, y, look in (
            (axis.others[::step], row - 0.12, {"color": GREY, "size": 5, "opacity": 0.35}),
            (axis.best, row + 0.08, {"color": parameter_colour(axis.param), "size": 8, "symbol": "diamond"}),
        ):
            figure.add_scatter(x=[round(u, 3) for u in x], y=[y] * len(x), mode="markers", hoverinfo="skip",
                               showlegend=False, marker=look)  # fmt: skip
        # All that fit, and whatever the advice is about.
        every = max(1, -(-len(axis.ticks) // _MOST_TICKS))
        mine = [one for one in found.advice if one.param == axis.param and one.what == "drop"]
        notes += [
            {"x": at, "y": row - 0.42, "text": escape(cut(text)), "showarrow": False, "yanchor": "middle",
             "font": {"size": 9}} for k, (at, text) in enumerate(axis.ticks)
            if k % every == 0 or any(one.start < at < one.stop for one in mine)
        ]  # fmt: skip
    figure.update_layout(shapes=shapes, annotations=notes)
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
