"""Axes show the bulk of the values; those far away lie on the edge."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.answers.drawing.axes import beyond, edge_name, log_axis, on_edge, point_symbols, reach, symbols

VALUES = [float(i) for i in range(40)]


def test_values_far_away_do_not_stretch_the_axis() -> None:
    low, high = reach([*VALUES, 1e6, -1e9])
    assert -60.0 < low < 0.0
    assert 39.0 < high < 100.0
    assert beyond([*VALUES, 1e6, -1e9], (low, high)) == 2


def test_few_values_and_what_must_be_shown_are_shown() -> None:
    assert reach([0.0, 1e6])[1] > 1e6
    assert reach(VALUES, [500.0])[1] > 500.0
    low, high = reach([3.0, 3.0])
    assert low < 3.0 < high
    assert reach([1.0, 2.0, math.inf, -math.inf]) == reach([1.0, 2.0])
    assert reach([math.inf]) == reach([]) == pytest.approx([-0.05, 1.05])


def test_what_is_outside_lies_on_the_edge_and_points_there() -> None:
    values, shown = [0.5, 7.0, -3.0, math.inf], [0.0, 1.0]
    assert all(0.0 < value < 1.0 for value in on_edge(values, shown))
    assert symbols(values, shown, "circle") == ["circle", "triangle-up", "triangle-down", "triangle-up"]
    assert symbols(values, shown, "x", sideways=True) == ["x", "triangle-right", "triangle-left", "triangle-right"]
    assert symbols([0.5], shown, "circle") == "circle"
    both = point_symbols([0.5, 7.0, -1.0], [9.0, 0.5, 0.5], shown, shown, "circle")
    assert both == ["triangle-up", "triangle-right", "triangle-left"]
    assert edge_name("trials", 3) == "trials (3 beyond the edge)"
    assert edge_name("trials", 0) == "trials"


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60))
def test_an_axis_has_a_width_and_shows_nearly_all(values: list[float]) -> None:
    low, high = reach(values)
    assert low < high
    assert beyond(values, (low, high)) <= 0.1 * len(values) + 1


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([1, 30], ["1", "2", "5", "10", "20"]),
        ([1e-5, 1e-1], ["1e-05", "0.0001", "0.001", "0.01", "0.1"]),
        ([0.31, 0.36], ["0.31", "0.36"]),
    ],
)
def test_a_logarithmic_axis_has_round_ticks_in_its_range(values: list[float], ticks: list[str]) -> None:
    axis = log_axis(values)
    assert axis["ticktext"] == ticks
    assert axis["type"] == "log"
