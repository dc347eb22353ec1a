"""Predictions beside what trials returned."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.calibration import Calibration, PredictedTrial
from pellucid.answers.drawing.axes import beyond, edge_name, on_edge, point_symbols, reach
from pellucid.answers.drawing.base import LEGEND_ABOVE, cut, frame, say
from pellucid.answers.drawing.colours import CHOSEN, EXPLOIT, GREY, faint
from pellucid.words import OBJECTIVE, escape, number_text

# Points that a figure can show legibly.
_MOST_POINTS = 1000
# |z| that the right panel shows; larger ones lie on its edge.
_LARGEST_Z = 6.0


def calibration(record: Calibration) -> go.Figure:
    """Left: observed against predicted, with intervals. Right: z over the trials, with the interval of the level."""
    q = NormalDist().inv_cdf(0.5 + 0.5 * record.level)
    every = max(1, -(-len(record.rows) // _MOST_POINTS))
    rows = record.rows[::every]
    inside = [row for row in rows if abs(row.z) <= q]
    outside = [row for row in rows if abs(row.z) > q]
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.14, column_widths=[0.5, 0.5])
    shown = reach([value for row in rows for value in (row.predicted, row.observed)])
    for group, name, colour in ((inside, "held", EXPLOIT), (outside, "missed", CHOSEN)):
        if group:
            _predicted(figure, group, f"{name} ({100 * record.level:.4g}% interval)", colour, q, shown)
            _scores(figure, group, colour)
    figure.add_scatter(x=shown, y=shown, mode="lines", line={"color": GREY, "width": 1, "dash": "dash"},
                       hoverinfo="skip", showlegend=False, row=1, col=1)  # fmt: skip
    figure.add_hrect(y0=-q, y1=q, fillcolor=faint(EXPLOIT), line_width=0, layer="below", row=1, col=2)
    figure.add_hline(y=0.0, line={"color": GREY, "width": 1, "dash": "dash"}, row=1, col=2)
    for i, window in enumerate(record.windows):
        text = f"mean {number_text(window.z_mean, '+.2f')}, {window.coverage:.0%} held<extra></extra>"
        figure.add_scatter(x=[window.first, window.last], y=[window.z_mean] * 2, mode="lines", showlegend=i == 0,
                           name="mean", line={"color": CHOSEN, "width": 3}, hovertemplate=text, row=1,
                           col=2)  # fmt: skip
    frame(figure, "", 900, 460)
    doubts = [*record.notes]
    if every > 1:
        doubts.append(f"One in {every} predictions is shown.")
    say(figure, record.sentence, doubts)
    what = "" if record.objective == OBJECTIVE else f" {escape(cut(record.objective))}"
    figure.update_xaxes(title=f"predicted{what}", range=shown, row=1, col=1)
    figure.update_yaxes(title=f"observed{what}", range=shown, row=1, col=1)
    figure.update_xaxes(title="trial", row=1, col=2)
    largest = min(_LARGEST_Z, max(3.0, *(abs(row.z) for row in rows))) * 1.08
    figure.update_yaxes(title="(observed − predicted) / sd", range=[-largest, largest], row=1, col=2)
    figure.update_layout(legend=LEGEND_ABOVE)
    return figure


def _predicted(
    figure: go.Figure, rows: Sequence[PredictedTrial], name: str, colour: str, q: float, shown: Sequence[float]
) -> None:
    x, y = ([getattr(row, what) for row in rows] for what in ("predicted", "observed"))
    figure.add_scatter(
        x=on_edge(x, shown), y=on_edge(y, shown), mode="markers",
        name=edge_name(name, sum(beyond(pair, shown) > 0 for pair in zip(x, y, strict=True))),
        marker={"color": colour, "size": 6, "opacity": 0.75, "symbol": point_symbols(x, y, shown, shown, "circle")},
        error_x={"type": "data", "array": [q * row.sd for row in rows], "color": faint(colour), "width": 0},
        text=[f"trial {row.trial}: predicted {number_text(row.predicted, '.6g')}, "
              f"observed {number_text(row.observed, '.6g')}" for row in rows],
        hoverinfo="text", row=1, col=1,
    )  # fmt: skip


def _scores(figure: go.Figure, rows: Sequence[PredictedTrial], colour: str) -> None:
    figure.add_scatter(
        x=[row.trial for row in rows], y=[max(-_LARGEST_Z, min(_LARGEST_Z, row.z)) for row in rows], mode="markers",
        marker={"color": colour, "size": 6, "opacity": 0.75}, showlegend=False,
        customdata=[number_text(row.z, "+.2f") for row in rows],
        hovertemplate="trial %{x}: %{customdata} sd<extra></extra>", row=1, col=2,
    )  # fmt: skip
