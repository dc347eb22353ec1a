"""Figures of partial dependences: the average effect of one parameter, or of two together."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.plots.base import COLOURS, LEGEND_ABOVE, add_band, draws, parameter_colour, say, style
from pellucid.records import PartialDependence


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
            line={"color": COLOURS[1] if curve.low else "#b8bec6", "width": 2 if curve.low else 1}, hoverinfo="name+y",
        )  # fmt: skip
    trials = [(v, y) for v, y in zip(record.trial_values[0], record.trial_objectives, strict=True) if v is not None]
    figure.add_scatter(
        x=_shown([v for v, _ in trials], kind, record.values[0]), y=[y for _, y in trials], mode="markers",
        name="trials", marker={"color": "#8a929c", "size": 4, "opacity": 0.6},
    )  # fmt: skip
    label = f"{'typical value' if record.typical else 'average'}, {100 * record.level:g}% band"
    if kind == "category":
        error = {
            "type": "data", "symmetric": False, "thickness": 2, "width": 8,
            "array": [h - m for h, m in zip(record.high, record.mean, strict=True)],
            "arrayminus": [m - l for m, l in zip(record.mean, record.low, strict=True)],
        }  # fmt: skip
        figure.add_scatter(x=x, y=record.mean, mode="markers", error_y=error, name=label,
                           marker={"color": colour, "size": 10})  # fmt: skip
    else:
        add_band(figure, x, record.low, record.high, colour)
        # Dotted where the band is too wide to be informative, solid elsewhere.
        firm = [m if ok else None for m, ok in zip(record.mean, record.trusted, strict=True)]
        figure.add_scatter(x=x, y=record.mean, mode="lines", showlegend=False, hoverinfo="skip",
                           line={"color": colour, "width": 2, "dash": "dot"})  # fmt: skip
        figure.add_scatter(x=x, y=firm, mode="lines", name=label, line={"color": colour, "width": 3})
    nearby = {"name": "trials nearby", "yaxis": "y2", "showlegend": False,
              "hovertemplate": "%{y} trials nearby<extra></extra>"}  # fmt: skip
    if kind == "category":
        figure.add_bar(x=x, y=record.support, marker={"color": "#8a929c"}, opacity=0.5, **nearby)
    else:
        figure.add_scatter(x=x, y=record.support, mode="lines", fill="tozeroy", line={"color": "#8a929c", "width": 1,
                           "shape": "hvh"}, **nearby)  # fmt: skip
    style(figure, "", 900, 560)
    say(figure, record.sentence, record.notes)
    figure.update_layout(
        yaxis={"domain": [0.16, 1.0], "title": "objective", "range": _reach(record)},
        yaxis2={"domain": [0.0, 0.1], "title": "trials", "nticks": 3, "anchor": "x"},
        legend=LEGEND_ABOVE,
        bargap=0.2,
    )
    figure.update_xaxes(title=escape(name), anchor="y2", **_AXIS[kind])
    return figure


def _joint_effect(record: PartialDependence) -> go.Figure:
    """Two maps side by side: the average, and the half-width of its band."""
    first, second = (list({repr(v): v for v in values}.values()) for values in record.values)
    rows, columns = len(second), len(first)

    def table(values: Sequence[Any]) -> list[list[Any]]:
        return [[values[i * rows + j] for i in range(columns)] for j in range(rows)]

    x, y = _shown(first, record.axes[0]), _shown(second, record.axes[1])
    half = [(h - l) / 2 for h, l in zip(record.high, record.low, strict=True)]
    believed = [m if ok else None for m, ok in zip(record.mean, record.trusted, strict=True)]
    what = "typical objective" if record.typical else "average objective"
    figure = make_subplots(cols=2, horizontal_spacing=0.24,
                           subplot_titles=(what, f"half-width of the {100 * record.level:g}% band"))  # fmt: skip
    figure.add_heatmap(
        x=x, y=y, z=table(believed), colorscale="Cividis", colorbar={"x": 0.385, "len": 0.9}, row=1, col=1
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
    style(figure, "", 1080, 560)
    say(figure, record.sentence, record.notes)
    figure.update_layout(plot_bgcolor="#e9ecef")  # Blank where the band is too wide to be informative.
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


def _reach(record: PartialDependence) -> list[float] | None:
    """A range for the axis that shows the curve: a very wide band, where nothing is known, must not flatten it."""
    sure = [(l, h) for l, h, ok in zip(record.low, record.high, record.trusted, strict=True) if ok]
    if not sure:
        return None
    low = min(*(l for l, _ in sure), *record.trial_objectives)
    high = max(*(h for _, h in sure), *record.trial_objectives)
    margin = 0.05 * (high - low) or 1.0
    return [low - margin, high + margin]
