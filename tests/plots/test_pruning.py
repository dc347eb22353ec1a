"""Figures of learning curves: one trial, all stops, and all curves of a study."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from tests.plots.curve_studies import curve_study, rising

import pellucid
from pellucid.answers import drawing as plots
from pellucid.answers.base import WHOLE, Overview
from pellucid.answers.pruning.curves import LearningCurves
from pellucid.answers.pruning.records import ChanceBin, FanPoint, PruningExplanation, PruningRecord, StoppedTrial
from pellucid.answers.questions.pruning import curves
from pellucid.beliefs.of_study import beliefs_of

HOSTILE = "<b>acc</b>"


def trace(figure: Any, name: str) -> Any:
    return next(trace for trace in figure.data if trace.name is not None and trace.name.startswith(name))


def title(figure: Any) -> str:
    return str(figure.layout.title.text.replace("<br>", " "))


def all_curves(study: optuna.Study) -> LearningCurves:
    return curves(Overview(beliefs_of(study)), WHOLE)


def lying(x: float, step: int, steps: int) -> float:
    """One report far away from all others."""
    return -1e9 if step == 3 else rising(x, step, steps)


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    return curve_study()


# ---------------------------------------------------------------------- one trial


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_stopped_trial_has_its_curve_what_was_expected_and_the_value_to_beat(direction: str) -> None:
    study = curve_study(direction=direction)
    answer = pellucid.explain_pruning(study, 11)
    figure = answer.plot()
    reported = trace(figure, "reported")
    assert (tuple(reported.x), tuple(reported.y)) == (answer.steps, answer.values)
    stopped = trace(figure, "stopped")
    assert (stopped.x[0], stopped.y[0]) == (5, answer.values[-1])
    end = trace(figure, "expected (95% interval)")
    assert (end.x[0], end.y[0]) == (answer.horizon, answer.expected)
    assert end.y[0] + end.error_y.array[0] == pytest.approx(answer.high)
    assert end.y[0] - end.error_y.arrayminus[0] == pytest.approx(answer.low)
    best = trace(figure, f"best: trial {answer.best_trial}")
    assert list(best.y) == [answer.best, answer.best]
    assert best.line.dash == "dash"
    assert answer.sentence in title(figure)
    assert figure.layout.xaxis.title.text == "step"


def test_the_fan_begins_at_the_last_report_and_ends_at_the_last_step(study: optuna.Study) -> None:
    answer = pellucid.explain_pruning(study, 11)
    band, line = answer.plot().data[:2]
    assert band.fill == "toself"
    assert (line.x[0], line.y[0]) == (answer.step, answer.values[-1])
    assert tuple(line.x[1:]) == tuple(point.step for point in answer.fan[:-1])
    assert tuple(line.y[1:]) == tuple(point.median for point in answer.fan[:-1])


def test_a_trial_that_went_on_shows_what_it_reported_later_and_returned(study: optuna.Study) -> None:
    answer = pellucid.explain_pruning(study, 12, step=6)
    figure = answer.plot()
    later = trace(figure, "reported later")
    assert tuple(later.x) == (6, *answer.later_steps)
    assert later.line.dash == "dot"
    assert trace(figure, "step 6").y[0] == answer.values[-1]
    assert trace(figure, "returned").y[0] == answer.returned


def test_a_diverged_report_does_not_flatten_the_curve() -> None:
    figure = pellucid.explain_pruning(curve_study(curve=lying), 12).plot()
    low, high = figure.layout.yaxis.range
    assert high - low < 10.0
    assert "beyond the edge" in title(figure)


def test_a_trial_that_was_stopped_beyond_the_edge_is_marked_on_it() -> None:
    answer = explanation(values=(0.1, 0.2, -1e9), expected=0.5)
    figure = answer.plot()
    low, high = figure.layout.yaxis.range
    assert high - low < 20.0
    assert low < trace(figure, "stopped").y[0] < high
    assert figure.data[1].x[0] == answer.fan[0].step  # The fan is not tied to a report that is not to be seen.


@pytest.mark.parametrize("wide", [1e6, 1e300])
def test_a_wide_band_does_not_flatten_the_curve(wide: float) -> None:
    figure = explanation(values=(0.1, 0.2, 0.3), expected=0.5, low=-wide, high=wide).plot()
    low, high = figure.layout.yaxis.range
    assert high - low < 6.0
    assert "beyond the edge" in title(figure)


@pytest.mark.parametrize("values", [(0.9,), (0.5, 0.5, 0.5), (0.9, 0.9)])
def test_one_report_and_constant_reports_are_drawn(values: tuple[float, ...]) -> None:
    figure = explanation(values=values, expected=values[-1], low=values[-1], high=values[-1]).plot()
    low, high = figure.layout.yaxis.range
    assert low < min(values) <= max(0.9, *values) < high
    assert trace(figure, "stopped").y[0] == values[-1]


def test_ten_thousand_reports_are_thinned_and_keep_the_last() -> None:
    values = tuple(0.8 * step / 10_000 for step in range(10_000))
    answer = explanation(values=values, expected=0.85)
    figure = answer.plot()
    reported = trace(figure, "reported")
    assert len(reported.x) == 500
    assert reported.x[-1] == answer.step
    assert "One in 20 reports is shown." in title(figure)


# ---------------------------------------------------------------------- all stops


def test_every_stopped_trial_has_its_steps_and_what_it_saved(study: optuna.Study) -> None:
    record = pellucid.pruning_record(study)
    figure = record.plot()
    stopped, likeliest = trace(figure, "stopped (3)"), trace(figure, "likeliest to win")
    assert {*stopped.x, *likeliest.x} == {9, 11, 13}
    assert tuple(likeliest.x) == (record.likeliest,)
    assert {*stopped.y, *likeliest.y} == {5}
    assert tuple(stopped.error_y.array) == (15, 15)
    assert set(trace(figure, "complete (11)").y) == {20}
    assert record.sentence in title(figure)


def test_predictions_are_checked_in_a_panel_of_their_own(study: optuna.Study) -> None:
    record = pellucid.pruning_record(study)
    figure = record.plot()
    points = next(trace for trace in figure.data if trace.mode == "markers+text")
    assert tuple(points.x) == tuple(one.stated for one in record.bins)
    assert tuple(points.y) == tuple(one.true for one in record.bins)
    assert tuple(points.text) == tuple(f"n={one.n}" for one in record.bins)
    assert points.marker.size[[one.n for one in record.bins].index(max(one.n for one in record.bins))] == 26.0
    assert figure.layout.xaxis2.title.text == "predicted chance to beat the best"


def test_without_checked_predictions_there_is_one_panel() -> None:
    figure = pellucid.pruning_record(curve_study(steps=1)).plot()
    assert "xaxis2" not in figure.layout
    assert figure.layout.xaxis.title.text == "trial"


def test_without_stopped_trials_only_predictions_are_shown() -> None:
    figure = pellucid.pruning_record(curve_study(stopped=())).plot()
    assert figure.layout.xaxis.title.text == "predicted chance to beat the best"
    assert "No trial was stopped early" in title(figure)


def test_a_record_without_anything_to_check_is_drawn_too() -> None:
    assert record_of(()).plot().layout.xaxis.title.text == "trial"


def test_thousands_of_stopped_trials_are_thinned_and_keep_the_likeliest() -> None:
    rows = tuple(StoppedTrial(i, 5, 15, None, 0.5 if i == 1234 else 0.0, 0.1) for i in range(3000))
    figure = record_of(rows, likeliest=1234).plot()
    assert len(trace(figure, "stopped").x) <= 1000
    assert tuple(trace(figure, "likeliest").x) == (1234,)
    assert "One in 3 stopped trials is shown." in title(figure)


def test_numbers_of_bins_that_are_close_do_not_cover_each_other() -> None:
    bins = tuple(ChanceBin(i / 10, (i + 1) / 10, 1, i / 10 + 0.05, 0.0) for i in range(3))
    points = next(trace for trace in record_of((), bins=bins).plot().data if trace.mode == "markers+text")
    assert tuple(points.textposition) == ("top center", "bottom center", "top center")


# ---------------------------------------------------------------------- all curves


def test_curves_are_grouped_by_what_became_of_their_trials(study: optuna.Study) -> None:
    record = all_curves(study)
    figure = record.plot()
    assert record.sentence.startswith("14 trials reported a learning curve: 11 complete, 3 stopped early.")
    stopped = trace(figure, "stopped (3)")
    assert set(stopped.customdata) == {9, 11, 13}
    assert sum(value is None for value in stopped.y) == 3
    best = trace(figure, f"best: trial {study.best_trial.number}")
    assert best.y[-2] == study.best_value
    assert best.line.width > stopped.line.width
    assert study.best_trial.number not in trace(figure, "complete (11)").customdata


def test_many_and_long_curves_are_cut_and_the_figure_says_so() -> None:
    record = all_curves(curve_study(260, 150, stopped=range(4, 260, 3)))
    assert len(record.curves) == 200
    assert max(len(curve.steps) for curve in record.curves) == 100
    assert all(curve.steps[-1] in (37, 150) for curve in record.curves)
    assert record.best_trial in [curve.trial for curve in record.curves]
    assert "200 of 260 curves are shown. At most 100 reports of each curve are shown." in title(record.plot())
    assert sum(len(trace.x) for trace in record.plot().data) < 25_000


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_diverged_curves_do_not_flatten_the_others(direction: str) -> None:
    def diverged(x: float, step: int, steps: int) -> float:
        return -1e9 * step if x > 0.8 and step > 2 else rising(x, step, steps)

    figure = all_curves(curve_study(curve=diverged, direction=direction)).plot()
    low, high = figure.layout.yaxis.range
    assert high - low < 5.0
    assert "beyond the edge" in title(figure)


def test_curves_of_one_step_are_dots_and_a_study_without_a_complete_trial_has_no_best() -> None:
    record = all_curves(curve_study(3, 1, stopped=(0, 1, 2)))
    assert (record.best, record.best_trial) == (None, None)
    ends = record.plot().data[-1]
    assert (ends.mode, len(ends.x)) == ("markers", 3)
    assert record.sentence == "3 trials reported a learning curve: 3 stopped early."


def test_a_table_has_a_row_per_report(study: optuna.Study) -> None:
    frame = all_curves(study).to_frame()
    assert list(frame.columns) == ["trial", "state", "step", "value"]
    assert len(frame) == 11 * 20 + 3 * 5


# ---------------------------------------------------------------------- names


def test_the_name_of_the_objective_is_escaped() -> None:
    hostile = curve_study(name=HOSTILE)
    for figure in (
        plots.plot_pruning(hostile, 11),
        plots.plot_pruning_record(hostile),
        all_curves(hostile).plot(),
    ):
        assert HOSTILE not in figure.to_json()
        assert "&lt;b&gt;acc" in title(figure)


# ---------------------------------------------------------------------- records


def explanation(
    *, values: tuple[float, ...], expected: float, low: float = 0.4, high: float = 0.6
) -> PruningExplanation:
    """Of a trial that was stopped after these values, half way to the end."""
    step = len(values)
    fan = tuple(FanPoint(at, expected, low, high) for at in (step + 1, 2 * step, 2 * step))
    return PruningExplanation(
        trial=7, steps=tuple(range(1, step + 1)), values=values, later_steps=(), later_values=(), step=step,
        horizon=2 * step, chance=0.1, needed=None, best=0.9, best_trial=3, expected=expected, low=low, high=high,
        level=0.95, fan=fan, source="reconstructed", state="stopped", returned=None, direction="maximize",
        sentence="Stopped.",
    )  # fmt: skip


def record_of(
    rows: tuple[StoppedTrial, ...], *, likeliest: int | None = None, bins: tuple[ChanceBin, ...] = ()
) -> PruningRecord:
    return PruningRecord(
        complete=5, stopped=len(rows), steps=100, saved=0, horizon=20, promised=None, lost=0.0, likeliest=likeliest,
        best=0.9, best_trial=3, rows=rows, bins=bins, checked=len(bins), coverage=None, direction="maximize",
    )  # fmt: skip
