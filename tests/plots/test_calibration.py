"""The figure of predictions beside outcomes."""

from __future__ import annotations

import pytest
from tests.explain.test_calibration import normal, told

import pellucid


def test_every_prediction_is_in_both_panels_and_missed_ones_stand_out() -> None:
    answer = pellucid.calibration(told(normal(62)))
    figure = answer.plot()
    held, held_scores, missed, missed_scores = figure.data[:4]
    assert (len(held.x), len(missed.x)) == (58, 4)
    assert (len(held_scores.x), len(missed_scores.x)) == (58, 4)
    assert held.error_x.array[0] == pytest.approx(1.959964 * 0.5)
    assert held.name == "held (95% interval)"
    assert sum(trace.name == "mean" for trace in figure.data) == 3
    assert answer.sentence in figure.layout.title.text.replace("<br>", " ")


def test_one_value_far_away_does_not_flatten_the_rest() -> None:
    figure = pellucid.calibration(told([*normal(40), 1e6])).plot()
    low, high = figure.layout.xaxis.range
    assert high - low < 10.0
    assert max(abs(end) for end in figure.layout.yaxis2.range) < 7.0
    (missed,) = (trace for trace in figure.data if (trace.name or "").endswith("(1 beyond the edge)"))
    assert "triangle-up" in missed.marker.symbol
    assert all(low <= y <= high for y in missed.y)


@pytest.mark.parametrize("n", [1, 2, 3000])
def test_few_and_many_predictions_are_drawn(n: int) -> None:
    figure = pellucid.calibration(told(normal(n))).plot()
    assert sum(len(trace.x) for trace in figure.data) < 2500


def test_a_table_has_a_row_per_prediction() -> None:
    frame = pellucid.calibration(told(normal(20))).to_frame()
    assert list(frame.columns) == ["trial", "predicted", "sd", "observed", "z"]
    assert len(frame) == 20
