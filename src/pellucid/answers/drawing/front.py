"""Several objectives: the front, a compromise on it, and what trades one objective against another."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.axes import beyond, edge_name, on_edge, point_symbols, reach
from pellucid.answers.drawing.base import LEGEND_ABOVE, add_band, cut, frame, labels, say
from pellucid.answers.drawing.colours import CHOSEN, EXPLOIT, GREY, faint
from pellucid.answers.fronts.records import Compromise, Front, Tradeoff
from pellucid.beliefs.expectation import ExpectedOutcome
from pellucid.words import escape

_COLUMNS = 3


def _error(outcomes: list[ExpectedOutcome]) -> dict[str, Any] | None:
    """Error bars of the intervals, if there are any."""
    if any(outcome.low is None or outcome.high is None for outcome in outcomes):
        return None
    high = [(outcome.high or 0.0) - outcome.expected for outcome in outcomes]
    low = [outcome.expected - (outcome.low or 0.0) for outcome in outcomes]
    return {"type": "data", "symmetric": False, "array": high, "arrayminus": low, "thickness": 1, "width": 0,
            "color": faint(EXPLOIT).replace("0.15", "0.5")}  # fmt: skip


def front(record: Front) -> go.Figure:
    """Two objectives at a time: members with their intervals, darker the likelier they are on the front; other trials
    in grey."""
    pairs = list(combinations(range(len(record.objectives)), 2))
    columns = min(_COLUMNS, len(pairs))
    rows = -(-len(pairs) // columns)
    names = labels(record.objectives)
    figure = make_subplots(rows=rows, cols=columns, horizontal_spacing=0.1, vertical_spacing=0.16)
    chances = [1.0 if member.probability is None else member.probability for member in record.members]
    text = [
        f"trial {member.trial}, chance {chance:.0%}" for member, chance in zip(record.members, chances, strict=True)
    ]
    for panel, (i, j) in enumerate(pairs):
        where = {"row": panel // columns + 1, "col": panel % columns + 1}
        first, second = ([member.outcomes[k] for member in record.members] for k in (i, j))
        across, up = (_axis(record, k) for k in (i, j))
        x, y = ([values[k] for values in record.others] for k in (i, j))
        outside = sum(beyond([a], across) + beyond([b], up) > 0 for a, b in zip(x, y, strict=True))
        figure.add_scatter(x=on_edge(x, across), y=on_edge(y, up), mode="markers", showlegend=panel == 0,
                           name=edge_name("other trials, as returned", outside), hoverinfo="skip",
                           marker={"color": GREY, "size": 5, "opacity": 0.4,
                                   "symbol": point_symbols(x, y, across, up, "circle")}, **where)  # fmt: skip
        figure.add_scatter(
            x=[outcome.expected for outcome in first], y=[outcome.expected for outcome in second], mode="markers",
            error_x=_error(first), error_y=_error(second), text=text, hoverinfo="text+x+y", showlegend=panel == 0,
            name=f"expected, {record.level:.0%} intervals",
            marker={"color": chances, "colorscale": [[0.0, "#c6d4e3"], [1.0, EXPLOIT]], "cmin": 0.0, "cmax": 1.0,
                    "size": 11, "line": {"color": EXPLOIT, "width": 1}, "showscale": panel == 0,
                    "colorbar": {"title": "chance", "tickformat": ".0%", "len": 0.8}}, **where,
        )  # fmt: skip
        figure.update_xaxes(title=names[i], range=across, **where)
        figure.update_yaxes(title=names[j], range=up, **where)
    frame(figure, "", 900 if columns == 1 else 1100, 200)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 20 + 400 * rows, margin={"t": top + 20}, legend=LEGEND_ABOVE)
    return figure


def _axis(record: Front, k: int) -> list[float]:
    """The range of an objective's axis: all members with their intervals, and other trials unless they are far away."""
    outcomes = [member.outcomes[k] for member in record.members]
    ends = [end for outcome in outcomes for end in (outcome.expected, outcome.low, outcome.high) if end is not None]
    return reach([*(values[k] for values in record.others), *(outcome.expected for outcome in outcomes)], ends)


def compromise(record: Compromise) -> go.Figure:
    """A line per objective, each with a scale of its own: expected with its interval, observed, and limits."""
    k = len(record.outcomes)
    figure = make_subplots(rows=k, cols=1, vertical_spacing=0.5 / k)
    limits = {limit.objective: limit.limit for limit in record.limits}
    for row, outcome in enumerate(record.outcomes, start=1):
        error = _error([outcome])
        if error is not None:
            error |= {"thickness": 3, "width": 10, "color": EXPLOIT}
        label = [escape(cut(outcome.objective))]
        where = {"row": row, "col": 1}
        figure.add_scatter(x=[outcome.expected], y=label, mode="markers", error_x=error, showlegend=row == 1,
                           name=f"expected, {record.level:.0%} interval" if error else "expected",
                           marker={"color": EXPLOIT, "size": 12}, **where)  # fmt: skip
        figure.add_scatter(x=[outcome.observed], y=label, mode="markers", name="observed", showlegend=row == 1,
                           marker={"color": CHOSEN, "size": 11, "symbol": "x"}, **where)  # fmt: skip
        if outcome.objective in limits:
            figure.add_scatter(x=[float(limits[outcome.objective][2:])], y=label, mode="markers+text", name="limit",
                               text=[escape(limits[outcome.objective])], textposition="middle left", showlegend=False,
                               marker={"color": GREY, "size": 34, "symbol": "line-ns", "line": {"color": GREY,
                               "width": 2}}, **where)  # fmt: skip
    frame(figure, "", 900, 200)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 60 + 90 * k, margin={"t": top + 20}, legend=LEGEND_ABOVE)
    figure.update_yaxes(type="category", automargin=True)
    return figure


def tradeoff(record: Tradeoff) -> go.Figure:
    """The front with its band, its steps and its knee; beside it, what moving each parameter trades and wastes."""
    figure = make_subplots(cols=2, column_widths=[0.6, 0.4], horizontal_spacing=0.16,
                           subplot_titles=("the front", "what moving a parameter does"))  # fmt: skip
    _front_curve(figure, record)
    _parameters(figure, record)
    frame(figure, "", 1100, 560)
    say(figure, record.sentence, record.notes)
    figure.update_layout(legend={"orientation": "h", "y": -0.16, "x": 0.0, "yanchor": "top"}, barmode="group",
                         height=420 + int(figure.layout.margin.t), margin={"b": 110})  # fmt: skip
    return figure


def _front_curve(figure: go.Figure, record: Tradeoff) -> None:
    where = {"row": 1, "col": 1}
    a, middle, low, high = (list(column) for column in zip(*record.curve, strict=True))
    add_band(figure, a, low, high, EXPLOIT, **where)
    figure.add_scatter(x=[x for x, _ in record.trials], y=[y for _, y in record.trials], mode="markers",
                       name="trials, as returned", hoverinfo="skip",
                       marker={"color": GREY, "size": 5, "opacity": 0.4}, **where)  # fmt: skip
    figure.add_scatter(x=a, y=middle, mode="lines", name=f"front, {record.level:.0%} band",
                       line={"color": EXPLOIT, "width": 2}, **where)  # fmt: skip
    levels = [rate.start for rate in record.rates] + [rate.stop for rate in record.rates[-1:]]
    at = [middle[min(range(len(a)), key=lambda i: abs(a[i] - level))] for level in levels]
    figure.add_scatter(x=levels, y=at, mode="markers", name="steps", hoverinfo="x+y",
                       marker={"color": "white", "size": 8, "line": {"color": EXPLOIT, "width": 2}},
                       **where)  # fmt: skip
    if record.knee is not None:
        knee = record.knee
        height = middle[min(range(len(a)), key=lambda i: abs(a[i] - knee.at))]
        error = {"type": "data", "symmetric": False, "array": [knee.high - knee.at], "arrayminus": [knee.at - knee.low]}
        figure.add_scatter(x=[knee.at], y=[height], mode="markers", name="knee", error_x=error,
                           marker={"color": CHOSEN, "size": 13, "symbol": "diamond"}, **where)  # fmt: skip
    # Trials far behind the front, and bands where nothing is known, must not flatten it.
    figure.update_xaxes(title=escape(cut(record.objectives[0])), range=_reach(a, 0.35), **where)
    figure.update_yaxes(title=escape(cut(record.objectives[1])), range=_reach(middle, 0.6), **where)


def _reach(values: list[float], share: float) -> list[float]:
    margin = share * (max(values) - min(values)) or 1.0
    return [min(values) - margin, max(values) + margin]


def _parameters(figure: go.Figure, record: Tradeoff) -> None:
    where = {"row": 1, "col": 2}
    shown = list(record.parameters)[::-1]
    names = [f"{name} ({role.role})" for name, role in zip(labels([p.param for p in shown]), shown, strict=True)]
    for what, colour in (("wasted", CHOSEN), ("traded", EXPLOIT)):
        middle = [getattr(role, what) for role in shown]
        low, high = ([getattr(role, f"{what}_{end}") for role in shown] for end in ("low", "high"))
        error = {"type": "data", "symmetric": False, "thickness": 1, "width": 3,
                 "array": [h - m for h, m in zip(high, middle, strict=True)],
                 "arrayminus": [m - l for l, m in zip(low, middle, strict=True)]}  # fmt: skip
        figure.add_bar(x=middle, y=names, orientation="h", name=what, error_x=error, marker={"color": colour}, **where)
    figure.update_xaxes(title="share of the front", rangemode="tozero", **where)
    figure.update_yaxes(type="category", automargin=True, ticks="", **where)
