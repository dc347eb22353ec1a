"""The settings at which trials fail: what share of the trials with each of them did, and of all others."""

from __future__ import annotations

import plotly.graph_objects as go

from pellucid.answers.drawing.base import frame, labels, say
from pellucid.answers.drawing.colours import EXPLORE, PALE
from pellucid.answers.failures import FailingSettings
from pellucid.beliefs.settings import FailingSetting

_OTHERS = "all other trials"


def failing(record: FailingSettings) -> go.Figure:
    """A bar per setting, and one for the trials with none of them."""
    settings = record.settings[::-1]
    names = [_OTHERS if settings else "all trials", *map(_label, settings)]
    failed = [record.n_other_failed, *(setting.n_failed for setting in settings)]
    counts = [record.n_other, *(setting.n_trials for setting in settings)]
    figure = go.Figure()
    figure.add_bar(
        x=[100 * k / n if n else 0.0 for k, n in zip(failed, counts, strict=True)], orientation="h",
        marker={"color": [PALE, *[EXPLORE] * len(settings)]}, hoverinfo="skip", showlegend=False, cliponaxis=False,
        text=[f"{k} of {n} failed" for k, n in zip(failed, counts, strict=True)],
        textposition=["inside" if 2 * k > n else "outside" for k, n in zip(failed, counts, strict=True)],
    )  # fmt: skip
    frame(figure, "", 900, 200)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 80 + 38 * len(names), margin={"b": 50})
    figure.update_xaxes(title="share of the trials that failed (%)", range=[0, 100])
    # Two settings may have the same label if names are cut, so bars are placed by number.
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, automargin=True)
    return figure


def _label(setting: FailingSetting) -> str:
    """A condition per line."""
    return "<br>with ".join(labels([condition.label for condition in setting.conditions]))
