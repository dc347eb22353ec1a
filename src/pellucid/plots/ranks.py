"""Methods by their ranks over problems: which ones can be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from pellucid.plots.base import CHOSEN, EXPLOIT, GREY, say, style


def critical_difference(ranks: Mapping[str, float], difference: float, finding: str) -> go.Figure:
    """Mean ranks on a line, best on the left; bars join methods that differ by less than the critical difference."""
    order = sorted(ranks, key=lambda name: ranks[name])
    figure = go.Figure()
    for i, name in enumerate(order):
        depth = float(i - len(order))  # The best is lowest: no line of another method crosses a label.
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
    """Largest groups, as (first, last) of the sorted ranks, whose members all differ by less than `difference`."""
    out: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] < difference or i == first)
        if last > first and (not out or last > out[-1][1]):
            out.append((first, last))
    return out
