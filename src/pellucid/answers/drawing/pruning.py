"""Learning curves: why a trial was stopped, what stops saved and may have cost, and the curves of a study."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.base import LEGEND_ABOVE, add_band, cut, frame, say
from pellucid.answers.drawing.colours import CHOSEN, COLOURS, EXPLOIT, EXPLORE, GREY, PALE
from pellucid.answers.pruning.curves import LearningCurve, LearningCurves
from pellucid.answers.pruning.records import ChanceBin, FanPoint, PruningExplanation, PruningRecord, StoppedTrial
from pellucid.words import chance_text, escape, number_text

# Stopped trials, and reports of one curve, that a figure can show legibly.
_MOST_TRIALS, _MOST_REPORTS = 1000, 500
# Values further from the best than this many times the median distance flatten the rest. The axis then ends at so many
# times the median distance.
_FAR, _SHOWN = 25.0, 8.0
# How many times wider what was expected may make the axis: beyond, the curve itself would look flat.
_WIDEST = 3.0
# Lines are paler if there are more of them than this.
_FEW = 50
# Axes with fewer steps have a tick at each: there is none between two.
_FEW_STEPS = 8
# Pixels of the marker of the fullest bin, and what the emptiest has at least.
_LARGEST_BIN, _SMALLEST_BIN = 26.0, 7.0
# How many heights of the axis lines may go beyond it.
_ROOM = 100.0
_BEYOND = "Some values are beyond the edge of the figure."
_LOOKS = {"complete": EXPLOIT, "stopped": EXPLORE, "failed": COLOURS[8], "running": COLOURS[3]}


# ---------------------------------------------------------------------- one trial


def explanation(record: PruningExplanation) -> go.Figure:
    """The curve of a trial, what was expected of it after a step, and the best value that it had to beat."""
    figure = go.Figure()
    reports = [*record.values, *record.later_values, *([] if record.returned is None else [record.returned])]
    expected = [value for point in record.fan for value in (point.low, point.median, point.high)]
    reach = _reach(reports, record.best, expected)
    every = max(1, -(-(len(record.steps) + len(record.later_steps)) // _MOST_REPORTS))
    _fan(figure, record, reach)
    if record.later_steps:
        steps, later = (record.step, *record.later_steps), (record.values[-1], *record.later_values)
        _reports(figure, steps, later, every, reach, "reported later", width=1.5, dash="dot")
    _reports(figure, record.steps, record.values, every, reach, "reported", width=3)
    ended = record.state in ("stopped", "failed") and not record.later_steps
    name, symbol = (record.state, "x") if ended else (f"step {record.step}", "circle")
    _mark(figure, record.step, record.values[-1], reach, name, EXPLOIT, symbol)
    if record.returned is not None:
        _mark(figure, (record.later_steps or record.steps)[-1], record.returned, reach, "returned", COLOURS[3],
              "diamond")  # fmt: skip
    span = _span([record.steps[0], record.horizon, record.step, *record.later_steps])
    figure.add_scatter(
        x=span, y=[record.best] * 2, mode="lines", name=f"best: trial {record.best_trial}",
        line={"color": CHOSEN, "width": 2, "dash": "dash"},
        hovertemplate=f"trial {record.best_trial} returned %{{y:.4g}}<extra></extra>",
    )  # fmt: skip
    doubts = [*record.notes]
    if _outside([*reports, *expected], reach):
        doubts.append(_BEYOND)
    if every > 1:
        doubts.append(f"One in {every} reports is shown.")
    frame(figure, "", 900, 460)
    say(figure, record.sentence, doubts)
    _axes(figure, span, reach, record.objective)
    return figure


def _fan(figure: go.Figure, record: PruningExplanation, reach: Sequence[float]) -> None:
    """What was expected: reports as a band around a line, and the value at the end as a marker with its interval."""
    known = [FanPoint(record.step, *[record.values[-1]] * 3)]
    ahead = [*([] if _outside(record.values[-1:], reach) else known), *record.fan[:-1]]
    if len(record.fan) > 1:
        steps, low, high = ([getattr(point, name) for point in ahead] for name in ("step", "low", "high"))
        medians = [point.median for point in ahead]
        add_band(figure, steps, _near(low, reach), _near(high, reach), EXPLORE)
        figure.add_scatter(
            x=steps, y=_near(medians, reach), mode="lines", line={"color": EXPLORE, "width": 2}, showlegend=False,
            customdata=[*zip(medians, low, high, strict=True)],
            hovertemplate="step %{x}: %{customdata[0]:.4g} expected (%{customdata[1]:.4g} to %{customdata[2]:.4g})"
            "<extra></extra>",
        )  # fmt: skip
    (middle,), (low_end, high_end) = _inside([record.expected], reach), _near([record.low, record.high], reach)
    expected = (
        f"{number_text(record.expected)} expected at the end ({number_text(record.low)} to {number_text(record.high)})"
    )
    figure.add_scatter(
        x=[record.horizon], y=[middle], mode="markers", name=f"expected ({100 * record.level:.4g}% interval)",
        marker={"color": EXPLORE, "size": 9},
        error_y={"type": "data", "symmetric": False, "array": [max(high_end - middle, 0.0)],
                 "arrayminus": [max(middle - low_end, 0.0)], "color": EXPLORE, "thickness": 2, "width": 6},
        hovertemplate=f"{expected}<extra></extra>",
    )  # fmt: skip


def _reports(
    figure: go.Figure,
    steps: Sequence[int],
    values: Sequence[float],
    every: int,
    reach: Sequence[float],
    name: str,
    **line: Any,
) -> None:
    """A curve: one in `every` report, counted from the last."""
    steps, values = steps[::-1][::every][::-1], values[::-1][::every][::-1]
    figure.add_scatter(
        x=steps, y=_near(values, reach), mode="lines", name=name, legendrank=1, line={"color": EXPLOIT, **line},
        customdata=values, hovertemplate=f"step %{{x}}: %{{customdata:.4g}} {name}<extra></extra>",
    )  # fmt: skip


def _mark(
    figure: go.Figure, step: int, value: float, reach: Sequence[float], name: str, colour: str, symbol: str
) -> None:
    figure.add_scatter(
        x=[step], y=_inside([value], reach), mode="markers", name=name, legendrank=2,
        marker={"color": colour, "size": 10, "symbol": symbol},
        hovertemplate=f"{name}: {number_text(value)} at step %{{x}}<extra></extra>",
    )  # fmt: skip


# ---------------------------------------------------------------------- all stops of a study


def stops(record: PruningRecord) -> go.Figure:
    """Left: the steps that stopped trials took and saved. Right: stated chances beside what came true. A panel that has
    nothing to show is left out."""
    panels = [panel for panel, shown in ((_trials, record.rows), (_bins, record.bins)) if shown] or [_trials]
    figure = make_subplots(rows=1, cols=len(panels), horizontal_spacing=0.12,
                           column_widths=[0.56, 0.44] if len(panels) > 1 else [1.0])  # fmt: skip
    for i, panel in enumerate(panels):
        panel(figure, record, i + 1)
    every = _every(record)
    frame(figure, "", 900 if record.rows else 560, 460)
    say(figure, record.sentence, [*record.notes, *([f"One in {every} stopped trials is shown."] if every > 1 else [])])
    figure.update_layout(legend={**LEGEND_ABOVE, "x": 0.0, "xanchor": "left"})
    return figure


def _every(record: PruningRecord) -> int:
    """One in how many stopped trials is shown."""
    return max(1, -(-len(record.rows) // _MOST_TRIALS))


def _trials(figure: go.Figure, record: PruningRecord, col: int) -> None:
    """The steps of stopped trials, and those that they saved."""
    likeliest = [row for row in record.rows if row.trial == record.likeliest]
    others = [row for row in record.rows if row.trial != record.likeliest][:: _every(record)]
    _taken(figure, others, f"stopped ({record.stopped}); pale: saved", EXPLOIT, col)
    for row in likeliest:
        _taken(
            figure,
            likeliest,
            f"likeliest to win, as seen now: trial {row.trial} ({chance_text(row.chance)})",
            CHOSEN,
            col,
        )
    last = max([record.best_trial, *(row.trial for row in record.rows)])
    figure.add_scatter(
        x=[-0.5, last + 0.5], y=[record.horizon] * 2, mode="lines", name=f"complete ({record.complete})",
        line={"color": GREY, "width": 2, "dash": "dash"}, hoverinfo="skip", row=1, col=col,
    )  # fmt: skip
    steps = [record.horizon, *(row.steps for row in record.rows)]
    lowest, highest = min(0, *steps), max(1, *steps)
    margin = 0.05 * (highest - lowest)
    figure.update_xaxes(title="trial", range=[-1.5, last + 1.5], row=1, col=col)
    figure.update_yaxes(title="steps", range=[lowest - margin, highest + margin], row=1, col=col)


def _taken(figure: go.Figure, rows: Sequence[StoppedTrial], name: str, colour: str, col: int) -> None:
    """The last step of each trial, with a line to where it would have ended."""
    if not rows:
        return
    texts = [
        f"{chance_text(row.chance)} chance of having been the best, {number_text(row.expected)} expected"
        for row in rows
    ]
    figure.add_scatter(
        x=[row.trial for row in rows], y=[row.steps for row in rows], mode="markers", name=name,
        marker={"color": colour, "size": 7 if len(rows) <= 200 else 4}, text=texts,
        error_y={"type": "data", "symmetric": False, "array": [row.saved for row in rows],
                 "arrayminus": [0] * len(rows), "color": PALE, "width": 0, "thickness": 2 if len(rows) <= 200 else 0.5},
        hovertemplate="trial %{x}, stopped at step %{y}: %{text}<extra></extra>", row=1, col=col,
    )  # fmt: skip


def _bins(figure: go.Figure, record: PruningRecord, col: int) -> None:
    """Predictions for complete trials by what they stated: larger markers stand for more of them."""
    most = max(one.n for one in record.bins)
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": GREY, "width": 1, "dash": "dash"},
                       hoverinfo="skip", showlegend=False, row=1, col=col)  # fmt: skip
    figure.add_scatter(
        x=[one.stated for one in record.bins], y=[one.true for one in record.bins], mode="markers+text",
        marker={"color": EXPLOIT, "opacity": 0.75, "line": {"width": 0},
                "size": [max(_SMALLEST_BIN, _LARGEST_BIN * (one.n / most) ** 0.5) for one in record.bins]},
        text=[f"n={one.n}" for one in record.bins], textposition=_positions(record.bins), textfont={"size": 11},
        showlegend=False,
        hovertemplate="%{text} predictions: %{x:.1%} stated, %{y:.1%} came true<extra></extra>", row=1, col=col,
    )  # fmt: skip
    style: dict[str, Any] = {"tickformat": ".0%", "range": [-0.12, 1.12], "dtick": 0.25, "row": 1, "col": col}
    figure.update_xaxes(title="predicted chance to beat the best", **style)
    figure.update_yaxes(title="share that did", **style)


def _positions(bins: Sequence[ChanceBin]) -> list[str]:
    """Where the numbers beside the markers stand: above, or below if the one before is close by and above."""
    positions = ["top center"] * len(bins)
    for i in range(1, len(bins)):
        close = abs(bins[i].stated - bins[i - 1].stated) < 0.11 and abs(bins[i].true - bins[i - 1].true) < 0.06
        if close and positions[i - 1] == "top center":
            positions[i] = "bottom center"
    return positions


# ---------------------------------------------------------------------- all curves of a study


def learning_curves(record: LearningCurves) -> go.Figure:
    """The curves of a study by what became of their trials, with the best one on top."""
    figure = go.Figure()
    values = [value for curve in record.curves for value in curve.values]
    ends = [curve.values[-1] for curve in record.curves]
    centre = record.best if record.best is not None else (max if record.direction == "maximize" else min)(ends)
    reach = _reach(values, centre)
    for state in ("stopped", "failed", "running", "complete"):
        group = [curve for curve in record.curves if curve.state == state and curve.trial != record.best_trial]
        _lines(figure, group, reach, f"{state} ({record.counts.get(state, 0)})", _LOOKS[state], 1.0)
    best = [curve for curve in record.curves if curve.trial == record.best_trial]
    _lines(figure, best, reach, f"best: trial {record.best_trial}", CHOSEN, 3.0)
    frame(figure, "", 900, 480)
    say(figure, record.sentence, [*record.notes, *([_BEYOND] if _outside(values, reach) else [])])
    _axes(figure, _span([step for curve in record.curves for step in curve.steps]), reach, record.objective)
    return figure


def _lines(
    figure: go.Figure, curves: Sequence[LearningCurve], reach: Sequence[float], name: str, colour: str, width: float
) -> None:
    """Curves as one trace with gaps, which is much smaller than one for each, and a dot where each of them ends."""
    if not curves:
        return
    x: list[int | None] = []
    y: list[float | None] = []
    trials: list[int] = []
    for curve in curves:
        x += [*curve.steps, None]
        y += [*_near(curve.values, reach), None]
        trials += [curve.trial] * (len(curve.steps) + 1)
    text = "trial %{customdata}, step %{x}: %{y:.4g}<extra></extra>"
    figure.add_scatter(x=x, y=y, mode="lines", line={"color": colour, "width": width}, name=name,
                       opacity=0.8 if len(curves) <= _FEW else 0.5,
                       legendgroup=name, customdata=trials, hovertemplate=text)  # fmt: skip
    figure.add_scatter(
        x=[curve.steps[-1] for curve in curves], y=_near([curve.values[-1] for curve in curves], reach),
        mode="markers", marker={"color": colour, "size": 4 + width}, customdata=[curve.trial for curve in curves],
        legendgroup=name, showlegend=False, text=[number_text(curve.values[-1]) for curve in curves],
        hovertemplate="trial %{customdata}, last at step %{x}: %{text}<extra></extra>",
    )  # fmt: skip


# ---------------------------------------------------------------------- axes


def _axes(figure: go.Figure, span: Sequence[float], reach: Sequence[float], objective: str) -> None:
    figure.update_xaxes(title="step", range=span, dtick=1 if span[1] - span[0] < _FEW_STEPS else None)
    figure.update_yaxes(title=escape(cut(objective)), range=reach)
    figure.update_layout(legend=LEGEND_ABOVE)


def _span(steps: Sequence[int]) -> list[float]:
    """The ends of the axis of steps."""
    first, last = min(steps), max(steps)
    margin = 0.03 * (last - first) or 0.5
    return [first - margin, last + margin]


def _reach(reports: Sequence[float], centre: float, expected: Sequence[float] = ()) -> list[float]:
    """A range around the best value in which neither reports far away nor what was expected flatten the rest."""
    distances = [distance for value in reports if (distance := abs(value - centre)) > 0.0]
    distances = distances or [distance for value in expected if (distance := abs(value - centre)) > 0.0] or [0.0]
    typical, limit = median(distances), max(distances)
    if limit > _FAR * typical:
        limit = _SHOWN * typical
    low, high = _within([centre, *reports], centre, limit)
    low, high = _within([low, high, *expected], centre, _WIDEST * limit)
    margin = 0.05 * (high - low) or 0.05 * max(abs(high), 1.0)
    return [low - margin, high + margin]


def _within(values: Sequence[float], centre: float, limit: float) -> tuple[float, float]:
    """The ends of the values, at most so far from the centre."""
    return max(min(values), centre - limit), min(max(values), centre + limit)


def _outside(values: Sequence[float], reach: Sequence[float]) -> bool:
    return any(not reach[0] <= value <= reach[1] for value in values)


def _inside(values: Sequence[float], reach: Sequence[float]) -> list[float]:
    """Where markers stand: those that are beyond the ends of the axis lie just inside them."""
    edge = 0.02 * (reach[1] - reach[0])
    return [min(max(value, reach[0] + edge), reach[1] - edge) for value in values]


def _near(values: Sequence[float], reach: Sequence[float]) -> list[float]:
    """Where lines go: they leave the axis steeply, but browsers cannot draw to a point that is too far away."""
    room = _ROOM * (reach[1] - reach[0])
    return [min(max(value, reach[0] - room), reach[1] + room) for value in values]
