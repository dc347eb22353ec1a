"""Draw the committed results, milliseconds per proposal and regret on BBOB: `python .../engine/picture.py FILE`.

Needs the `plots` extra and a Chromium (`CHROMIUM=...` if it is not called `chromium`). `make pictures` runs it.
"""

from __future__ import annotations

import json
import math
import sys
from itertools import accumulate
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pellucid.answers import drawing as plots

HERE = Path(__file__).resolve().parent
NAMES = {
    "pellucid": "pellucid",
    "optuna-gp": "Optuna GPSampler",
    "optuna-tpe": "Optuna TPE",
    "botorch": "BoTorch",
    "smac": "SMAC",
    "random": "random search",
}
# Colours that also differ in lightness, for greyscale prints and colour-blind readers.
COLOURS = {
    "pellucid": "#0b3c6f",
    "optuna-gp": "#d1495b",
    "optuna-tpe": "#e8a33d",
    "botorch": "#3f8f6b",
    "smac": "#8d6fb0",
    "random": "#9a9a9a",
}
DASHES = {
    "pellucid": "solid",
    "optuna-gp": "dash",
    "optuna-tpe": "dot",
    "botorch": "dashdot",
    "smac": "longdash",
    "random": "dot",
}


def latency() -> dict[str, list[tuple[int, float]]]:
    """Number of trials and median milliseconds per ask and tell, by method, in the order of n."""
    by_method: dict[str, list[tuple[int, float]]] = {}
    for timing in json.loads((HERE / "latency.json").read_text(encoding="utf-8"))["timings"]:
        if timing["ms"] is not None and timing["method"] in NAMES:
            by_method.setdefault(timing["method"], []).append((timing["n"], timing["ms"]))
    return {method: sorted(points) for method, points in by_method.items()}


def regret() -> dict[str, list[float]]:
    """Geometric mean over all runs of the regret after each evaluation, by method; BoTorch ran only a few problems."""
    curves: dict[str, list[list[float]]] = {}
    for line in (HERE / "bbob.jsonl").read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if "values" in run and run["method"] in NAMES and run["method"] != "botorch":
            best = accumulate(run["values"], min)
            curves.setdefault(run["method"], []).append([max(v - run["optimum"], 1e-8) for v in best])
    return {
        method: [math.exp(sum(map(math.log, column)) / len(column)) for column in zip(*runs, strict=True)]
        for method, runs in curves.items()
    }


def draw() -> go.Figure:
    times, regrets = latency(), regret()
    gap = regrets["optuna-gp"][-1] / regrets["pellucid"][-1]
    ratios = [peer / own for (_, own), (_, peer) in zip(times["pellucid"], times["optuna-gp"], strict=True)]
    figure = make_subplots(
        cols=2,
        subplot_titles=(
            f"A proposal costs {min(ratios):.0f} to {max(ratios):.0f} times less than GPSampler's",
            f"and after 100 evaluations the regret is {gap:.1f} times smaller",
        ),
    )
    for method, points in times.items():
        figure.add_scatter(
            x=[n for n, _ in points],
            y=[ms for _, ms in points],
            mode="lines+markers+text",
            text=[""] * (len(points) - 1) + [f"  {NAMES[method]}"],
            textposition="middle right",
            textfont={"color": COLOURS[method]},
            line={"color": COLOURS[method], "width": 3 if method == "pellucid" else 2, "dash": DASHES[method]},
            showlegend=False,
            col=1,
            row=1,
        )
    for method, curve in regrets.items():
        figure.add_scatter(
            x=list(range(1, len(curve) + 1)),
            y=curve,
            mode="lines",
            line={"color": COLOURS[method], "width": 3 if method == "pellucid" else 2, "dash": DASHES[method]},
            showlegend=False,
            col=2,
            row=1,
        )
        figure.add_annotation(
            x=len(curve), y=math.log10(curve[-1]), text=f" {NAMES[method]}", xanchor="left", showarrow=False,
            font={"color": COLOURS[method]}, xref="x2", yref="y2",
        )  # fmt: skip
    sizes = [50, 100, 200, 280, 500, 1000]
    figure.update_xaxes(title="finished trials", type="log", tickvals=sizes, range=[1.65, 3.75], col=1)
    figure.update_yaxes(title="milliseconds per proposal (log scale)", type="log", dtick=1, col=1)
    figure.update_xaxes(title="evaluations (the first 24 are random, the same for all)", range=[0, 138], col=2)
    figure.update_xaxes(tickvals=[0, 24, 50, 75, 100], col=2)
    figure.update_yaxes(title="geometric mean regret (log scale)", type="log", dtick=1, col=2)
    figure.update_layout(
        template="simple_white",
        width=1200,
        height=480,
        margin={"l": 70, "r": 30, "t": 60, "b": 60},
        font={"family": "DejaVu Sans, Arial, sans-serif", "size": 14},
    )
    figure.add_vline(x=24, line={"color": "#cccccc", "width": 1}, col=2, row=1)
    return figure


if __name__ == "__main__":
    plots.save(draw(), Path(sys.argv[1]))
