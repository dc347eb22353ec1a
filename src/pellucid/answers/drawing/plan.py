"""The plan of a search in two steps, as a table."""

from __future__ import annotations

import plotly.graph_objects as go

from pellucid.answers.drawing.base import frame, say
from pellucid.answers.drawing.colours import COLOURS, PALE
from pellucid.answers.plan import TwoStepPlan
from pellucid.words import escape

_ROW = 28


def plan(record: TwoStepPlan) -> go.Figure:
    """One row per parameter: whether step 1 tunes it, or the value at which it is held, and why."""
    tuned = [(name, "tuned", "") for name in record.tuned]
    held = [(parameter.name, str(parameter.value), parameter.reason) for parameter in record.held]
    columns = [[escape(row[i]) for row in (*tuned, *held)] for i in range(3)]
    figure = go.Figure(
        go.Table(
            columnwidth=[1, 1, 3],
            header={"values": ["parameter", "step 1", "reason"], "align": "left", "fill_color": COLOURS[0],
                    "font": {"color": "white"}},
            cells={"values": columns, "align": "left", "height": _ROW, "line_color": PALE},
        )
    )  # fmt: skip
    frame(figure, "", 900, 300)
    top = say(figure, record.sentence, record.notes)
    figure.update_layout(height=top + 60 + _ROW * len(columns[0]), margin={"t": top, "b": 20})
    return figure
