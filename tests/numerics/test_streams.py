"""Streams of random numbers, and low-discrepancy sequences: they repeat and are even."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import qmc

from pellucid.numerics import low_discrepancy, stream

# --------------------------------------------------------------------------------------------- streams


def test_a_stream_repeats() -> None:
    assert stream(1, "a", 2).random(5).tolist() == stream(1, "a", 2).random(5).tolist()


def test_a_stream_is_the_same_in_another_process_and_version() -> None:
    """Rebuilding old proposals depends on it."""
    code = "from pellucid.numerics import stream; print(stream(3, 'proposal', 17).integers(10**9, size=3).tolist())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    values = stream(3, "proposal", 17).integers(10**9, size=3).tolist()
    assert json.loads(other.stdout) == values == [409863772, 37272079, 293334131]


def test_a_stream_depends_on_every_label() -> None:
    labels = [
        (0,),
        (1,),
        (0, "a"),
        (0, "b"),
        (0, "a", 1),
        (0, "a", "1"),
        (0, 1, "a"),
        (0, "a1"),
        (0, "a", 1, ""),
        (0, ""),
    ]
    first = [tuple(stream(*label).integers(2**62, size=2).tolist()) for label in labels]
    assert len(set(first)) == len(labels)


def test_streams_of_neighbouring_trials_are_unrelated() -> None:
    draws = np.array([stream(0, "proposal", trial).random(200) for trial in range(100)])
    correlation = np.corrcoef(draws) - np.eye(100)
    assert np.abs(correlation).max() < 6 / math.sqrt(200)
    assert abs(draws.mean() - 0.5) < 5 * math.sqrt(1 / 12 / draws.size)


@pytest.mark.parametrize("seed", [0, -5, 2**40, np.int64(3)])
def test_any_integer_is_a_seed(seed: int) -> None:
    assert stream(seed, "x").random() == stream(int(seed), "x").random()


# ------------------------------------------------------------------------------------- low discrepancy


@pytest.mark.parametrize("d", [1, 2, 3, 8, 40, 300])
def test_points_lie_in_the_half_open_cube(d: int) -> None:
    for first in (0, 1000, 10**9):
        points = low_discrepancy(first, 300, np.random.default_rng(d).random(d))
        assert points.shape == (300, d)
        assert points.min() >= 0.0
        assert points.max() < 1.0


def test_a_sequence_can_start_at_any_point() -> None:
    """Point k belongs to trial k in every call."""
    shift = np.random.default_rng(0).random(5)
    whole = low_discrepancy(0, 60, shift)
    np.testing.assert_array_equal(np.vstack([low_discrepancy(k, 1, shift) for k in range(60)]), whole)
    np.testing.assert_array_equal(low_discrepancy(20, 30, shift), whole[20:50])


@pytest.mark.parametrize("d", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [64, 256])
def test_points_are_more_even_than_random_ones(d: int, n: int) -> None:
    shifts = np.random.default_rng(1)
    low = [qmc.discrepancy(low_discrepancy(0, n, shifts.random(d)), method="CD") for _ in range(20)]
    random = [qmc.discrepancy(shifts.random((n, d)), method="CD") for _ in range(20)]
    assert np.median(low) < 0.5 * np.median(random)
    assert max(low) < np.median(random)


@pytest.mark.parametrize("d", [20, 40])
def test_every_single_coordinate_is_even_in_many_dimensions(d: int) -> None:
    points = low_discrepancy(0, 128, np.random.default_rng(2).random(d))
    gaps = [np.diff(np.sort(points[:, j])).max() for j in range(d)]
    random = [np.diff(np.sort(np.random.default_rng(j).random(128))).max() for j in range(d)]
    assert np.median(gaps) < 0.6 * np.median(random)
    assert max(gaps) < 0.1


def test_no_two_coordinates_move_together() -> None:
    """Square roots of distinct primes: a coordinate that copied another would leave most of the cube empty."""
    points = low_discrepancy(0, 2000, np.zeros(60))
    correlation = np.abs(np.corrcoef(points.T) - np.eye(60))
    assert correlation.max() < 0.2
