"""Figures of effects: the best that can be reached at each value of a parameter, and averages over all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.axes import beyond, edge_name, log_axis, on_edge, reach, symbols
from pellucid.answers.drawing.base import LEGEND_ABOVE, add_band, cut, frame, say
from pellucid.answers.drawing.colours import CHOSEN, COLOURS, GREY, PALE, parameter_colour
from pellucid.answers.effects.records import PartialDependence, ProfileEffect
from pellucid.words import escape, number_text

Curve = ProfileEffect | PartialDependence
# Trials with a choice are ticks beside the estimate of it, this far to its left; an axis of choices has a step of 1.
_BESIDE = 0.14
# Of the figure of one parameter, without its title.
_HEIGHT = 400


def profile(record: ProfileEffect) -> go.Figure:
    """What can be reached at each value in its band, the best value, the trials, and how many are near each value."""
    kind = record.scale
    figure = go.Figure()
    shown = _add_trials(figure, record, record.values, record.trial_values, kind)
    x = _places(record.values, record.values, kind)
    label = f"best that can be reached, {100 * record.level:g}% band"
    _add_curve(figure, x, record, kind, parameter_colour(record.position), label)
    figure.add_scatter(
        x=[x[record.best]], y=[record.mean[record.best]], mode="markers", name="best value",
        marker={"color": CHOSEN, "size": 13, "symbol": "star"},
    )  # fmt: skip
    _finish(figure, record, record.param, record.values, kind, shown)
    return figure


def effect(record: PartialDependence) -> go.Figure:
    """The effect of one parameter as a curve, of two as a map."""
    return _effect(record) if len(record.params) == 1 else _joint_effect(record)


def _effect(record: PartialDependence) -> go.Figure:
    """The curve in its band, curves through single trials, the trials themselves and how many are near each value."""
    (values,), kind = record.values, record.axes[0]
    x = _places(values, values, kind)
    figure = go.Figure()
    for curve in record.individual:
        if curve.low:
            add_band(figure, x, curve.low, curve.high, COLOURS[1])
        figure.add_scatter(
            x=x, y=curve.mean, mode="lines", name=f"trial {curve.trial}", showlegend=bool(curve.low),
            line={"color": COLOURS[1] if curve.low else PALE, "width": 2 if curve.low else 1}, hoverinfo="name+y",
        )  # fmt: skip
    shown = _add_trials(figure, record, values, record.trial_values[0], kind)
    what = "typical value" if record.typical else "average"
    label = f"{what} over all other settings, {100 * record.level:g}% band"
    _add_curve(figure, x, record, kind, parameter_colour(record.position), label)
    _finish(figure, record, record.params[0], values, kind, shown)
    return figure


def _places(values: Sequence[Any], choices: Sequence[Any], kind: str) -> list[Any]:
    """Where values are on their axis: numbers at themselves, choices one after the other."""
    if kind != "category":
        return list(values)
    place = {repr(choice): i for i, choice in enumerate(choices)}
    return [place.get(repr(value)) for value in values]


def _add_trials(
    figure: go.Figure, record: Curve, choices: Sequence[Any], values: Sequence[Any], kind: str
) -> list[float]:
    """The trials that have the parameter: as dots, or as ticks beside the estimate of their choice. Those far away are
    triangles on the edge. Returns the range of the vertical axis."""
    shown = _vertical(record)
    places = _places(values, choices, kind)
    rows = list(zip(record.trial_numbers, places, record.trial_objectives, strict=True))
    having = [(number, x, y) for number, x, y in rows if x is not None]
    y = [y for _, _, y in having]
    as_ticks = kind == "category"
    marker = {"color": GREY, "size": 4, "opacity": 0.7, "symbol": symbols(y, shown, "circle")}
    if as_ticks:
        usual = symbols(y, shown, "line-ew")
        marker |= {"size": 14, "symbol": usual, "line": {"color": GREY, "width": 1.2}}
    elif beyond(y, shown):
        marker |= {"size": [4 if shown[0] <= v <= shown[1] else 8 for v in y]}
    figure.add_scatter(
        x=[x - _BESIDE if as_ticks else x for _, x, _ in having], y=on_edge(y, shown), mode="markers",
        name=edge_name("trials", beyond(y, shown)), marker=marker,
        text=[f"trial {n}: {number_text(v, '.6g')}" for n, _, v in having], hoverinfo="text",
    )  # fmt: skip
    return shown


def _add_curve(figure: go.Figure, x: Sequence[Any], record: Curve, kind: str, colour: str, label: str) -> None:
    """A curve in its band; choices as points with error bars."""
    if kind == "category":
        error = {
            "type": "data", "symmetric": False, "thickness": 2, "width": 8,
            "array": [h - m for h, m in zip(record.high, record.mean, strict=True)],
            "arrayminus": [m - l for m, l in zip(record.mean, record.low, strict=True)],
        }  # fmt: skip
        figure.add_scatter(x=x, y=record.mean, mode="markers", error_y=error, name=label,
                           marker={"color": colour, "size": 10})  # fmt: skip
        return
    add_band(figure, x, record.low, record.high, colour)
    figure.add_scatter(x=x, y=record.mean, mode="lines", name=label, line={"color": colour, "width": 3})


def _finish(
    figure: go.Figure, record: Curve, name: str, values: Sequence[Any], kind: str, shown: Sequence[float]
) -> None:
    """Title, axes and legend, and how many trials are near each value: below the choices, or in a strip."""
    strip = kind != "category"
    if strip:
        figure.add_scatter(x=list(values), y=record.support, mode="lines", fill="tozeroy", name="trials nearby",
                           yaxis="y2", showlegend=False, hovertemplate="%{y} trials nearby<extra></extra>",
                           line={"color": GREY, "width": 1, "shape": "hvh"})  # fmt: skip
    frame(figure, "", 900, 560)
    top = say(figure, record.sentence, record.notes)
    counts = record.support if kind == "category" else ()
    figure.update_layout(
        height=top + _HEIGHT,
        xaxis={"title": escape(name), "anchor": "y2" if strip else "y", **_axis(values, kind, counts)},
        yaxis={"domain": [0.18 if strip else 0.0, 1.0], "title": escape(cut(record.objective)), "range": list(shown)},
        legend=LEGEND_ABOVE,
    )
    if strip:
        figure.update_layout(yaxis2={"domain": [0.0, 0.1], "title": "trials", "nticks": 3, "anchor": "x"})


def _joint_effect(record: PartialDependence) -> go.Figure:
    """Two maps side by side: the average, and the half-width of its band."""
    first, second = (list({repr(v): v for v in values}.values()) for values in record.values)
    rows, columns = len(second), len(first)

    def table(values: Sequence[Any]) -> list[list[Any]]:
        return [[values[i * rows + j] for i in range(columns)] for j in range(rows)]

    x, y = _places(first, first, record.axes[0]), _places(second, second, record.axes[1])
    half = [(h - l) / 2 for h, l in zip(record.high, record.low, strict=True)]
    what = f"{'typical' if record.typical else 'average'} {escape(cut(record.objective))}"
    figure = make_subplots(cols=2, horizontal_spacing=0.24,
                           subplot_titles=(what, f"half-width of the {100 * record.level:g}% band"))  # fmt: skip
    figure.add_heatmap(
        x=x, y=y, z=table(record.mean), colorscale="Cividis", colorbar={"x": 0.385, "len": 0.9}, row=1, col=1
    )
    figure.add_heatmap(x=x, y=y, z=table(half), colorscale="Greys", colorbar={"x": 1.01, "len": 0.9}, row=1, col=2)
    pairs = [(a, b) for a, b in zip(*record.trial_values, strict=True) if a is not None and b is not None]
    for col in (1, 2):
        figure.add_scatter(
            x=_places([a for a, _ in pairs], first, record.axes[0]),
            y=_places([b for _, b in pairs], second, record.axes[1]),
            mode="markers", marker={"color": "white", "size": 6, "line": {"color": "black", "width": 1}},
            name="trials", showlegend=False, row=1, col=col,
        )  # fmt: skip
    frame(figure, "", 1080, 560)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 440)
    figure.update_xaxes(title=escape(record.params[0]), **_axis(first, record.axes[0]))
    figure.update_yaxes(title=escape(record.params[1]), **_axis(second, record.axes[1]))
    return figure


def _axis(values: Sequence[Any], kind: str, counts: Sequence[int] = ()) -> dict[str, Any]:
    """An axis for the values of a parameter. `counts`: of the trials with each choice, for its label."""
    if kind == "log":
        return log_axis(values)
    if kind == "linear":
        return {"type": "linear"}
    texts = _choice_texts(values)
    if counts:
        words = [f"{count} {'trial' if count == 1 else 'trials'}" for count in counts]
        texts = [f"{text}<br>{word}" for text, word in zip(texts, words, strict=True)]
    places = list(range(len(values)))
    return {"type": "linear", "tickvals": places, "ticktext": texts, "range": [-0.5, len(values) - 0.5]}


def _choice_texts(choices: Sequence[Any]) -> list[str]:
    """Choices as escaped text, quoted if some of them (True and 'True') would look the same."""
    alike = len({str(v) for v in choices}) < len({repr(v) for v in choices})
    return [escape(cut(repr(v) if alike else str(v))) for v in choices]


def _vertical(record: Curve) -> list[float]:
    """A range for the axis that shows the curve and the trials: neither a very wide band, where nothing is known, nor
    trials far away may flatten them."""
    bottom, top = reach(record.trial_objectives, record.mean)
    span = top - bottom
    return [min(bottom, max(min(record.low), bottom - 0.5 * span)), max(top, min(max(record.high), top + 0.5 * span))]
