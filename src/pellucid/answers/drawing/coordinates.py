"""Trials as lines through the values of their parameters."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from pellucid.answers.coordinates import ParallelCoordinates
from pellucid.answers.drawing.base import LEGEND_ABOVE, cut, frame, labels, say
from pellucid.answers.drawing.colours import CHOSEN, GREY
from pellucid.words import escape

# Lines of other trials, axes and ticks per axis that a figure can show legibly.
_MOST_OTHERS, _MOST_BEST, _MOST_AXES, _MOST_TICKS = 250, 60, 14, 7


def coordinates(record: ParallelCoordinates) -> go.Figure:
    """An axis per parameter, in the study's order; the best trials as bold lines, others as faint ones."""
    figure = go.Figure()
    axes = record.axes[:_MOST_AXES]
    others, best = ([places for places, good in zip(record.places, record.best, strict=True) if good is wanted]
                    for wanted in (False, True))  # fmt: skip
    names = ("other trials", "the best")
    for name, group, most, colour, width, opacity in (
        (names[0], others, _MOST_OTHERS, GREY, 1.0, 0.35),
        (names[1], best, _MOST_BEST, CHOSEN, 2.0, 0.8),
    ):
        x, y = _lines(_even(group, most), len(axes))
        figure.add_scatter(x=x, y=y, mode="lines", name=name, line={"color": colour, "width": width}, opacity=opacity,
                           hoverinfo="skip", connectgaps=False)  # fmt: skip
    notes = []
    for i, axis in enumerate(axes):
        figure.add_shape(type="line", x0=i, x1=i, y0=0.0, y1=1.0, line={"color": GREY, "width": 1}, layer="below")
        every = max(1, -(-len(axis.ticks) // _MOST_TICKS))
        notes += [{"x": i, "y": place, "text": escape(cut(text)), "showarrow": False, "xanchor": "left", "xshift": 3,
                   "font": {"size": 10}} for place, text in axis.ticks[::every]]  # fmt: skip
    frame(figure, "", 900, 400)
    doubts = [*record.notes]
    if len(axes) < len(record.axes):
        doubts.append(f"{len(axes)} of {len(record.axes)} parameters are shown.")
    if len(others) > _MOST_OTHERS:
        doubts.append(f"{_MOST_OTHERS} of {len(others)} other trials are shown.")
    top = say(figure, record.sentence, doubts)
    figure.update_layout(height=top + 380, annotations=notes, legend=LEGEND_ABOVE, margin={"b": 70})
    angle = {"tickangle": 30} if len(axes) > 6 else {}
    figure.update_xaxes(tickvals=list(range(len(axes))), ticktext=labels([axis.param for axis in axes]), ticks="",
                        showline=False, range=[-0.2, len(axes) - 0.4], automargin=True, **angle)  # fmt: skip
    figure.update_yaxes(visible=False, range=[-0.06, 1.06])
    return figure


def _lines(trials: Sequence[Sequence[float | None]], width: int) -> tuple[list[float | None], list[float | None]]:
    """One trace for all: a gap ends every line, and interrupts it where a trial lacks a parameter."""
    x: list[float | None] = []
    y: list[float | None] = []
    for places in trials:
        x += [*map(float, range(width)), None]
        y += [*places[:width], None]
    return x, y


def _even(trials: Sequence[Sequence[float | None]], most: int) -> list[Sequence[float | None]]:
    """At most so many, spread evenly."""
    if len(trials) <= most:
        return list(trials)
    return [trials[round(i * (len(trials) - 1) / (most - 1))] for i in range(most)]
