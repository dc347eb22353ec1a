"""The recommended configuration: what to expect of it, and what its trial returned."""

from __future__ import annotations

import plotly.graph_objects as go

from pellucid.answers.drawing.base import LEGEND_ABOVE, cut, frame, say
from pellucid.answers.drawing.colours import CHOSEN, EXPLOIT
from pellucid.answers.recommend import Recommendation
from pellucid.words import escape


def recommendation(record: Recommendation) -> go.Figure:
    """The expected objective with its interval, and the observed one."""
    figure = go.Figure()
    label = f"trial {record.trial}"
    error = None
    if record.low is not None and record.high is not None:
        error = {"type": "data", "symmetric": False, "thickness": 3, "width": 10,
                 "array": [record.high - record.expected], "arrayminus": [record.expected - record.low]}  # fmt: skip
    figure.add_scatter(x=[record.expected], y=[label], mode="markers", error_x=error,
                       name=f"expected, {record.level:.0%} interval" if error else "expected",
                       marker={"color": EXPLOIT, "size": 12})  # fmt: skip
    figure.add_scatter(x=[record.observed], y=[label], mode="markers", name="observed",
                       marker={"color": CHOSEN, "size": 11, "symbol": "x"})  # fmt: skip
    frame(figure, "", 900, 220)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 130, margin={"t": top + 20}, legend=LEGEND_ABOVE)
    figure.update_xaxes(title=escape(cut(record.objective)))
    figure.update_yaxes(type="category")
    return figure
