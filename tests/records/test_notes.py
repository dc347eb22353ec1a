"""Notes are texts with a kind, which copies keep and JSON does not need."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest

from pellucid.answers.finding import plain
from pellucid.answers.stop.records import StoppingVerdict
from pellucid.words import Note, NoteKind, choice_note, kind_of, selection_note

NOTE = Note("Only what is feasible counts.", "feasibility")
COPIES: dict[str, Callable[[Note], Note]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {p}": lambda note, p=p: pickle.loads(pickle.dumps(note, p)) for p in range(6)},  # type: ignore[misc]  # noqa: S301
}


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_a_note_keeps_its_kind(how: str) -> None:
    again = COPIES[how](NOTE)
    assert (again, type(again), again.kind) == (NOTE, Note, "feasibility")


def test_a_note_is_a_text_like_any_other() -> None:
    assert NOTE == str(NOTE) == "Only what is feasible counts."
    assert type(str(NOTE)) is str
    assert {NOTE: 1}["Only what is feasible counts."] == 1
    assert json.dumps(NOTE) == json.dumps(str(NOTE))


def test_a_text_without_a_kind_has_none() -> None:
    """Records that a user makes may have any text."""
    assert kind_of(NOTE) == "feasibility"
    assert kind_of("Only what is feasible counts.") is None


def test_notes_on_a_choice_of_trials_are_of_one_kind() -> None:
    notes = (selection_note("Importance", 30, 60), *choice_note(30, 60))
    assert [kind_of(note) for note in notes] == ["selection", "selection"]
    assert set(get_args(NoteKind)) >= {"selection", "feasibility"}


def test_json_has_notes_as_plain_texts() -> None:
    verdict = StoppingVerdict(True, 30, 0.1, 0.01, 0.02, None, "little is left", (NOTE,))
    (kept,) = pickle.loads(pickle.dumps(verdict)).notes  # noqa: S301
    assert kind_of(kept) == "feasibility"
    assert kind_of(replace(verdict, stop=False).notes[0]) == "feasibility"
    (written,) = verdict.to_dict()["notes"]
    assert type(written) is str
    assert type(plain({"notes": (str(NOTE),)})["notes"][0]) is str
