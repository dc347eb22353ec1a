"""Predictions beside what trials returned."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import NormalDist, quantiles

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.plots.base import CHOSEN, EXPLOIT, GREY, LEGEND_ABOVE, cut, draws, faint, frame, say
from pellucid.records import OBJECTIVE, Calibration, PredictedTrial

# Points that a figure can show legibly.
_MOST_POINTS = 1000
# Values outside the middle 90% by more than this many times its width are beyond the edge of the figure.
_FAR = 1.0
# |z| that the right panel shows; larger ones lie on its edge.
_LARGEST_Z = 6.0


@draws(Calibration)
def calibration(record: Calibration) -> go.Figure:
    """Left: observed against predicted, with intervals. Right: z over the trials, with the interval of the level."""
    q = NormalDist().inv_cdf(0.5 + 0.5 * record.level)
    every = max(1, -(-len(record.rows) // _MOST_POINTS))
    rows = record.rows[::every]
    inside = [row for row in rows if abs(row.z) <= q]
    outside = [row for row in rows if abs(row.z) > q]
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.11, column_widths=[0.5, 0.5])
    for group, name, colour in ((inside, "held", EXPLOIT), (outside, "missed", CHOSEN)):
        if group:
            _predicted(figure, group, f"{name} ({100 * record.level:.4g}% interval)", colour, q)
            _scores(figure, group, colour)
    reach = _reach([value for row in rows for value in (row.predicted, row.observed)])
    beyond = sum(not reach[0] <= value <= reach[1] for row in rows for value in (row.predicted, row.observed))
    figure.add_scatter(x=reach, y=reach, mode="lines", line={"color": GREY, "width": 1, "dash": "dash"},
                       hoverinfo="skip", showlegend=False, row=1, col=1)  # fmt: skip
    figure.add_hrect(y0=-q, y1=q, fillcolor=faint(EXPLOIT), line_width=0, layer="below", row=1, col=2)
    figure.add_hline(y=0.0, line={"color": GREY, "width": 1, "dash": "dash"}, row=1, col=2)
    for i, window in enumerate(record.windows):
        text = f"mean {window.z_mean:+.2f}, {window.coverage:.0%} held<extra></extra>"
        figure.add_scatter(x=[window.first, window.last], y=[window.z_mean] * 2, mode="lines", showlegend=i == 0,
                           name="mean", line={"color": CHOSEN, "width": 3}, hovertemplate=text, row=1,
                           col=2)  # fmt: skip
    frame(figure, "", 900, 460)
    doubts = [*record.notes]
    if beyond:
        doubts.append("Some points are beyond the edge of the figure.")
    if every > 1:
        doubts.append(f"One in {every} predictions is shown.")
    say(figure, record.sentence, doubts)
    what = "" if record.objective == OBJECTIVE else f" {escape(cut(record.objective))}"
    figure.update_xaxes(title=f"predicted{what}", range=reach, row=1, col=1)
    figure.update_yaxes(title=f"observed{what}", range=reach, row=1, col=1)
    figure.update_xaxes(title="trial", row=1, col=2)
    largest = min(_LARGEST_Z, max(3.0, *(abs(row.z) for row in rows))) * 1.08
    figure.update_yaxes(title="(observed − predicted) / sd", range=[-largest, largest], row=1, col=2)
    figure.update_layout(legend=LEGEND_ABOVE)
    return figure


def _predicted(figure: go.Figure, rows: Sequence[PredictedTrial], name: str, colour: str, q: float) -> None:
    figure.add_scatter(
        x=[row.predicted for row in rows], y=[row.observed for row in rows], mode="markers", name=name,
        marker={"color": colour, "size": 6, "opacity": 0.75}, text=[f"trial {row.trial}" for row in rows],
        error_x={"type": "data", "array": [q * row.sd for row in rows], "color": faint(colour), "width": 0},
        hovertemplate="%{text}: predicted %{x}, observed %{y}<extra></extra>", row=1, col=1,
    )  # fmt: skip


def _scores(figure: go.Figure, rows: Sequence[PredictedTrial], colour: str) -> None:
    figure.add_scatter(
        x=[row.trial for row in rows], y=[max(-_LARGEST_Z, min(_LARGEST_Z, row.z)) for row in rows], mode="markers",
        marker={"color": colour, "size": 6, "opacity": 0.75}, showlegend=False, customdata=[row.z for row in rows],
        hovertemplate="trial %{x}: %{customdata:+.2f} sd<extra></extra>", row=1, col=2,
    )  # fmt: skip


def _reach(values: Sequence[float]) -> list[float]:
    """A range for both axes in which a few values far away do not flatten the rest."""
    low, high = min(values), max(values)
    if len(values) >= 10:
        ends = quantiles(values, n=20)
        width = ends[-1] - ends[0]
        if width > 0.0:
            low, high = max(low, ends[0] - _FAR * width), min(high, ends[-1] + _FAR * width)
    margin = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    return [low - margin, high + margin]
