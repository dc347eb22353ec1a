"""Figures of large studies show some of the points, and say so; the records keep all."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import optuna
import plotly.graph_objects as go
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import TrialState, create_trial

import pellucid
from pellucid.answers.finding import Finding
from pellucid.answers.ranges.records import ParameterRanges, RangeAxis
from pellucid.answers.stop.records import RegretHistory, StoppingVerdict

N = 7000
# Points that a mark of one kind may have in any of the figures; a line through several has three per trial.
MOST = 3 * 3000


@pytest.fixture(scope="module")
def studies() -> dict[int, Study]:
    """By the number of objectives: half of the trials are infeasible, and some failed."""
    out = {}
    for k in (1, 2):
        rng = np.random.default_rng(k)
        study = optuna.create_study(directions=["minimize"] * k)
        start = datetime(2026, 1, 1)
        for i, (x, y) in enumerate(rng.random((N, 2)).tolist()):
            failed = i % 10 == 3
            trial = create_trial(
                state=TrialState.FAIL if failed else TrialState.COMPLETE,
                params={"x": x, "y": y},
                distributions={name: FloatDistribution(0.0, 1.0) for name in "xy"},
                values=None if failed else [x * x, (1.0 - x) ** 2 + y][:k],
                system_attrs={"constraints": [x - 0.5]},
            )
            trial.datetime_start = start + timedelta(seconds=i)
            trial.datetime_complete = start + timedelta(seconds=i + 2)
            study.add_trial(trial)
        out[k] = study
    return out


def most_points(figure: go.Figure) -> int:
    return max(len(trace.x) for trace in figure.data if trace.x is not None)


def doubts(figure: go.Figure) -> str:
    return " ".join(figure.layout.meta["doubts"])


def ranges_of_many() -> ParameterRanges:
    places = tuple(np.linspace(0.0, 1.0, N).tolist())
    return ParameterRanges((RangeAxis("x", ((0.0, "0"), (1.0, "1")), places, places[:2000], 0),), (), N)


def regret_of_many() -> RegretHistory:
    verdict = StoppingVerdict(False, N, 0.0, 1.0, 0.1, 0.1, "for the test")
    numbers = tuple(range(N))
    shares = tuple(np.linspace(0.0, 1.0, N).tolist())
    return RegretHistory(verdict, (10, N), (2.0, 1.0), numbers, (None,) * N, shares)


def test_figures_of_many_points_show_some_and_say_so(studies: dict[int, Study]) -> None:
    one, two = studies[1], studies[2]
    records: list[Finding] = [
        *(pellucid.history(one), pellucid.history(two), pellucid.timeline(one), pellucid.parallel_coordinates(two)),
        *(ranges_of_many(), regret_of_many()),
    ]
    for record in records:
        figure = record.plot()
        assert most_points(figure) <= MOST, type(record).__name__
        assert "shown." in doubts(figure), type(record).__name__
    assert len(pellucid.history(one).to_frame()) == N
    assert len(ranges_of_many().axes[0].others) == N


def test_figures_of_few_points_show_all_and_say_nothing() -> None:
    record = ranges_of_many()
    (axis,) = record.axes
    few = replace(record, axes=(replace(axis, others=axis.others[:400], best=axis.best[:400]),))
    figure = few.plot()
    assert most_points(figure) == 400
    assert "shown." not in doubts(figure)
    short = regret_of_many()
    short = replace(short, trials=short.trials[:100], alpha=short.alpha[:100], exploring=short.exploring[:100])
    assert "shown." not in doubts(short.plot())
