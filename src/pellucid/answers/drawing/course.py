"""Figures of how a search went: trials over time, what was left to find, and how much proposals explored."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.axes import beyond, edge_name, log_axis, on_edge, reach, symbols
from pellucid.answers.drawing.base import LEGEND_ABOVE, add_band, cut, frame, say
from pellucid.answers.drawing.colours import CHOSEN, COLOURS, EXPLOIT, EXPLORE, GREY
from pellucid.answers.history import FrontHistory, History, Phase
from pellucid.answers.stop.records import FrontVerdict, RegretHistory, StoppingVerdict
from pellucid.words import escape, number_text

# Trials and shaded phases that a figure can show legibly.
_MOST_POINTS, _MOST_PHASES = 2000, 12
_FILLS = {"start-up": "rgba(138,146,156,0.14)", "random": "rgba(209,73,91,0.12)", "step 1": "rgba(90,169,199,0.16)",
          "step 2": "rgba(63,143,107,0.16)"}  # fmt: skip
_AT_MOST = f"At most {_MOST_POINTS:,} trials of a kind are shown."
_VOLUME = "growth of the volume"
_MARKS = {"complete": ("circle", EXPLOIT), "pruned": ("triangle-down-open", GREY)}


def history(record: History) -> go.Figure:
    """Trials, the best so far, the 95% interval in which the model expected each proposal, and how it was chosen."""
    figure = go.Figure()
    reached = reach([v for v in record.values if v is not None], [b for b in record.best if b is not None])
    every = max(1, -(-len(record.numbers) // _MOST_POINTS))
    rows = list(zip(record.numbers, record.values, record.expected, record.sd, record.states, strict=True))[::every]
    predicted = [(n, e, s) for n, _, e, s, _ in rows if e is not None and s is not None]
    if len(predicted) > 1:
        n, low, high = zip(*((n, e - 1.96 * s, e + 1.96 * s) for n, e, s in predicted), strict=True)
        add_band(figure, n, low, high, EXPLORE)
        figure.add_scatter(x=n, y=[e for _, e, _ in predicted], mode="lines", name="expected, 95% interval",
                           line={"color": EXPLORE, "width": 1})  # fmt: skip
    fine = record.feasible or (None,) * len(record.numbers)
    usable = dict(zip(record.numbers, fine, strict=True))
    kinds = {**_MARKS, "not feasible": ("x-thin-open", COLOURS[8])}
    for kind, (symbol, colour) in kinds.items():
        points = [(n, v) for n, v, _, _, s in rows
                  if v is not None and kind == (s if usable[n] is not False else "not feasible")]  # fmt: skip
        if points:
            values = [v for _, v in points]
            figure.add_scatter(x=[n for n, _ in points], y=on_edge(values, reached), mode="markers",
                               name=edge_name(kind, beyond(values, reached)),
                               marker={"color": colour, "symbol": symbols(values, reached, symbol), "size": 6,
                                       "opacity": 0.75},
                               text=[f"trial {n}: {number_text(v, '.6g')}" for n, v in points],
                               hoverinfo="text")  # fmt: skip
    best = _turns([(n, b) for n, b in zip(record.numbers, record.best, strict=True) if b is not None])
    figure.add_scatter(x=[n for n, _ in best], y=[b for _, b in best], mode="lines", name="best so far",
                       line={"color": CHOSEN, "width": 3, "shape": "hv"})  # fmt: skip
    failed = [n for n, _, _, _, state in rows if state == "failed"]
    if failed:
        figure.add_scatter(x=failed, y=[0.02] * len(failed), yaxis="y2", mode="markers", name="failed",
                           marker={"color": COLOURS[8], "symbol": "x", "size": 7},
                           hovertemplate="trial %{x} failed<extra></extra>")  # fmt: skip
    frame(figure, "", 900, 460)
    say(figure, record.sentence, [f"One in {every} trials is shown."] if every > 1 else [])
    _shade(figure, record.phases)
    figure.update_xaxes(title="trial")
    figure.update_layout(
        yaxis={"title": escape(cut(record.objective)), "range": reached},
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        legend=LEGEND_ABOVE,
    )
    return figure


def _shade(figure: go.Figure, phases: Sequence[Phase]) -> None:
    """How trials were chosen, if that does not change too often to be seen."""
    if len(phases) <= _MOST_PHASES:
        for phase in phases:
            if phase.label in _FILLS:
                figure.add_vrect(x0=phase.first - 0.5, x1=phase.last + 0.5, fillcolor=_FILLS[phase.label], line_width=0,
                                 layer="below", annotation_text=phase.label,
                                 annotation_position="bottom left")  # fmt: skip


def front_history(record: FrontHistory) -> go.Figure:
    """The volume that the front dominates over the trials, and which of them made it grow."""
    figure = go.Figure()
    course = {n: v for n, v in zip(record.numbers, record.volume, strict=True) if v is not None}
    line = _turns(list(course.items()))
    figure.add_scatter(x=[n for n, _ in line], y=[v for _, v in line], mode="lines", name="volume that is dominated",
                       line={"color": CHOSEN, "width": 3, "shape": "hv"}, hoverinfo="skip")  # fmt: skip
    front = set(record.front)
    for name, colour, numbers in (
        ("on the front now", EXPLOIT, [n for n in record.grew if n in front]),
        ("on the front once", GREY, [n for n in record.grew if n not in front]),
    ):
        if numbers:
            figure.add_scatter(x=numbers, y=[course[n] for n in numbers], mode="markers", name=name,
                               marker={"color": colour, "size": 7},
                               hovertemplate="trial %{x}: %{y:.1%}<extra></extra>")  # fmt: skip
    fine = record.feasible or (None,) * len(record.numbers)
    cut_short = False
    for name, symbol, height, numbers in (
        ("not feasible", "x-thin-open", 0.06, [n for n, f in zip(record.numbers, fine, strict=True) if f is False]),
        ("failed", "x", 0.02, [n for n, state in zip(record.numbers, record.states, strict=True) if state == "failed"]),
    ):
        if numbers:
            some = _some(numbers)
            cut_short |= len(some) < len(numbers)
            figure.add_scatter(x=some, y=[height] * len(some), yaxis="y2", mode="markers", name=name,
                               marker={"color": COLOURS[8], "symbol": symbol, "size": 7},
                               hovertemplate="trial %{x}<extra></extra>")  # fmt: skip
    frame(figure, "", 900, 460)
    say(figure, record.sentence, [*record.notes, *([_AT_MOST] if cut_short else [])])
    _shade(figure, record.phases)
    figure.update_xaxes(title="trial")
    figure.update_layout(
        yaxis={"title": "volume, as a share of the last", "range": [0.0, 1.05], "tickformat": ".0%"},
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        legend=LEGEND_ABOVE,
    )
    return figure


def _some(numbers: Sequence[int]) -> list[int]:
    """As many as can be shown, evenly."""
    return list(numbers[:: max(1, -(-len(numbers) // _MOST_POINTS))])


def _turns(best: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The corners of the line of steps: the first trial, every one that was better than all before, and the last."""
    return [point for i, point in enumerate(best) if i in (0, len(best) - 1) or point[1] != best[i - 1][1]]


def regret_history(record: RegretHistory) -> go.Figure:
    """The bound of the regret over the trials, with its tolerance; below it how much proposals explored, if known."""
    known = any(value is not None for value in (*record.exploring, *record.alpha))
    every = max(1, -(-len(record.trials) // _MOST_POINTS))
    figure = make_subplots(rows=1 + known, cols=1, shared_xaxes=True, vertical_spacing=0.12,
                           row_heights=[0.62, 0.38] if known else [1.0])  # fmt: skip
    figure.add_scatter(x=record.after, y=record.bounds, mode="lines+markers", name="room to improve, at most",
                       line={"color": EXPLOIT, "width": 3}, row=1, col=1)  # fmt: skip
    limit = record.stopping.tolerance
    if limit is not None and limit > 0.0 and record.after:
        figure.add_scatter(x=[record.after[0], record.after[-1]], y=[limit, limit], mode="lines", name="tolerance",
                           line={"color": CHOSEN, "width": 2, "dash": "dash"}, row=1, col=1)  # fmt: skip
    for name, values, colour, dash in (("exploration", record.exploring, EXPLORE, "solid"),
                                       ("α, weight of exploitation", record.alpha, EXPLOIT, "dot")):  # fmt: skip
        if any(value is not None for value in values):
            # Gaps stay gaps: no line across proposals of another kind.
            figure.add_scatter(x=record.trials[::every], y=values[::every], mode="lines+markers", name=name,
                               connectgaps=False,
                               line={"color": colour, "width": 2, "dash": dash}, marker={"size": 4},
                               row=2, col=1)  # fmt: skip
    frame(figure, "", 900, 380 + 140 * known)
    left_out = [f"One in {every} proposals is shown."] if known and every > 1 else []
    say(figure, record.stopping.sentence, [*record.stopping.notes, *left_out])
    of_volume = isinstance(record.stopping, FrontVerdict)
    figure.update_yaxes(
        title=_VOLUME if of_volume else escape(cut(record.stopping.objective)), exponentformat="power", row=1, col=1
    )
    if of_volume:
        figure.update_yaxes(tickformat="~%", row=1, col=1)
    if all(bound > 0.0 for bound in record.bounds) and len(record.bounds) > 1:
        figure.update_yaxes(**log_axis([*record.bounds, *([limit] if limit else [])]), row=1, col=1)
    if known:
        figure.update_yaxes(title="share", range=[-0.03, 1.03], row=2, col=1)
    figure.update_xaxes(title="trial", row=1 + known, col=1)
    figure.update_layout(legend=LEGEND_ABOVE)
    return figure


def stopping(record: StoppingVerdict) -> go.Figure:
    """The bound of the regret as a bar, with the tolerance as a line and the noise of one trial as a shaded band."""
    figure = go.Figure()
    if record.bound is not None:
        colour = EXPLOIT if record.stop else EXPLORE
        figure.add_bar(x=[record.bound], y=["left at most"], orientation="h", width=0.5,
                       marker={"color": colour}, hovertemplate="%{x:.3g}<extra></extra>", showlegend=False)  # fmt: skip
    if record.tolerance is not None:
        figure.add_vline(x=record.tolerance, line={"color": CHOSEN, "width": 2, "dash": "dash"},
                         annotation_text="tolerance", annotation_position="top", layer="above")  # fmt: skip
    if record.noise is not None:
        figure.add_vrect(x0=0.0, x1=record.noise, fillcolor=_FILLS["start-up"], line_width=0, layer="below")
    frame(figure, "", 900, 220)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 130, margin={"t": top + 10, "l": 160})
    figure.update_xaxes(title=escape(cut(record.objective)), rangemode="tozero", exponentformat="power")
    if isinstance(record, FrontVerdict):
        figure.update_xaxes(title=_VOLUME, tickformat="~%")
    return figure
