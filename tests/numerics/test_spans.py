"""Integers as spans of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pellucid.numerics import compress_integers, expand_integers, first_integers


@given(st.lists(st.integers(0, 3000), max_size=200))
def test_integers_survive_as_spans(numbers: list[int]) -> None:
    assert expand_integers(compress_integers(numbers)) == sorted(set(numbers))


@given(st.sets(st.integers(0, 10**9), max_size=20), st.integers(0, 500), st.integers(1, 300))
def test_runs_are_short(scattered: set[int], first: int, length: int) -> None:
    run = range(first, first + length)
    text = compress_integers([*run, *scattered])
    assert expand_integers(text) == sorted({*run, *scattered})
    assert len(text) <= 12 * (len(scattered) + 2) * 2


def test_spans_read_as_people_write_them() -> None:
    assert compress_integers(range(25)) == "0-24"
    assert compress_integers([26, *range(25)]) == "0-24,26"
    assert compress_integers([3, 1, 2, 2, 7]) == "1-3,7"
    assert compress_integers([]) == ""
    assert expand_integers("") == []
    assert expand_integers("5") == [5]
    assert expand_integers("1-3,7,9-10") == [1, 2, 3, 7, 9, 10]


def test_a_message_lists_the_first_of_many_numbers() -> None:
    assert first_integers(range(3)) == "[0, 1, 2]"
    assert first_integers(range(10**6)).endswith("18, 19] and 999980 more")
