"""Figures of comparisons: curves over a count, boxes, curves over the truth, and mean ranks with critical differences.

Curves and samples come by name, in the order of the legend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing import CHOSEN, COLOURS, DASHES, EXPLOIT, GREY, add_band, say, style


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
    """Lines over a count; `bands` (low, high) are shaded, `bold` lines are thicker."""
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
    """One horizontal box per name, with every value as a point."""
    figure = go.Figure()
    for name in reversed(list(samples)):
        colour = COLOURS[0] if name in bold else "#7f8c99"
        figure.add_box(x=list(samples[name]), name=name, boxpoints="all", jitter=0.4, pointpos=0, marker_color=colour)
    style(figure, title, width, 90 + 34 * len(samples))
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title=x_title)
    return figure


def against_truth(
    rows: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], truth: Sequence[float], *, title: str
) -> go.Figure:
    """Small multiples, a row per name and a column per moment: (mean, low, high) of a curve over the truth."""
    moments = list(next(iter(rows.values())))
    figure = make_subplots(
        rows=len(rows), cols=len(moments), shared_xaxes=True, shared_yaxes=True, column_titles=moments,
        row_titles=list(rows), horizontal_spacing=0.015, vertical_spacing=0.03,
    )  # fmt: skip
    x = [i / (len(truth) - 1) for i in range(len(truth))]
    for row, by_moment in enumerate(rows.values(), start=1):
        for col, (mean, low, high) in enumerate(by_moment.values(), start=1):
            add_band(figure, x, low, high, COLOURS[0], row=row, col=col)
            first = row == col == 1
            figure.add_scatter(x=x, y=mean, mode="lines", name="estimated, 95% band", showlegend=first,
                               line={"color": COLOURS[0], "width": 3}, row=row, col=col)  # fmt: skip
            figure.add_scatter(x=x, y=truth, mode="lines", name="true", showlegend=first,
                               line={"color": COLOURS[1], "width": 2, "dash": "dash"}, row=row, col=col)  # fmt: skip
    spread = max(truth) - min(truth)
    figure.update_yaxes(range=[min(truth) - 0.6 * spread, max(truth) + 0.6 * spread])
    style(figure, title, 1100, 130 + 170 * len(rows))
    figure.update_layout(legend={"orientation": "h", "y": 1.06, "yanchor": "bottom", "x": 1.0, "xanchor": "right"},
                         margin={"t": 110})  # fmt: skip
    return figure


def rank_diagram(ranks: Mapping[str, float], difference: float, finding: str) -> go.Figure:
    """Mean ranks on a line, best on the left; bars join methods that differ by less than the critical difference."""
    order = sorted(ranks, key=lambda name: ranks[name])
    figure = go.Figure()
    for i, name in enumerate(order):
        depth = float(i - len(order))  # The best is lowest, so that no line of another method crosses a label.
        figure.add_scatter(x=[ranks[name], ranks[name]], y=[0.0, depth], mode="lines", showlegend=False,
                           hoverinfo="skip", line={"color": GREY, "width": 1})  # fmt: skip
        figure.add_scatter(x=[ranks[name]], y=[depth], mode="markers+text", showlegend=False, hoverinfo="x",
                           text=f"  {escape(name)} ({ranks[name]:.2f})", textposition="middle right",
                           marker={"color": EXPLOIT, "size": 8})  # fmt: skip
    for k, (first, last) in enumerate(cliques([ranks[name] for name in order], difference)):
        figure.add_scatter(x=[ranks[order[first]], ranks[order[last]]], y=[0.35 + 0.3 * k] * 2, mode="lines",
                           showlegend=False, hoverinfo="skip", line={"color": CHOSEN, "width": 6})  # fmt: skip
    style(figure, "", 900, 300)
    top = say(figure, finding, [f"Joined methods differ by less than {difference:.2f}, the critical difference."])
    figure.update_layout(height=top + 90 + 30 * len(order))
    figure.update_xaxes(title="mean rank (best on the left)", range=[0.8, len(order) + 1.2])
    figure.update_yaxes(visible=False)
    return figure


def cliques(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Largest groups whose members all differ by less than `difference`, as (first, last) index of the sorted ranks."""
    groups: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] < difference or i == first)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
