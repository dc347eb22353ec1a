"""Figures of how a search went: trials over time, what was left to find, and what proposals were after."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import quantiles

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.plots.base import CHOSEN, COLOURS, EXPLOIT, EXPLORE, GREY, LEGEND_ABOVE, add_band, say, style
from pellucid.records import Course, History

_FAR = 3.0
_MOST_POINTS = 2000
_MOST_STRETCHES = 12
_FILLS = {"start-up": "rgba(138,146,156,0.14)", "random": "rgba(209,73,91,0.12)", "step 1": "rgba(90,169,199,0.16)",
          "step 2": "rgba(63,143,107,0.16)"}  # fmt: skip
_MARKS = {"complete": ("circle", EXPLOIT), "pruned": ("triangle-down-open", GREY)}


def history(found: History) -> go.Figure:
    """Every trial, the best so far, the 95 % interval in which the model expected each proposal, and who chose."""
    figure = go.Figure()
    every = max(1, -(-len(found.numbers) // _MOST_POINTS))
    rows = list(zip(found.numbers, found.values, found.expected, found.sd, found.states, strict=True))[::every]
    told = [(n, e, s) for n, _, e, s, _ in rows if e is not None and s is not None]
    if len(told) > 1:
        n, low, high = zip(*((n, e - 1.96 * s, e + 1.96 * s) for n, e, s in told), strict=True)
        add_band(figure, n, low, high, EXPLORE)
        figure.add_scatter(x=n, y=[e for _, e, _ in told], mode="lines", name="expected, 95 % interval",
                           line={"color": EXPLORE, "width": 1})  # fmt: skip
    for state, (symbol, colour) in _MARKS.items():
        mine = [(n, v) for n, v, _, _, s in rows if s == state and v is not None]
        if mine:
            figure.add_scatter(x=[n for n, _ in mine], y=[v for _, v in mine], mode="markers", name=state,
                               marker={"color": colour, "symbol": symbol, "size": 6, "opacity": 0.75},
                               hovertemplate="trial %{x}: %{y}<extra></extra>")  # fmt: skip
    best = _turns([(n, b) for n, b in zip(found.numbers, found.best, strict=True) if b is not None])
    figure.add_scatter(x=[n for n, _ in best], y=[b for _, b in best], mode="lines", name="best so far",
                       line={"color": CHOSEN, "width": 3, "shape": "hv"})  # fmt: skip
    failed = [n for n, _, _, _, state in rows if state == "failed"]
    if failed:
        figure.add_scatter(x=failed, y=[0.02] * len(failed), yaxis="y2", mode="markers", name="failed",
                           marker={"color": COLOURS[8], "symbol": "x", "size": 7},
                           hovertemplate="trial %{x} failed<extra></extra>")  # fmt: skip
    style(figure, "", 900, 460)
    reach, outside = _reach([v for v in found.values if v is not None], found.direction)
    doubts = [f"{outside} trials are beyond the edge of the figure."] if outside else []
    if every > 1:
        doubts.append(f"One of {every} trials is shown.")
    say(figure, found.verdict, doubts)
    if len(found.stretches) <= _MOST_STRETCHES:
        for one in found.stretches:
            if one.label in _FILLS:
                figure.add_vrect(x0=one.first - 0.5, x1=one.last + 0.5, fillcolor=_FILLS[one.label], line_width=0,
                                 layer="below", annotation_text=one.label,
                                 annotation_position="bottom left")  # fmt: skip
    figure.update_xaxes(title="trial")
    figure.update_layout(
        yaxis={"title": "objective", "range": reach},
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        legend=LEGEND_ABOVE,
    )
    return figure


def _turns(best: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The first trial, those that were better than all before, and the last: the corners of a line of steps."""
    return [one for i, one in enumerate(best) if i in (0, len(best) - 1) or one[1] != best[i - 1][1]]


def _reach(values: Sequence[float], direction: str) -> tuple[list[float] | None, int]:
    """A range that a few trials which went wrong by far do not flatten, and how many are outside."""
    if len(values) < 5:
        return None, 0
    turn = -1.0 if direction == "maximize" else 1.0
    losses = sorted(turn * v for v in values)
    low, usual = losses[0], quantiles(losses, n=20)[17]
    limit = usual + 0.5 * (usual - low)
    if losses[-1] <= low + _FAR * (usual - low) or usual == low:
        return None, 0
    margin = 0.05 * (limit - low)
    return sorted([turn * (low - margin), turn * limit]), sum(v > limit for v in losses)


def course(found: Course) -> go.Figure:
    """The bound of what is left over the trials with its tolerance; under it what proposals were after, where told."""
    told = any(value is not None for value in (*found.exploring, *found.alpha))
    figure = make_subplots(rows=1 + told, cols=1, shared_xaxes=True, vertical_spacing=0.12,
                           row_heights=[0.62, 0.38] if told else [1.0])  # fmt: skip
    figure.add_scatter(x=found.after, y=found.bounds, mode="lines+markers", name="could still be better by",
                       line={"color": EXPLOIT, "width": 3}, row=1, col=1)  # fmt: skip
    limit = found.stopping.tolerance
    if limit is not None and limit > 0.0 and found.after:
        figure.add_scatter(x=[found.after[0], found.after[-1]], y=[limit, limit], mode="lines", name="stop below",
                           line={"color": CHOSEN, "width": 2, "dash": "dash"}, row=1, col=1)  # fmt: skip
    for name, values, colour, dash in (("explored", found.exploring, EXPLORE, "solid"),
                                       ("α, weight of exploiting", found.alpha, EXPLOIT, "dot")):  # fmt: skip
        if any(value is not None for value in values):
            # Gaps stay gaps: no line over proposals that were after something else.
            figure.add_scatter(x=found.trials, y=values, mode="lines+markers", name=name, connectgaps=False,
                               line={"color": colour, "width": 2, "dash": dash}, marker={"size": 4},
                               row=2, col=1)  # fmt: skip
    style(figure, "", 900, 380 + 140 * told)
    say(figure, str(found.stopping), [])
    figure.update_yaxes(title="objective", exponentformat="power", row=1, col=1)
    if all(bound > 0.0 for bound in found.bounds) and len(found.bounds) > 1:
        figure.update_yaxes(type="log", dtick="D2", row=1, col=1)
    if told:
        figure.update_yaxes(title="share", range=[-0.03, 1.03], row=2, col=1)
    figure.update_xaxes(title="trial", row=1 + told, col=1)
    figure.update_layout(legend=LEGEND_ABOVE)
    return figure
