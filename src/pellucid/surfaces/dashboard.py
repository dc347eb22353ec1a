"""The answers about a study, for Optuna Dashboard: a note and the key figures."""

from __future__ import annotations

import re
from html import unescape
from textwrap import wrap
from typing import Any

from optuna.study import Study

from pellucid.words import escape

# Graph objects whose id begins like this are ours.
_PREFIX = "pellucid-"
# Between these lines the note is ours; the rest is the user's and is kept. Markdown shows nothing of either line.
_BEGIN = "[pellucid-begin]: # (written by pellucid.dashboard.publish, which replaces everything up to the end)"
_END = "[pellucid-end]: # (end of what pellucid wrote)"
_OURS = re.compile(r"\[pellucid-begin\]: # .*?\[pellucid-end\]: # \([^)]*\)", re.DOTALL)
# A card of the dashboard is 450 pixels high and about 440 wide in a window of 1000. Characters of a line of the title
# and of an axis, and the most lines, so that half of the card is left for the figure.
_HEIGHT, _TITLE, _AXIS, _MOST_LINES = 450, 54, 44, 6
# Pixels: of the buttons above the title, of a line of the title, of a row of the legend, and of a row's width, which
# holds entries of a character's width for every one of the longest name, and of a marker.
_BUTTONS, _LINE, _ROW, _WIDTH, _CHARACTER, _MARKER = 44, 18, 20, 330, 6.5, 44
# Pixels below a figure, to which the title of its axis is added, and to the left of a panel: of its title and of labels
# that are numbers. Labels have at most this share of the width.
_BOTTOM, _SIDE_TITLE, _NUMBERS, _MOST_ROOM = 40, 24, 40, 0.45


def publish(study: Study) -> list[str]:
    """Store the answers where Optuna Dashboard shows them: the note of the study, and the key figures. Returns the
    findings of the figures, in order.

    Publishing again replaces both, and removes figures that are no longer made. What you wrote in the note yourself is
    kept. Figures have numbers, because the dashboard shows them in any order. Needs
    `pip install 'pellucid[dashboard,plots]'`.

    Args:
        study: any study.
    """
    try:
        from optuna_dashboard import get_note, save_note, save_plotly_graph_object
    except ImportError as error:
        raise ImportError(
            "Publishing needs optuna-dashboard: install it with `pip install 'pellucid[dashboard]'`."
        ) from error
    from pellucid.study.storage import dashboard_trials
    from pellucid.surfaces.page.figures import key_figures
    from pellucid.surfaces.page.gather import gather
    from pellucid.surfaces.page.note import note

    answers = gather(study, progress=True)
    save_note(study, merged(get_note(study), note(answers, dashboard_trials(study))))
    findings, ids = [], set()
    for name, figure in key_figures(answers):
        finding = unescape(figure.layout.meta["finding"])
        findings.append(finding)
        ids.add(f"{_PREFIX}{name}")
        fit(figure, f"{len(findings)}. {finding}")
        save_plotly_graph_object(study, figure, graph_object_id=f"{_PREFIX}{name}")
    _remove_stale(study, ids)
    return findings


def merged(present: str, ours: str) -> str:
    """The present note with our part of it replaced, or with our part in front if it has none yet."""
    block = f"{_BEGIN}\n\n{ours}\n\n{_END}"
    if _OURS.search(present):
        return _OURS.sub(lambda _: block, present, count=1)
    return f"{block}\n\n{present}" if present.strip() else block


def fit(figure: Any, title: str) -> None:
    """Make a figure fit a card: any width, the height of the card, and its texts in lines of the card's width."""
    from pellucid.answers.drawing.base import bold_names

    lines = wrap(title, _TITLE, max_lines=_MOST_LINES, placeholder=" …")
    text = bold_names("<br>".join(escape(line, quote=False) for line in lines))
    below = _BUTTONS + _LINE * len(lines) + 4
    figure.update_layout(
        title={"text": text, "x": 0.01, "y": 1.0, "yanchor": "top", "pad": {"t": _BUTTONS}, "font": {"size": 14}},
        width=None,
        height=None,
        autosize=True,
        # Below the title, wherever the figure itself has it.
        legend={"font": {"size": 11}, "orientation": "h", "yref": "container", "y": 1.0 - below / _HEIGHT,
                "yanchor": "top", "x": 0.0, "xanchor": "left"},
    )  # fmt: skip
    _part_columns(figure)
    figure.layout.margin.b = _BOTTOM
    figure.layout.margin.t = below + _ROW * (_legend_rows(figure) + bool(_headings(figure))) + 12
    figure.for_each_xaxis(_fit_axis)
    figure.for_each_yaxis(_fit_axis)


def _headings(figure: Any) -> list[Any]:
    """The titles of the panels in the first row."""
    return [note for note in figure.layout.annotations if note.yref == "paper" and note.y == 1.0]


def _part_columns(figure: Any) -> None:
    """Make room for the labels of the right one of two columns of panels."""
    starts = sorted({axis.domain[0] for axis in figure.select_xaxes() if axis.domain})
    if len(starts) != 2:
        return
    right = [axis for axis in figure.select_yaxes() if _xaxis(figure, axis).domain[0] == starts[1]]
    room = min(_MOST_ROOM, max(_left_of(figure, axis) for axis in right) / _WIDTH)
    for note in _headings(figure):
        # The right one may be wider than its panel.
        note.update(x=1.0, xanchor="right") if note.x > starts[1] else note.update(x=0.0, xanchor="left")
        note.font.size = 12
    columns = {starts[0]: (0.0, 0.5 - 0.5 * room), starts[1]: (0.5 + 0.5 * room, 1.0)}
    for axis in figure.select_xaxes():
        axis.domain = columns[axis.domain[0]]


def _xaxis(figure: Any, axis: Any) -> Any:
    return figure.layout[f"xaxis{(axis.anchor or 'x')[1:]}"]


def _left_of(figure: Any, axis: Any) -> float:
    """Pixels that the labels and the title to the left of a panel need."""
    traces = (trace for trace in figure.data if (trace.yaxis or "y") == axis.plotly_name.replace("axis", ""))
    names = [name for trace in traces for name in trace.y if isinstance(name, str)]
    lines = [len(line) for name in (*names, *(axis.ticktext or ())) for line in name.split("<br>")]
    return (_CHARACTER * max(lines) + 12 if lines else _NUMBERS) + (_SIDE_TITLE if axis.title.text else 0)


def _legend_rows(figure: Any) -> int:
    names = [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
    if not names or figure.layout.showlegend is False:
        return 0
    in_a_row = max(1, int(_WIDTH / (_CHARACTER * max(map(len, names)) + _MARKER)))
    return -(-len(set(names)) // in_a_row)


def _fit_axis(axis: Any) -> None:
    axis.automargin = True
    if axis.title.text and "<span" not in axis.title.text:
        axis.title.text = "<br>".join(wrap(axis.title.text.replace("<br>", " "), _AXIS, break_long_words=False))
        axis.title.font.size = 12


def _remove_stale(study: Study, ids: set[str]) -> None:
    """Remove figures of ours that were not made this time."""
    from optuna_dashboard import save_plotly_graph_object
    from plotly.graph_objects import Figure

    from pellucid.study.storage import dashboard_figures, remove_dashboard_figure

    for stale in sorted(dashboard_figures(study, _PREFIX) - ids):
        if not remove_dashboard_figure(study, stale):
            empty = Figure()
            fit(empty, "There is no answer to show here any more.")
            save_plotly_graph_object(study, empty, graph_object_id=stale)
