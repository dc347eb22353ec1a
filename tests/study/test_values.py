"""Whether a trial ran with what was proposed, and what storages and NumPy do to values."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.space.values import plain, same


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=1e-300), st.integers(-8, 8))
def test_a_number_that_a_storage_has_rounded_is_the_same(value: float, ulps: int) -> None:
    rounded = value + ulps * math.ulp(value)
    assert same(rounded, value)
    assert same(-rounded, -value)


@given(st.floats(1e-300, 1e300), st.floats(1e-9, 1.0))
def test_a_number_that_differs_in_the_ninth_digit_is_another(value: float, share: float) -> None:
    assert not same(value * (1.0 + share), value)
    assert not same(-value, value)


@given(st.integers(-(2**39), 2**39))
def test_whole_numbers_are_compared_exactly(value: int) -> None:
    assert same(value, value)
    assert not same(value + 1, value)


def test_a_whole_number_that_a_float_cannot_hold_is_the_same_when_it_is_read_again() -> None:
    assert same(int(float(2**60 + 1)), 2**60 + 1)


@pytest.mark.parametrize(
    "choice", [np.float64(0.5), np.float32(0.5), np.str_("adam"), np.int64(3), np.bool_(True), math.nan, None, (1, 2)]
)
def test_a_choice_is_that_of_its_receipt(choice: Any) -> None:
    assert same(choice, json.loads(json.dumps(plain(choice))))


@pytest.mark.parametrize(
    ("ran", "proposed"),
    [
        (True, 1),
        (1.0, True),
        ("1", 1),
        (None, 0),
        (math.nan, 0.0),
        ("adam", "sgd"),
        (0.0, 1e-300),
        (1, 10**400),
        (1, [1]),
    ],
)
def test_other_values_differ(ran: Any, proposed: Any) -> None:
    assert not same(ran, proposed)
