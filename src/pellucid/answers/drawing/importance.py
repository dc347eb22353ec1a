"""Figures of what matters: indices with errors, how values differ between all trials and those in the goal, pairs."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.base import LEGEND_ABOVE, cut, frame, labels, say
from pellucid.answers.drawing.colours import COLOURS, EXPLOIT, EXPLORE, PALE, parameter_colour
from pellucid.answers.importance.goals import HsicImportance, ParameterImportance
from pellucid.answers.ranges.records import IntervalReduction
from pellucid.words import escape

_COLOURS = {"impactful": EXPLOIT, "cannot tell": EXPLORE, "no effect": PALE}
_PATTERNS = {"impactful": "", "cannot tell": "/", "no effect": ""}
# Parameters beside the bars; columns and panels of the figure of values.
_MOST_SHOWN, _MOST_COLUMNS, _MOST_PANELS = 3, 3, 9


def importance(record: HsicImportance) -> go.Figure:
    """Bars by parameter, coloured by verdict; beside them the first few parameters' values, overall and in the goal."""
    shown = record.parameters[:_MOST_SHOWN]
    figure = make_subplots(
        rows=max(len(shown), 1), cols=2, column_widths=[0.55, 0.45], horizontal_spacing=0.14,
        specs=[[{"rowspan": max(len(shown), 1)}, {}], *([[None, {}]] * (len(shown) - 1))], vertical_spacing=0.2,
        subplot_titles=["", *(escape(cut(parameter.name)) for parameter in shown)],
    )  # fmt: skip
    _bars(figure, record)
    for i, parameter in enumerate(shown, start=1):
        _histogram(figure, parameter, row=i, col=2, listed=i == 1)
    frame(figure, "", 1080, 200 + 190 * max(len(shown), 1))
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 120 + 190 * max(len(shown), 1), margin={"t": top + 20, "b": 90},
                         legend={"orientation": "h", "y": -0.12, "yanchor": "top", "x": 0.0})  # fmt: skip
    return figure


def indices(record: HsicImportance) -> go.Figure:
    """The bars alone."""
    figure = make_subplots(rows=1, cols=1)
    _bars(figure, record)
    frame(figure, "", 900, 300)
    top = say(figure, record.headline, record.notes)
    figure.update_layout(height=top + 110 + 26 * len(record.parameters), margin={"b": 60},
                         legend=LEGEND_ABOVE)  # fmt: skip
    return figure


def _bars(figure: go.Figure, record: HsicImportance) -> None:
    rows = record.parameters[::-1]
    names = [parameter.name for parameter in rows]
    label = dict(zip(names, labels(names), strict=True))
    for verdict, colour in _COLOURS.items():
        members = [parameter for parameter in rows if parameter.verdict == verdict]
        error = {"type": "data", "array": [p.stderr for p in members], "color": COLOURS[8], "thickness": 1.5}
        figure.add_bar(
            y=[label[p.name] for p in members], x=[p.index for p in members], orientation="h", name=verdict,
            marker={"color": colour, "pattern": {"shape": _PATTERNS[verdict]}}, row=1, col=1, error_x=error,
            customdata=[p.p_adjusted for p in members], hovertemplate="%{y}: %{x:.2g}, p = %{customdata:.2g}",
        )  # fmt: skip
    figure.update_yaxes(categoryorder="array", categoryarray=[label[name] for name in names], type="category",
                        automargin=True, row=1, col=1)  # fmt: skip
    figure.update_xaxes(title="HSIC towards the goal, with standard error", exponentformat="power", row=1, col=1)


def _histogram(figure: go.Figure, parameter: ParameterImportance, *, row: int, col: int, listed: bool) -> None:
    names = labels([label for label, _, _ in parameter.bins])
    for name, column, colour in (("all", 1, PALE), ("in the goal", 2, parameter_colour(parameter.position))):
        figure.add_bar(x=names, y=[100 * bar[column] for bar in parameter.bins], name=name, marker={"color": colour},
                       legendgroup=name, showlegend=listed, row=row, col=col)  # fmt: skip
    figure.update_yaxes(title="%", row=row, col=col)
    figure.update_xaxes(type="category", tickangle=-30, tickfont={"size": 10}, row=row, col=col)


def values(record: HsicImportance) -> go.Figure:
    """How values are distributed overall and in the goal: a panel per parameter that matters, for all if none does."""
    impactful = [parameter for parameter in record.parameters if parameter.verdict == "impactful"]
    parameters = impactful or list(record.parameters)
    shown = parameters[:_MOST_PANELS]
    columns = min(_MOST_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    between = 0.36 / max(rows, 2) + 0.05
    figure = make_subplots(rows=rows, cols=columns, horizontal_spacing=0.08, vertical_spacing=between,
                           subplot_titles=labels([parameter.name for parameter in shown]))  # fmt: skip
    for i, parameter in enumerate(shown):
        _histogram(figure, parameter, row=i // columns + 1, col=i % columns + 1, listed=i == 0)
    frame(figure, "", 1080, 300)
    finding = f"Values of the trials that count as {record.goal}, against all trials"
    if record.source == "surrogate":
        finding = f"Values that the model expects for {record.goal}, against the whole space"
    doubts = [f"{len(shown)} of {len(parameters)} parameters are shown."] if len(shown) < len(parameters) else []
    top = say(figure, finding, doubts)
    figure.update_layout(height=top + 90 + 230 * rows, margin={"t": top + 20},
                         legend={**LEGEND_ABOVE, "y": 1.0 + 26 / (230 * rows)})  # fmt: skip
    return figure


def pairs(record: HsicImportance) -> go.Figure:
    """A map of the tested pairs, in multiples of the index without an effect; significant ones have a star."""
    names = [
        parameter.name for parameter in record.parameters if any(parameter.name in pair.params for pair in record.pairs)
    ]
    place = {name: i for i, name in enumerate(names)}
    table: list[list[float | None]] = [[None] * len(names) for _ in names]
    stars = []
    for pair in record.pairs:
        a, b = sorted(pair.params, key=place.__getitem__)
        table[place[b]][place[a]] = pair.index / pair.null if pair.null > 0.0 else None
        if pair.interact:
            stars.append((place[a], place[b]))
    figure = go.Figure()
    short = labels(names)
    figure.add_heatmap(z=table, x=list(range(len(names))), y=list(range(len(names))), colorscale="Cividis",
                       colorbar={"title": "× no effect"},
                       hovertemplate="%{z:.1f} × no effect<extra></extra>")  # fmt: skip
    figure.add_scatter(x=[a for a, _ in stars], y=[b for _, b in stars], mode="text", text="★", showlegend=False,
                       textfont={"color": "white", "size": 18}, hoverinfo="skip")  # fmt: skip
    together = [f"`{a}` and `{b}`" for a, b in (pair.params for pair in record.pairs if pair.interact)]
    finding = "No two parameters that do nothing alone matter together" if record.pairs else "No pairs were tested"
    if together:
        finding = f"Matter together, but not alone: {'; '.join(together)}"
    frame(figure, "", 760, 300)
    top = say(figure, f"{finding} (for {record.goal}).", [])
    figure.update_layout(height=top + 160 + 34 * len(names))
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(tickvals=list(range(len(names))), ticktext=short, automargin=True)
    figure.update_yaxes(autorange="reversed")
    return figure


def interval(record: IntervalReduction) -> go.Figure:
    """The index of what is left after each cut, filled if significant; a line at the value that costs nothing."""
    figure = go.Figure()
    x = [f"{cut_value:.4g}" for cut_value in record.cuts]
    if len(set(x)) < len(x):
        x = [repr(cut_value) for cut_value in record.cuts]
    colour = parameter_colour(record.position)
    for name, significant, symbol in (("matters (p ≤ 0.05)", True, "circle"), ("does not", False, "circle-open")):
        members = [i for i, p in enumerate(record.p) if (p <= 0.05) == significant]
        figure.add_scatter(
            x=[x[i] for i in members], y=[record.index[i] for i in members], mode="markers", name=name,
            error_y={"type": "data", "array": [record.stderr[i] for i in members], "thickness": 1.5},
            marker={"color": colour, "size": 10, "symbol": symbol},
        )  # fmt: skip
    if record.value is not None:
        place = record.cuts.index(record.value)  # Plotly takes the position of a category.
        figure.add_shape(type="line", x0=place, x1=place, y0=0, y1=1, yref="paper",
                         line={"color": COLOURS[1], "dash": "dash", "width": 2})  # fmt: skip
    frame(figure, "", 900, 460)
    say(figure, record.sentence, record.notes)
    side = "from here up" if record.cheap == "low" else "up to here"
    figure.update_xaxes(title=f"{escape(cut(record.param))}, {side}", type="category", categoryorder="array",
                        categoryarray=x)  # fmt: skip
    figure.update_yaxes(title="HSIC of what is left, with standard error", exponentformat="power", zeroline=True)
    figure.update_layout(legend=LEGEND_ABOVE)
    return figure
