"""Figures of effects: the best that can be reached at each value of a parameter, and averages over all others."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.plots.base import (
    CHOSEN,
    COLOURS,
    GREY,
    LEGEND_ABOVE,
    PALE,
    add_band,
    cut,
    draws,
    frame,
    parameter_colour,
    say,
)
from pellucid.records import PartialDependence, ProfileEffect

# Outliers among the trials do not stretch the axis: it shows all but this share of them at either end.
_OUTLIERS = 0.02


@draws(ProfileEffect)
def profile(record: ProfileEffect) -> go.Figure:
    """What can be reached at each value in its band, the best value, the trials, and how many are near each value."""
    kind, colour = record.scale, parameter_colour(record.param)
    x = _shown(record.values, kind)
    if kind == "category":
        x = [
            f"{name}<br>{count} {'trial' if count == 1 else 'trials'}"
            for name, count in zip(x, record.support, strict=True)
        ]
    places = dict(zip(map(repr, record.values), x, strict=True))
    figure = go.Figure()
    having = [(v, y) for v, y in zip(record.trial_values, record.trial_objectives, strict=True) if v is not None]
    at = [places.get(repr(v)) if kind == "category" else v for v, _ in having]
    _add_trials(figure, at, [y for _, y in having])
    _add_curve(figure, x, record, kind, colour, f"best that can be reached, {100 * record.level:g}% band")
    figure.add_scatter(
        x=[x[record.best]], y=[record.mean[record.best]], mode="markers", name="best value",
        marker={"color": CHOSEN, "size": 13, "symbol": "star"},
    )  # fmt: skip
    if kind != "category":
        _add_support(figure, x, record.support, kind)
    _finish(figure, record, record.param, kind, strip=kind != "category")
    return figure


@draws(PartialDependence)
def effect(record: PartialDependence) -> go.Figure:
    """The effect of one parameter as a curve, of two as a map."""
    return _effect(record) if len(record.params) == 1 else _joint_effect(record)


def _effect(record: PartialDependence) -> go.Figure:
    """The curve in its band, curves through single trials, the trials themselves and how many are near each value."""
    name, kind = record.params[0], record.axes[0]
    x, colour = _shown(record.values[0], kind), parameter_colour(name)
    figure = go.Figure()
    for curve in record.individual:
        if curve.low:
            add_band(figure, x, curve.low, curve.high, COLOURS[1])
        figure.add_scatter(
            x=x, y=curve.mean, mode="lines", name=f"trial {curve.trial}", showlegend=bool(curve.low),
            line={"color": COLOURS[1] if curve.low else PALE, "width": 2 if curve.low else 1}, hoverinfo="name+y",
        )  # fmt: skip
    trials = [(v, y) for v, y in zip(record.trial_values[0], record.trial_objectives, strict=True) if v is not None]
    _add_trials(figure, _shown([v for v, _ in trials], kind, record.values[0]), [y for _, y in trials])
    what = "typical value" if record.typical else "average"
    _add_curve(figure, x, record, kind, colour, f"{what} over all other settings, {100 * record.level:g}% band")
    _add_support(figure, x, record.support, kind)
    _finish(figure, record, name, kind, strip=True)
    return figure


def _add_trials(figure: go.Figure, x: Sequence[Any], y: Sequence[float]) -> None:
    figure.add_scatter(x=x, y=y, mode="markers", name="trials", marker={"color": GREY, "size": 4, "opacity": 0.6})


def _add_curve(
    figure: go.Figure, x: Sequence[Any], record: PartialDependence | ProfileEffect, kind: str, colour: str, label: str
) -> None:
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


def _add_support(figure: go.Figure, x: Sequence[Any], support: Sequence[int], kind: str) -> None:
    nearby = {"name": "trials nearby", "yaxis": "y2", "showlegend": False,
              "hovertemplate": "%{y} trials nearby<extra></extra>"}  # fmt: skip
    if kind == "category":
        figure.add_bar(x=x, y=support, marker={"color": GREY}, opacity=0.5, **nearby)
    else:
        figure.add_scatter(x=x, y=support, mode="lines", fill="tozeroy", line={"color": GREY, "width": 1,
                           "shape": "hvh"}, **nearby)  # fmt: skip


def _finish(figure: go.Figure, record: PartialDependence | ProfileEffect, name: str, kind: str, *, strip: bool) -> None:
    """Title, axes and legend. `strip`: a strip below shows how many trials are near each value."""
    frame(figure, "", 900, 560)
    say(figure, record.sentence, record.notes)
    figure.update_layout(
        xaxis={"title": escape(name), "anchor": "y2" if strip else "y", **_AXIS[kind]},
        yaxis={
            "domain": [0.16 if strip else 0.0, 1.0],
            "title": escape(cut(record.objective)),
            "range": _reach(record),
        },
        legend=LEGEND_ABOVE,
        bargap=0.2,
    )
    if strip:
        figure.update_layout(yaxis2={"domain": [0.0, 0.1], "title": "trials", "nticks": 3, "anchor": "x"})


def _joint_effect(record: PartialDependence) -> go.Figure:
    """Two maps side by side: the average, and the half-width of its band."""
    first, second = (list({repr(v): v for v in values}.values()) for values in record.values)
    rows, columns = len(second), len(first)

    def table(values: Sequence[Any]) -> list[list[Any]]:
        return [[values[i * rows + j] for i in range(columns)] for j in range(rows)]

    x, y = _shown(first, record.axes[0]), _shown(second, record.axes[1])
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
            x=_shown([a for a, _ in pairs], record.axes[0], first),
            y=_shown([b for _, b in pairs], record.axes[1], second),
            mode="markers", marker={"color": "white", "size": 6, "line": {"color": "black", "width": 1}},
            name="trials", showlegend=False, row=1, col=col,
        )  # fmt: skip
    frame(figure, "", 1080, 560)
    say(figure, record.sentence, record.notes)
    figure.update_xaxes(title=escape(record.params[0]), **_AXIS[record.axes[0]])
    figure.update_yaxes(title=escape(record.params[1]), **_AXIS[record.axes[1]])
    return figure


_AXIS: dict[str, dict[str, Any]] = {
    "linear": {"type": "linear"},
    "log": {"type": "log", "exponentformat": "power", "dtick": 1},
    "category": {"type": "category"},
}


def _shown(values: Sequence[Any], kind: str, choices: Sequence[Any] = ()) -> list[Any]:
    """Numbers unchanged, choices as escaped text, quoted if some of them (True and 'True') would look the same."""
    if kind != "category":
        return list(values)
    everything = [*choices, *values]
    alike = len({str(v) for v in everything}) < len({repr(v) for v in everything})
    return [escape(repr(v) if alike else str(v)) for v in values]


def _reach(record: PartialDependence | ProfileEffect) -> list[float]:
    """A range for the axis that shows the curve and the trials: neither a very wide band, where nothing is known, nor
    single outliers may flatten them."""
    trials = sorted(record.trial_objectives)
    outliers = int(_OUTLIERS * len(trials))
    shown = [*record.mean, *trials[outliers : len(trials) - outliers]]
    bottom, top = min(shown), max(shown)
    span = top - bottom
    low = min(bottom, max(min(record.low), bottom - span))
    high = max(top, min(max(record.high), top + span))
    margin = 0.05 * (high - low) or 1.0
    return [low - margin, high + margin]
