"""Answers of agents are cut to a bounded length, stay JSON, and say what was left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pellucid.surfaces.cli.mcp.bounds import bounded_json, bounded_text


def test_a_long_text_says_how_much_was_left_out() -> None:
    assert bounded_text("short") == "short"
    text = bounded_text("word " * 1000, 100)
    assert len(text) == 100
    assert text.endswith(" ... (5000 characters in all; the rest was left out.)")


def test_the_longest_list_is_cut_first() -> None:
    data = {"names": ["a", "b"], "points": [{"x": i, "label": "p" * 20} for i in range(500)]}
    cut = json.loads(bounded_json(data, 2000))
    kept = len(cut["points"])
    assert cut["names"] == ["a", "b"]
    assert cut["points"] == data["points"][:kept]
    assert cut["left_out"] == {"points": f"{500 - kept} of 500 entries were left out"}


@pytest.mark.parametrize(
    "data",
    [
        {"text": "x" * 100_000},
        {"params": {f"p{i}": i for i in range(2000)}},
        {"deep": [[[list(range(9))] * 9] * 9] * 9},
        {"values": [float("nan"), float("inf")] * 5000},
        {"many": {f"p{i}": "y" * 3000 for i in range(40)}},
        {"x" * 50_000: [1, 2, 3]},
    ],
)
def test_whatever_is_long_becomes_short_json(data: dict[str, Any]) -> None:
    text = bounded_json(data, 5000)
    assert len(text) <= 5000
    assert json.loads(text)


def test_what_is_short_stays_as_it_is() -> None:
    assert json.loads(bounded_json({"a": [1.5, float("nan")]})) == {"a": [1.5, None]}
