"""Figures of what matters for the objective: shares of its variance with intervals, and interactions."""

from __future__ import annotations

from textwrap import shorten

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers.drawing.base import LEGEND_ABOVE, cut, frame, labels, say
from pellucid.answers.drawing.colours import COLOURS, EXPLOIT, EXPLORE, GREY
from pellucid.answers.importance.records import Importance, ParameterShare
from pellucid.words import OBJECTIVE, escape

_COLOURS = {"matters": EXPLOIT, "cannot tell": EXPLORE, "no effect": GREY}
_WORDS = {"matters": "matters", "cannot tell": "share unclear", "no effect": "hardly matters"}
# Opacity of the part of a bar that is due to interactions.
_LIGHT = 0.4
# Pixels per bar, and around the bars of a branch.
_BAR, _AROUND = 26, 46
# Parameters, and pairs, that a figure shows at most.
_MOST_BARS, _MOST_PAIRS = 20, 12
# Smaller shares of the variance would be shown as 0%.
_SMALLEST_PAIR = 0.005
# Letters of a branch.
_LONGEST_BRANCH = 100


def importance(record: Importance) -> go.Figure:
    """A bar per parameter, coloured by verdict, with its interval: dark the share of the parameter alone, light that of
    its interactions. A panel per branch, the whole space first."""
    shown = record.parameters[:_MOST_BARS]
    branches = sorted(dict.fromkeys(p.branch for p in shown), key=bool)
    groups = {branch: [p for p in shown if p.branch == branch] for branch in branches}
    heights = [_AROUND + _BAR * len(members) for members in groups.values()]
    conditional = len(branches) > 1 or branches != [""]
    titles = [escape(shorten(b, _LONGEST_BRANCH) or "everywhere") for b in branches] if conditional else None
    figure = make_subplots(
        rows=len(branches), cols=1, shared_xaxes=True, row_heights=heights, subplot_titles=titles,
        vertical_spacing=min(0.9 / len(branches), 34 / sum(heights)),
    )  # fmt: skip
    listed: set[str] = set()
    for row, members in enumerate(groups.values(), start=1):
        _bars(figure, members[::-1], row, listed)
    frame(figure, "", 900, 300)
    doubts = [*record.notes]
    if len(shown) < len(record.parameters):
        doubts.append(f"{len(shown)} of {len(record.parameters)} parameters are shown.")
    top = say(figure, record.sentence, doubts)
    title = f"{_share(record)}, with {100 * record.level:.3g}% interval (dark: alone, light: with interactions)"
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_xaxes(title=title, row=len(branches), col=1)
    figure.update_layout(
        height=top + 80 + sum(heights), margin={"b": 60, "t": top + 16}, barmode="overlay",
        legend={**LEGEND_ABOVE, "y": 1.0 + 18 / sum(heights)},
    )  # fmt: skip
    figure.update_annotations(x=0.0, xanchor="left", font={"size": 13})
    return figure


def _variance(objective: str) -> str:
    return "the variance" if objective == OBJECTIVE else f"the variance of {objective}"


def _share(record: Importance) -> str:
    """The title of an axis."""
    return f"share of {escape(_variance(cut(record.objective)))}"


def _bars(figure: go.Figure, members: list[ParameterShare], row: int, listed: set[str]) -> None:
    """The bars of one branch, from the bottom up. `listed`: verdicts that the legend has."""
    names = labels([p.name for p in members])
    label = dict(zip((p.name for p in members), names, strict=True))
    for verdict, colour in _COLOURS.items():
        chosen = [p for p in members if p.verdict == verdict]
        if not chosen:
            continue
        y = [label[p.name] for p in chosen]
        error = {
            "type": "data", "array": [p.high - p.total for p in chosen], "color": COLOURS[8], "thickness": 1.5,
            "arrayminus": [p.total - p.low for p in chosen], "symmetric": False,
        }  # fmt: skip
        figure.add_bar(
            y=y, x=[p.total for p in chosen], orientation="h", marker={"color": colour, "opacity": _LIGHT},
            error_x=error, showlegend=False, customdata=[[p.low, p.high, p.n_trials] for p in chosen],
            hovertemplate="%{y}: %{x:.1%} (%{customdata[0]:.1%} to %{customdata[1]:.1%}), %{customdata[2]} trials"
            "<extra></extra>", row=row, col=1,
        )  # fmt: skip
        figure.add_bar(
            y=y, x=[p.first for p in chosen], orientation="h", marker={"color": colour}, name=_WORDS[verdict],
            legendgroup=verdict, showlegend=verdict not in listed, hovertemplate="%{y} alone: %{x:.1%}<extra></extra>",
            row=row, col=1,
        )  # fmt: skip
        listed.add(verdict)
    figure.update_yaxes(categoryorder="array", categoryarray=names, type="category", automargin=True, row=row, col=1)


def pairs(record: Importance) -> go.Figure:
    """The strongest interactions."""
    shown = [pair for pair in record.pairs if pair.index >= _SMALLEST_PAIR][:_MOST_PAIRS]
    names = labels([f"{a} with {b}" for a, b in (pair.params for pair in shown)])
    figure = go.Figure()
    figure.add_bar(
        y=names[::-1], x=[pair.index for pair in shown[::-1]], orientation="h", marker={"color": EXPLOIT},
        hovertemplate="%{y}: %{x:.1%}<extra></extra>",
    )  # fmt: skip
    finding = "There are no two parameters to compare."
    if record.pairs and not shown:
        finding = f"No two parameters act together on more than {_SMALLEST_PAIR:.1%} of {_variance(record.objective)}."
    elif record.pairs:
        strongest = record.pairs[0]
        where = f" {strongest.branch}" if strongest.branch else ""
        pair = f"of `{strongest.params[0]}` with `{strongest.params[1]}`{where}"
        share = f"{100 * strongest.index:.0f}% of {_variance(record.objective)}"
        unclear = [p.name for p in record.parameters if p.name in strongest.params and p.verdict != "matters"]
        if unclear:
            who = " and ".join(f"`{name}`" for name in unclear)
            doubt = f"it is not known whether {who} {'matters' if len(unclear) == 1 else 'matter'}"
            finding = f"The strongest interaction, {pair}, may have {share}, but {doubt}."
        else:
            finding = f"The strongest interaction, {pair}, has {share}."
    frame(figure, "", 900, 300)
    top = say(figure, finding, [])
    figure.update_layout(height=top + 90 + _BAR * max(len(shown), 1), margin={"b": 60})
    figure.update_xaxes(title=_share(record), tickformat=".1%", rangemode="tozero")
    figure.update_yaxes(type="category", automargin=True)
    return figure
