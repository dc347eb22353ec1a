"""Rows to condition on: as many as asked for, the same every time, with the best ones and their neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.models.kernels import Kernel
from pellucid.models.thinning import newest_and_spread_rows, representative_rows, squared_distances
from pellucid.numerics import Array

KERNEL = Kernel("matern32", (0, 3, 0))
L = np.array([0.5, 1.5, 2.0])


def _data(n: int, seed: int = 0) -> tuple[Array, Array]:
    X = np.random.default_rng(seed).random((n, 3))
    return X, ((X - 0.3) ** 2).sum(axis=1)


def _rows(X: Array, y: Array, size: int) -> list[int]:
    return representative_rows(KERNEL, L, X, y, size).tolist()


@given(n=st.integers(0, 60), size=st.integers(6, 40), seed=st.integers(0, 99))
def test_there_are_as_many_rows_as_asked_for_and_the_best_the_worst_and_the_newest_are_among_them(
    n: int, size: int, seed: int
) -> None:
    X, y = _data(n, seed)
    rows = _rows(X, y, size)
    assert rows == sorted(set(rows))
    assert set(rows) <= set(range(n))
    assert len(rows) == min(n, size)
    if n:
        assert {int(np.argmin(y)), int(np.argmax(y))} <= set(rows)
        assert set(range(n)[n - size // 3 :]) <= set(rows)
    assert len(newest_and_spread_rows(KERNEL, L, X, size)) == min(n, size)


def test_all_rows_are_used_up_to_the_size() -> None:
    assert _rows(*_data(30), 30) == list(range(30))


def test_the_same_data_give_the_same_rows() -> None:
    X, y = _data(500)
    assert _rows(X, y, 90) == _rows(X.copy(), y.copy(), 90)


def test_the_order_of_old_trials_makes_no_difference() -> None:
    X, y = _data(500)
    order = np.r_[np.random.default_rng(1).permutation(400), np.arange(400, 500)]
    assert sorted(order[_rows(X[order], y[order], 90)].tolist()) == _rows(X, y, 90)


def test_the_unit_of_the_loss_makes_no_difference() -> None:
    X, y = _data(500)
    assert _rows(X, 1e9 * y - 5.0, 90) == _rows(X, y, 90)


def test_neighbours_of_the_best_are_chosen_whatever_their_losses() -> None:
    X, y = _data(500)
    best = int(np.argmin(y))
    near = np.argsort(squared_distances(KERNEL, L, X[[best]], X)[0])[:5]
    y[near[1:]] = y.max() - 1e-9 * np.arange(1, 5)  # Bad, but not the worst.
    assert set(near.tolist()) <= set(_rows(X, y, 300))


def test_the_rest_is_spread_over_the_space() -> None:
    """Nineteen of twenty trials crowd one corner; rows of the others are all kept."""
    X, y = _data(1000)
    crowd = np.arange(1000) % 20 > 0
    X[crowd] = 0.05 * X[crowd]
    y = X.sum(axis=1)
    assert set(np.flatnonzero(~crowd).tolist()) <= set(_rows(X, y, 300))


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf])
def test_equal_configurations_and_losses_that_are_no_numbers_do_no_harm(value: float) -> None:
    X, y = np.full((50, 3), 0.5), np.full(50, value)
    assert len(_rows(X, y, 20)) == 20
    X[7] = np.nan
    assert len(_rows(X, y, 20)) == 20


def test_distances_are_those_of_the_definition() -> None:
    A, B = np.random.default_rng(2).random((4, 3)), np.random.default_rng(3).random((5, 3))
    expected = [
        [
            ((a[0] - b[0]) / L[0]) ** 2
            + (2.0 / L[1] if int(3 * a[1]) != int(3 * b[1]) else 0.0)
            + ((a[2] - b[2]) / L[2]) ** 2
            for b in B
        ]
        for a in A
    ]
    np.testing.assert_allclose(squared_distances(KERNEL, L, A, B), expected, rtol=1e-10, atol=1e-14)
