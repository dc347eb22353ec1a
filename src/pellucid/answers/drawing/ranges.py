"""The ranges of a study: where trials are, where the best of them are, and what to change."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from pellucid.answers.drawing.base import LEGEND_ABOVE, cut, frame, labels, say
from pellucid.answers.drawing.colours import GREY, PALE, parameter_colour
from pellucid.answers.ranges.records import ParameterRanges, RangeAdvice
from pellucid.words import escape

_FILLS = {"widen": "rgba(63,143,107,0.30)", "narrow": "rgba(138,146,156,0.35)", "drop": "rgba(209,73,91,0.30)"}
_SIGNS = {"widen": "widen", "narrow": "nothing as good here", "drop": "drop"}
# Trials and ticks that a strip can show legibly.
_MOST_POINTS, _MOST_TICKS = 400, 8


def ranges(record: ParameterRanges) -> go.Figure:
    """A strip per parameter: grey trials below, the best in the parameter's colour above, advice as shaded parts."""
    figure = go.Figure()
    # From the bottom up, so that the most certain advice is on top.
    advised = list(dict.fromkeys(advice.param for advice in record.advice))
    order = [*advised, *(axis.param for axis in record.axes if axis.param not in advised)]
    axes = sorted(record.axes, key=lambda axis: -order.index(axis.param))
    row_of = {axis.param: i for i, axis in enumerate(axes)}
    shapes, notes = [], []
    for advice in record.advice:
        row = row_of[advice.param]
        shapes.append({"type": "rect", "x0": advice.start, "x1": advice.stop, "y0": row - 0.38, "y1": row + 0.38,
                       "line": {"width": 0}, "fillcolor": _FILLS[advice.what], "layer": "below"})  # fmt: skip
        edge = {"widen": "left" if advice.start == 0.0 else "right"}.get(advice.what, "center")
        at = {"left": 0.0, "right": 1.0, "center": 0.5 * (advice.start + advice.stop)}[edge]
        text = {"left": "◀ widen", "right": "widen ▶"}.get(edge, _SIGNS[advice.what])
        notes.append({"x": at, "y": row + 0.36, "text": text, "showarrow": False, "xanchor": edge, "yanchor": "top",
                      "font": {"size": 10}})  # fmt: skip
    for axis in axes:
        row = row_of[axis.param]
        for x, y, look in (
            (
                _some(axis.others),
                row - 0.12,
                {"symbol": "line-ns", "size": 10, "opacity": 0.5, "line": {"color": GREY, "width": 1.2}},
            ),
            (_some(axis.best), row + 0.08, {"color": parameter_colour(axis.position), "size": 8, "symbol": "diamond"}),
        ):
            figure.add_scatter(x=[round(u, 3) for u in x], y=[y] * len(x), mode="markers", hoverinfo="skip",
                               showlegend=False, marker=look)  # fmt: skip
        # As many as fit, and the choices to drop.
        ticks = [tick for k, tick in enumerate(axis.ticks) if k == 0 or tick[1] != axis.ticks[k - 1][1]]
        every = max(1, -(-len(ticks) // _MOST_TICKS))
        dropped = [piece for piece in record.advice if piece.param == axis.param and piece.what == "drop"]
        notes += [
            {"x": at, "y": row - 0.42, "text": escape(cut(text)), "showarrow": False, "yanchor": "middle",
             "font": {"size": 9}} for k, (at, text) in enumerate(ticks)
            if k % every == 0 or any(piece.start < at < piece.stop for piece in dropped)
        ]  # fmt: skip
    figure.update_layout(shapes=shapes, annotations=notes)
    for name, symbol in (("the best tenth, in the parameter's colour", "diamond"), ("other trials", "line-ns")):
        look = {"color": GREY, "symbol": symbol, "size": 9, "line": {"color": GREY, "width": 1.2}}
        figure.add_scatter(x=[None], y=[None], mode="markers", name=name, marker=look)
    frame(figure, "", 900, 200 + 62 * len(axes))
    most = max((max(len(axis.others), len(axis.best)) for axis in axes), default=0)
    left_out = [f"At most {_MOST_POINTS} trials of a kind are shown."] if most > _MOST_POINTS else []
    top = say(figure, record.sentence, [*record.notes, *left_out])
    figure.update_layout(height=top + 40 + 62 * len(axes), margin={"b": 40},
                         legend=LEGEND_ABOVE)  # fmt: skip
    figure.update_xaxes(visible=False, range=[-0.03, 1.03])
    figure.update_yaxes(tickvals=list(range(len(axes))), ticktext=labels([axis.param for axis in axes]), ticks="",
                        showline=False, automargin=True, range=[-0.6, len(axes) - 0.4], gridcolor=PALE)  # fmt: skip
    return figure


def _some(places: Sequence[float]) -> Sequence[float]:
    """As many as can be shown, evenly."""
    return places[:: max(1, -(-len(places) // _MOST_POINTS))]


def advice(record: RangeAdvice) -> go.Figure:
    """The range as a line, with the part that the advice is about shaded."""
    figure = go.Figure()
    figure.add_scatter(x=[0.0, 1.0], y=[0.0, 0.0], mode="lines+markers", hoverinfo="skip", showlegend=False,
                       line={"color": GREY, "width": 2}, marker={"symbol": "line-ns", "size": 14,
                       "line": {"color": GREY, "width": 2}})  # fmt: skip
    figure.add_shape(type="rect", x0=record.start, x1=record.stop, y0=-0.5, y1=0.5, line_width=0, layer="below",
                     fillcolor=_FILLS[record.what])  # fmt: skip
    figure.add_annotation(x=0.5 * (record.start + record.stop), y=0.5, text=_SIGNS[record.what], showarrow=False,
                          yanchor="bottom")  # fmt: skip
    frame(figure, "", 900, 200)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 100, margin={"t": top, "b": 50})
    figure.update_xaxes(visible=False, range=[-0.05, 1.05])
    figure.update_yaxes(tickvals=[0.0], ticktext=labels([record.param]), ticks="", showline=False, range=[-1.0, 1.2],
                        automargin=True)  # fmt: skip
    return figure
