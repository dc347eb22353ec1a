"""Figures of explained proposals: bars by term, paths over a run, methods side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TypeVar

import plotly.graph_objects as go

from pellucid.answers.drawing.base import LEGEND_ABOVE, cut, frame, labels, say
from pellucid.answers.drawing.colours import COLOURS
from pellucid.answers.drawing.curves import Line, panels
from pellucid.answers.proposals.records import (
    Contribution,
    DesirabilityPaths,
    ImportanceComparison,
    ProposalExplanation,
    ProposalInteractions,
)
from pellucid.provenance import Term
from pellucid.provenance.terms import Role
from pellucid.words import OBJECTIVE, called, escape, number_text

# What a term stands for has the same colour in every figure: predictions blue, uncertainty yellow.
_ROLE_COLOURS: dict[Role, str] = {
    "prediction": COLOURS[0],
    "uncertainty": COLOURS[2],
    "room": COLOURS[2],
    "information": COLOURS[3],
    "feasibility": COLOURS[1],
}
# For terms whose colour another term of the acquisition has already.
_OTHER_COLOURS = COLOURS[4:]
_METHOD_WORDS = {
    "shapley": "Shapley values",
    "ablation": "ablation path",
    "local": "variance along the axes",
    "permutation": "permutation importance",
}
_TOTAL = "#3a3a3a"
# Negative, none, positive.
_SIGNED = [[0.0, COLOURS[1]], [0.5, "#f5f5f5"], [1.0, COLOURS[0]]]
Value = TypeVar("Value")


def proposal(explanation: ProposalExplanation) -> go.Figure:
    """One bar per parameter, stacked by term, the largest contribution on top; a diamond with an interval: the sum."""
    rows = sorted(explanation.contributions, key=lambda c: c.total)
    shown = _labels(rows)
    figure = go.Figure()
    for name, colour in _colours(explanation.terms).items():
        figure.add_bar(
            y=shown, x=[c.terms[name] for c in rows], orientation="h", name=escape(explanation.terms[name].label),
            marker={"color": colour}, opacity=0.85,
        )  # fmt: skip
    error = {
        "type": "data", "symmetric": False, "thickness": 1.5, "width": 5, "color": _TOTAL,
        "array": [c.high - c.total for c in rows], "arrayminus": [c.total - c.low for c in rows],
    }  # fmt: skip
    label = f"sum, {100 * explanation.level:g}% interval" if explanation.n_samples else "sum (exact)"
    figure.add_scatter(y=shown, x=[c.total for c in rows], mode="markers", name=label, error_x=error,
                       marker={"color": _TOTAL, "symbol": "diamond", "size": 9})  # fmt: skip
    frame(figure, "", 900, 220 + 34 * len(rows))
    top = say(figure, explanation.sentence, [*explanation.notes, *_doubts([explanation])])
    unit, compared_with = _unit(explanation), escape(explanation.compared_with)
    right = "more" if explanation.predicted else "more attractive"
    title = f"contribution ({unit}); right: {right}<br>compared with {compared_with}"
    figure.update_layout(
        barmode="relative", height=top + 140 + 34 * len(rows), margin={"l": 20, "b": 84},
        legend=LEGEND_ABOVE, yaxis={"type": "category", "automargin": True},
        xaxis={"title": title, "exponentformat": "power", "zeroline": True, "zerolinewidth": 1.5,
               "zerolinecolor": "#888888"},
    )  # fmt: skip
    return figure


def contribution_paths(paths: DesirabilityPaths) -> go.Figure:
    """A panel per parameter, with a line and a band per term and the sum dotted; the same scale for all."""
    shown = {}
    for name, title in zip(paths.params, labels(paths.params), strict=True):
        lines = []
        for term, colour in _path_colours(paths).items():
            for run in _runs(paths, name, term):
                x, y = [trial for trial, _ in run], [c.terms[term] for _, c in run]
                low, high = ([getattr(c, end)[term] for _, c in run] for end in ("term_low", "term_high"))
                lines.append(Line(escape(paths.terms[term].label), x, y, colour, low, high))
        if len(paths.term_names) > 1:
            for run in _runs(paths, name):
                x, y = [trial for trial, _ in run], [c.total for _, c in run]
                lines.append(Line("sum", x, y, _TOTAL, dash="dot", width=1.5))
        shown[title] = lines
    figure = panels(shown, columns=3, x_title="trial", y_title=f"contribution<br>({_common_unit(paths)})")
    top = say(figure, paths.sentence, [*paths.notes, *_doubts(paths.explanations)])
    figure.update_layout(height=figure.layout.height + top - 60, margin={"t": top + 24})
    return figure


def _colours(terms: Mapping[str, Term]) -> dict[str, str]:
    """By the role of a term. Terms of one acquisition have different colours, unless there are too few colours."""
    others = cycle(_OTHER_COLOURS)
    colours: dict[str, str] = {}
    for name, term in terms.items():
        colour = _ROLE_COLOURS[term.role]
        colours[name] = next(others) if colour in colours.values() else colour
    return colours


def _path_colours(paths: DesirabilityPaths) -> dict[str, str]:
    return {name: colour for explanation in paths.explanations for name, colour in _colours(explanation.terms).items()}


def _runs(paths: DesirabilityPaths, name: str, term: str | None = None) -> list[list[tuple[int, Contribution]]]:
    """Contributions of a parameter (to a term), trial by trial."""

    def of(explanation: ProposalExplanation) -> Contribution | None:
        named = [c for c in explanation.contributions if c.name == name]
        return next((c for c in named if term is None or term in c.terms), None)

    return _cut((explanation.trial, of(explanation)) for explanation in paths.explanations)


def _cut(points: Iterable[tuple[int, Value | None]]) -> list[list[tuple[int, Value]]]:
    """Runs without a gap, so that no line is drawn across missing values."""
    runs: list[list[tuple[int, Value]]] = [[]]
    for trial, value in points:
        if value is not None:
            runs[-1].append((trial, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _common_unit(paths: DesirabilityPaths) -> str:
    units = {_unit(explanation) for explanation in paths.explanations}
    return units.pop() if len(units) == 1 else "each in its own unit"


def _doubts(explanations: Sequence[ProposalExplanation]) -> list[str]:
    out = []
    if not all(explanation.proposed for explanation in explanations):
        out.append("Not proposed by pellucid: this is what its model would have said.")
    if any(explanation.transformed for explanation in explanations):
        what = called(explanations[0].objective)
        out.append(f"The model sees {what} through a transformation, so parts are in proportion only.")
    return out


def payout_paths(paths: DesirabilityPaths) -> go.Figure:
    """Over the run: by how much each term was better at the proposal than on average, and their sum."""
    figure = go.Figure()
    explanations = paths.explanations
    for term, colour in _path_colours(paths).items():
        name = escape(paths.terms[term].label)
        runs = _cut((explanation.trial, explanation.payouts.get(term)) for explanation in explanations)
        for i, run in enumerate(runs):
            figure.add_scatter(x=[trial for trial, _ in run], y=[value for _, value in run], mode=_mode(run), name=name,
                               showlegend=i == 0, legendgroup=term, line={"color": colour, "width": 2})  # fmt: skip
    # A sum is comparable only if all proposals maximised the same terms.
    if len(paths.term_names) > 1 and all(explanation.term_names == paths.term_names for explanation in explanations):
        trials, totals = zip(*((explanation.trial, explanation.total) for explanation in explanations), strict=True)
        figure.add_scatter(x=trials, y=totals, mode=_mode(explanations), name="sum",
                           line={"color": _TOTAL, "width": 1.5, "dash": "dot"})  # fmt: skip
    frame(figure, "", 900, 480)
    say(figure, paths.sentence, [*paths.notes, *_doubts(paths.explanations)])
    figure.update_xaxes(title="trial")
    compared = "more" if all(explanation.predicted for explanation in explanations) else "better"
    figure.update_yaxes(title=f"{compared} than average by<br>({_common_unit(paths)})", exponentformat="power",
                        zeroline=True, zerolinewidth=1.5, zerolinecolor="#888888")  # fmt: skip
    figure.update_layout(legend=LEGEND_ABOVE)
    return figure


def interactions(record: ProposalInteractions) -> go.Figure:
    """A square per pair of parameters, coloured by their interaction; on the diagonal what each contributed alone."""
    names = labels(record.params)
    size = len(names)
    values: list[list[float | None]] = [[None] * size for _ in names]
    position = {name: i for i, name in enumerate(record.params)}
    for name, value in record.main.items():
        values[position[name]][position[name]] = value
    for (first, second), value in record.pairs.items():
        values[max(position[first], position[second])][min(position[first], position[second])] = value
    largest = max((abs(value) for row in values for value in row if value is not None), default=0.0) or 1.0
    figure = go.Figure(
        go.Heatmap(
            x=names, y=names, z=values, zmin=-largest, zmax=largest, colorscale=_SIGNED, xgap=2, ygap=2,
            text=[["" if value is None else number_text(value, ".2g") for value in row] for row in values],
            texttemplate="%{text}", hoverongaps=False, colorbar={"title": _unit(record)},
        )
    )  # fmt: skip
    frame(figure, "", 900, 260 + 46 * size)
    top = say(figure, record.sentence, list(record.notes))
    figure.update_layout(height=top + 140 + 46 * size)
    figure.update_xaxes(type="category", title=f"compared with {escape(record.compared_with)}")
    figure.update_yaxes(type="category", autorange="reversed", automargin=True)
    return figure


def comparison(record: ImportanceComparison) -> go.Figure:
    """Four bars per parameter: its share in the prediction by four methods."""
    figure = go.Figure()
    names = labels(record.params)
    for i, method in enumerate(record.METHODS):
        shares = [100 * share for share in getattr(record, method)]
        figure.add_bar(x=names, y=shares, name=_METHOD_WORDS[method], marker={"color": COLOURS[i]})
    frame(figure, "", 900, 460)
    say(figure, record.sentence, [])
    figure.update_yaxes(title="share of the prediction (%)", zeroline=True, zerolinecolor="#888888")
    figure.update_xaxes(type="category")
    figure.update_layout(legend=LEGEND_ABOVE)
    return figure


def _labels(rows: Sequence[Contribution]) -> list[str]:
    texts = [number_text(c.value) if isinstance(c.value, float) else str(c.value) for c in rows]
    names = labels([c.name for c in rows])
    return [f"{name} = {escape(cut(text))}" for name, text in zip(names, texts, strict=True)]


def _mode(points: Sequence[object]) -> str:
    """A line needs two points."""
    return "lines" if len(points) > 1 else "markers"


def _unit(record: ProposalExplanation | ProposalInteractions) -> str:
    return f"unit of {escape(cut(called(record.objective)))}" if record.unit == OBJECTIVE else record.unit
