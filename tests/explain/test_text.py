"""Numbers in sentences: a value and its half-width agree with what they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.words import rounded, with_error

MAGNITUDES = st.floats(1e-12, 1e12)


@given(value=st.one_of(MAGNITUDES, MAGNITUDES.map(float.__neg__)), half=MAGNITUDES)
def test_the_text_is_inside_the_interval_that_it_states(value: float, half: float) -> None:
    """Rounding moves neither number by more than a twentieth of the half-width, or the last of 15 digits."""
    text = with_error(value, half)
    shown, _, error = text.partition(" ± ")
    assert abs(float(shown) - value) <= 0.051 * half + 1e-14 * abs(value)
    assert float(error) == pytest.approx(half, rel=0.06)
    assert abs(float(rounded(value, half)) - value) <= 0.051 * half + 1e-14 * abs(value)


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (0.12729213, 2.4e-6, "0.1272921 ± 2.4e-06"),
        (0.9646, 0.0031, "0.9646 ± 0.0031"),
        (123.4, 0.0, "123.4"),
        (0.0, 1e-9, "0 ± 1e-09"),
    ],
)
def test_values_with_tiny_and_with_ordinary_errors(value: float, half: float, text: str) -> None:
    assert with_error(value, half) == text
