"""Names of metrics, params and tags: the user's own if trackers accept them, and never two the same."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.surfaces.trackers.names import accepted, digest, distinct

# What MLflow accepts on every system.
VALID = re.compile(r"[/\w.\- ]+")
ODD = [
    *("", "/", ".", "..", "a//b", "/a", "a/", "a/../b", "lr🔥", "a:b", "a\nb", "\ud800", "%s$`'\""),
    *("x" * 300, "界" * 300),
]


@pytest.mark.parametrize("name", ["loss", "val/loss", "learning rate", "C", "top-1.acc", "Größe", "_wandb"])
def test_a_name_that_trackers_accept_stays(name: str) -> None:
    assert accepted(name) == name


@settings(max_examples=25)
@given(st.one_of(st.sampled_from(ODD), st.text(), st.text(alphabet="./ a")))
def test_every_name_becomes_one_that_trackers_accept(name: str) -> None:
    short = accepted(name)
    assert VALID.fullmatch(short)
    assert posixpath.normpath(short) == short
    assert not short.startswith(("/", ".."))
    assert len(short.encode()) <= 110


def test_odd_names_stay_different() -> None:
    assert len({accepted(name) for name in ODD}) == len(ODD)


def test_no_entry_is_lost_and_none_is_a_folder_of_another(tmp_path: Path) -> None:
    """As in MLflow's file store: every entry is a file."""
    pairs = [("a/b", 1), ("a", 2), ("a/b", 3), ("a/b/c/d", 4), ("e", 5)]
    entries = distinct(pairs)
    assert sorted(entries.values()) == [1, 2, 3, 4, 5]
    assert entries["a/b/c/d"] == 4
    assert entries["e"] == 5
    for name, value in entries.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(str(value), encoding="utf-8")
    assert entries["a-" + digest("a", length=8)] == 2
