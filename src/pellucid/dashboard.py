"""The answers about a study, for Optuna Dashboard: a note and the key figures."""

from __future__ import annotations

import re
from html import escape, unescape
from textwrap import wrap
from typing import Any

from optuna.study import Study

# Graph objects whose id begins like this are ours.
_PREFIX = "pellucid-"
# Between these lines the note is ours; the rest is the user's and is kept. Markdown shows nothing of either line.
_BEGIN = "[pellucid-begin]: # (written by pellucid.dashboard.publish, which replaces everything up to the end)"
_END = "[pellucid-end]: # (end of what pellucid wrote)"
_OURS = re.compile(r"\[pellucid-begin\]: # .*?\[pellucid-end\]: # \([^)]*\)", re.DOTALL)
# A card of the dashboard is 450 pixels high and about 480 wide in a small window. Characters of a line of the title and
# of an axis, and the most lines, so that half of the card is left for the figure.
_TITLE, _AXIS, _MOST_LINES = 62, 48, 5
# Pixels: of the buttons above the title, of a line of the title, of a row of the legend, and of a row's width, which
# holds entries of a character's width for every one of the longest name, and of a marker.
_BUTTONS, _LINE, _ROW, _WIDTH, _CHARACTER, _MARKER = 44, 18, 20, 380, 6.5, 44


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
    from pellucid.reporting.figures import key_figures
    from pellucid.reporting.gather import gather
    from pellucid.reporting.note import note
    from pellucid.study.storage import dashboard_trials

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
    lines = wrap(title, _TITLE, max_lines=_MOST_LINES, placeholder=" …")
    text = "<br>".join(escape(line, quote=False) for line in lines)
    if text.count("`") % 2 == 0:  # Otherwise a name contains a quote, or the end was cut.
        text = re.sub(r"`([^`]*)`", r"<b>\1</b>", text)
    figure.update_layout(
        title={"text": text, "x": 0.01, "y": 1.0, "yanchor": "top", "pad": {"t": _BUTTONS}, "font": {"size": 14}},
        width=None,
        height=None,
        autosize=True,
        legend={"font": {"size": 11}},
    )
    figure.layout.margin.t = _BUTTONS + _LINE * len(lines) + _ROW * _legend_rows(figure) + 12
    figure.for_each_xaxis(_fit_axis)
    figure.for_each_yaxis(_fit_axis)


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
