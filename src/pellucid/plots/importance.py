"""Figures of what matters: indices with errors, and how values differ between all trials and those in the goal."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.plots.base import COLOURS, say, style
from pellucid.records import HsicImportance, IntervalReduction

_COLOURS = {"impactful": COLOURS[0], "cannot tell": COLOURS[2], "no effect": "#b8bec6"}
_MOST_SHOWN = 3
_LONGEST = 30


def importance(found: HsicImportance) -> go.Figure:
    """Bars by parameter, coloured by verdict; beside them the first few parameters' values, overall and in the goal."""
    shown = found.parameters[:_MOST_SHOWN]
    figure = make_subplots(
        rows=max(len(shown), 1), cols=2, column_widths=[0.55, 0.45], horizontal_spacing=0.14,
        specs=[[{"rowspan": max(len(shown), 1)}, {}], *([[None, {}]] * (len(shown) - 1))], vertical_spacing=0.2,
        subplot_titles=["", *(escape(_cut(one.name)) for one in shown)],
    )  # fmt: skip
    rows = found.parameters[::-1]
    cut = [_cut(one.name) for one in rows]
    label = {
        one.name: escape(name if len(set(cut)) == len(cut) else one.name) for one, name in zip(rows, cut, strict=True)
    }
    for verdict, colour in _COLOURS.items():
        mine = [one for one in rows if one.verdict == verdict]
        figure.add_bar(
            y=[label[one.name] for one in mine], x=[one.index for one in mine], orientation="h", name=verdict,
            marker={"color": colour}, error_x={"type": "data", "array": [one.stderr for one in mine]}, row=1, col=1,
        )  # fmt: skip
    figure.update_yaxes(categoryorder="array", categoryarray=[label[one.name] for one in rows], type="category",
                        automargin=True, row=1, col=1)  # fmt: skip
    figure.update_xaxes(title="HSIC towards the goal, with standard error", exponentformat="power", row=1, col=1)
    for i, one in enumerate(shown, start=1):
        labels = [escape(_cut(label)) for label, _, _ in one.bins]
        for name, column, colour in (("all", 1, "#b8bec6"), ("in the goal", 2, COLOURS[1])):
            figure.add_bar(x=labels, y=[100 * bar[column] for bar in one.bins], name=name, marker={"color": colour},
                           legendgroup=name, showlegend=i == 1, row=i, col=2)  # fmt: skip
        figure.update_yaxes(title="%", row=i, col=2)
        figure.update_xaxes(type="category", tickangle=-30, tickfont={"size": 10}, row=i, col=2)
    style(figure, "", 1080, 200 + 190 * max(len(shown), 1))
    top = say(figure, found.verdict, found.notes, width=112)
    figure.update_layout(height=top + 120 + 190 * max(len(shown), 1), margin={"t": top + 20, "b": 90},
                         legend={"orientation": "h", "y": -0.12, "yanchor": "top", "x": 0.0})  # fmt: skip
    return figure


def interval(found: IntervalReduction) -> go.Figure:
    """The index of what is left over the cuts, filled where it is significant; a line at what costs nothing."""
    figure = go.Figure()
    x = [f"{cut:.4g}" for cut in found.cuts]
    if len(set(x)) < len(x):
        x = [repr(cut) for cut in found.cuts]
    for name, wanted, symbol in (("matters (p ≤ 0.05)", True, "circle"), ("does not", False, "circle-open")):
        mine = [i for i, p in enumerate(found.p) if (p <= 0.05) == wanted]
        figure.add_scatter(
            x=[x[i] for i in mine], y=[found.index[i] for i in mine], mode="markers", name=name,
            error_y={"type": "data", "array": [found.stderr[i] for i in mine], "thickness": 1.5},
            marker={"color": COLOURS[0], "size": 10, "symbol": symbol},
        )  # fmt: skip
    if found.value is not None:
        place = found.cuts.index(found.value)  # Categories are counted; labels that look like numbers would be too.
        figure.add_shape(type="line", x0=place, x1=place, y0=0, y1=1, yref="paper",
                         line={"color": COLOURS[1], "dash": "dash", "width": 2})  # fmt: skip
    style(figure, "", 900, 460)
    say(figure, found.verdict, found.notes)
    side = "from here up" if found.cheap == "low" else "up to here"
    figure.update_xaxes(title=f"{escape(_cut(found.param))}, {side}", type="category", categoryorder="array",
                        categoryarray=x)  # fmt: skip
    figure.update_yaxes(title="HSIC of what is left, with standard error", exponentformat="power", zeroline=True)
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right"})
    return figure


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
