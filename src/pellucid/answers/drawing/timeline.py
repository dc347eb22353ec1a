"""Figures of trials as they ran: how long each took, and which ran side by side."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.axes import beyond, edge_name, on_edge, reach, symbols
from pellucid.answers.drawing.base import LEGEND_ABOVE, frame, say
from pellucid.answers.drawing.colours import CHOSEN, COLOURS, EXPLOIT, EXPLORE, GREY
from pellucid.answers.timeline import Timeline

_LOOKS = {"complete": (EXPLOIT, "circle"), "pruned": (GREY, "triangle-down-open"), "failed": (CHOSEN, "x"),
          "interrupted": (COLOURS[4], "square-open"), "running": (EXPLORE, "diamond-open")}  # fmt: skip
# Trials and lanes that a figure can show legibly.
_MOST_TRIALS, _MOST_LANES = 3000, 64
# Units of time: the largest one that the time reaches twice.
_UNITS = ((172800.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def timeline(record: Timeline) -> go.Figure:
    """Top: how long every trial took. Below, if some ran at once: a line per trial from its start to its end."""
    side_by_side = 1 < record.n_lanes <= _MOST_LANES
    figure = make_subplots(
        rows=1 + side_by_side, cols=1, vertical_spacing=0.2, row_heights=[0.5, 0.5][: 1 + side_by_side]
    )
    every = max(1, -(-len(record.numbers) // _MOST_TRIALS))
    rows = range(0, len(record.numbers), every)
    doubts = [*record.notes]
    _add_durations(figure, record, rows)
    if every > 1:
        doubts.append(f"One in {every} trials is shown.")
    if side_by_side:
        _add_lanes(figure, record, rows)
    frame(figure, "", 900, 400)
    top = say(figure, record.sentence, doubts)
    height = top + 320 + side_by_side * (160 + 4 * record.n_lanes)
    figure.update_layout(height=height, legend=LEGEND_ABOVE, showlegend=True)
    return figure


def _add_durations(figure: go.Figure, record: Timeline, rows: Sequence[int]) -> None:
    took = [record.durations[i] for i in rows]
    known = [seconds for seconds in took if seconds is not None]
    unit, name = _unit(max(known, default=0.0))
    shown = reach([seconds / unit for seconds in known], [0.0])
    for state, (colour, symbol) in _LOOKS.items():
        points = [(record.numbers[i], d / unit) for i, d in zip(rows, took, strict=True)
                  if d is not None and record.states[i] == state]  # fmt: skip
        if points:
            values = [value for _, value in points]
            figure.add_scatter(
                x=[n for n, _ in points], y=on_edge(values, shown), mode="markers", legendgroup=state,
                name=edge_name(state, beyond(values, shown)),
                marker={"color": colour, "size": 6, "symbol": symbols(values, shown, symbol)},
                text=[f"trial {n}: {v:.3g} {name}" for n, v in points], hoverinfo="text", row=1, col=1,
            )  # fmt: skip
    figure.update_xaxes(title="trial", row=1, col=1)
    figure.update_yaxes(title=f"{name} per trial", range=[0.0, shown[1]], row=1, col=1)


def _add_lanes(figure: go.Figure, record: Timeline, rows: Sequence[int]) -> None:
    end = max(s + (d or 0.0) for s, d in zip(record.starts, record.durations, strict=True))
    unit, name = _unit(end)
    for state, (colour, _) in _LOOKS.items():
        members = [i for i in rows if record.states[i] == state]
        x: list[float | None] = []
        for i in members:
            duration = record.durations[i]
            x += [record.starts[i] / unit, (end if duration is None else record.starts[i] + duration) / unit, None]
        if members:
            y = [place for i in members for place in (record.lanes[i], record.lanes[i], None)]
            text = [text for i in members for text in (f"trial {record.numbers[i]}",) * 3]
            figure.add_scatter(x=x, y=y, mode="lines", line={"color": colour, "width": 4}, text=text, hoverinfo="text",
                               legendgroup=state, showlegend=state == "running", name=state, row=2, col=1)  # fmt: skip
    figure.update_xaxes(title=f"{name} since the first trial started", row=2, col=1)
    figure.update_yaxes(title="at once", tickvals=[0, record.n_lanes - 1], ticktext=["1", str(record.n_lanes)],
                        range=[-0.7, record.n_lanes - 0.3], row=2, col=1)  # fmt: skip


def _unit(seconds: float) -> tuple[float, str]:
    """Seconds per unit of time, and its name, for times up to this one."""
    return next((unit, name) for limit, unit, name in _UNITS if seconds >= limit)
