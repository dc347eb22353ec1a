"""What programs do with answers does not depend on the words in them.

Answers of two studies are rebuilt with a random word in the place of every sentence, note and title. Sections, figures,
metrics, keys of JSON and doubts stay the same, and whatever is left out because it was said is still left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, get_args

import optuna
import pytest
from tests.golden.studies import STUDIES
from tests.helpers import page_data
from tests.overviews import instead
from tests.scramble import Scrambler

from pellucid.answers.base import Overview
from pellucid.answers.catalogue import DEPENDENCE, FAILURES, IMPORTANCE
from pellucid.answers.doubts import doubts
from pellucid.answers.failures import FailingSettings
from pellucid.beliefs import Beliefs
from pellucid.beliefs.of_study import beliefs_of
from pellucid.beliefs.settings import FailingCondition, FailingSetting
from pellucid.surfaces.cli.answers import answers_to, sentences_of
from pellucid.surfaces.cli.questions import overview
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.picker import picks
from pellucid.surfaces.trackers.contents import contents_of
from pellucid.words import NoteKind, kind_of, selection_note

NAMES = ("two steps", "two objectives, constraint")
SOLVER, DEPTH = FailingCondition("solver", "is", "lbfgs"), FailingCondition("depth", "at least", 12)
FAILING = FailingSettings(
    (FailingSetting((SOLVER, DEPTH), "`solver` = lbfgs with `depth` of 12 or more", 9, 9, 9, 0.001),),
    30, 9, 21, 0, "All 9 failed trials have `solver` = lbfgs with `depth` of 12 or more: all 9 such trials failed.",
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What a reader, a tracker and a program get of a study. `counts`: of the elements of its page."""

    doubts: list[str]
    picked: list[Any]
    sections: list[str]
    counts: dict[str, int]
    figures: Any
    metrics: dict[str, float]
    keys: list[str]
    printed: list[str]


@pytest.fixture(scope="module", params=NAMES)
def gathered(request: pytest.FixtureRequest) -> tuple[Any, Overview]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = STUDIES[request.param]()
    return study, with_much_to_say(gather(study, progress=False))


def with_much_to_say(answers: Overview) -> Overview:
    """With failures at two conditions, with notes on a choice of trials, and with one of two objectives whose model has
    seen fewer trials than the other."""
    chosen = selection_note("Importance", 30, 60)
    for i, question in enumerate(answers.shown(IMPORTANCE)):
        importance = answers.found(IMPORTANCE, question.subject)
        assert importance is not None
        said = replace(importance, notes=(chosen, *importance.notes))
        answers = instead(answers, IMPORTANCE, said, question.subject)
        for each in answers.shown_of(DEPENDENCE, question.subject):
            effect = answers.found(DEPENDENCE, each.subject)
            assert effect is not None
            notes = tuple(other_numbers(note, i) for note in effect.notes)
            answers = instead(answers, DEPENDENCE, replace(effect, notes=notes), each.subject)
    return instead(answers, FAILURES, FAILING)


def other_numbers(note: str, i: int) -> str:
    """The note about few trials with another number of them for each objective."""
    if not note.startswith("Effects are provisional: "):
        return note
    text = re.sub(r"provisional: \d+", f"provisional: {10 + i}", note)
    return type(note)(text, **vars(note)) if type(note) is not str else text


def scrambled(answers: Overview, scrambler: Scrambler) -> Overview:
    """With words in the place of what answers and receipts say."""
    view = copy(answers.view)
    vars(view)["own_receipts"] = scrambler.record(answers.view.own_receipts)
    known = {key: scrambler.record(each) for key, each in answers._known.items()}
    return replace(answers, beliefs=Beliefs(view), _known=known)


def seen(study: Any, answers: Overview, scrambler: Scrambler | None) -> Seen:
    restored = scrambler.unscrambled if scrambler else str
    contents = contents_of(answers)
    page = contents.files["report.html"]
    data = page_data(page)
    tags = (
        "section",
        "h2",
        "h3",
        "li",
        "details",
        "figure",
        "table",
        "option",
        "button",
        'class="doubt"',
        "data-figure",
    )
    return Seen(
        doubts=[restored(text) for text in doubts(answers)],
        picked=[[trial["number"], *map(restored, trial["words"])] for trial in data["picked"]],
        sections=re.findall(r'<section[^>]* id="([^"]*)"', page),
        counts={tag: page.count(tag if "=" in tag or "-" in tag else f"<{tag}") for tag in tags},
        figures=without_prose(data["figures"], restored),
        metrics=contents.metrics,
        keys=[f"{name}: {key}" for name, text in contents.files.items() if name.endswith(".json")
              for key in keys(json.loads(text))],
        printed=[restored(line) for line in printed(study, scrambler)],
    )  # fmt: skip


def printed(study: Any, scrambler: Scrambler | None) -> list[str]:
    """What `pellucid explain` prints. Every answer has the note on a choice of trials."""
    found = []
    for question, answer in answers_to(overview(beliefs_of(study), None)):
        if "notes" in getattr(answer, "__dataclass_fields__", ()):
            answer = replace(answer, notes=(selection_note("This answer", 30, 60), *answer.notes))  # type: ignore[call-arg]
        if scrambler is not None:
            question, answer = replace(question, title=scrambler.word(question.title)), scrambler.record(answer)
        found.append((question, answer))
    return [text for _, _, text in sentences_of(found)]


def without_prose(figure: Any, restored: Any) -> Any:
    """A figure with its texts as they were. Its height leaves room for the lines of the title."""
    if isinstance(figure, Mapping):
        return {key: without_prose(part, restored) for key, part in figure.items() if key != "height"}
    if isinstance(figure, list):
        return [without_prose(part, restored) for part in figure]
    return restored(figure) if isinstance(figure, str) else figure


def keys(data: Any, where: str = "") -> list[str]:
    if isinstance(data, Mapping):
        return [where, *(path for name, part in data.items() for path in keys(part, f"{where}.{name}"))]
    return [path for part in data for path in keys(part, f"{where}[]")] if isinstance(data, list) else [where]


@pytest.mark.parametrize("part", Seen.__dataclass_fields__)
def test_other_words_change_nothing_but_words(part: str, both: tuple[Seen, Seen]) -> None:
    plain, scrambled = both
    assert getattr(scrambled, part) == getattr(plain, part)


@pytest.fixture(scope="module")
def both(gathered: tuple[Any, Overview]) -> tuple[Seen, Seen]:
    study, answers = gathered
    plain = seen(study, answers, None)
    scrambler = Scrambler(seed=7)
    with pytest.MonkeyPatch.context() as monkeypatch:
        scrambler.properties(monkeypatch)
        return plain, seen(study, scrambled(answers, scrambler), scrambler)


def test_there_is_something_to_leave_out(both: tuple[Seen, Seen], gathered: tuple[Any, Overview]) -> None:
    """The test above would say nothing about answers without notes, receipts and doubts."""
    plain, _ = both
    _, answers = gathered
    assert len(picks(answers)) == len(answers.view.trials)
    assert sum("of 60 trials" in line for line in plain.printed) == 1
    assert sum("provisional" in text for text in plain.doubts) == 1
    assert not any("of 60 trials" in text for text in plain.doubts)
    assert len(plain.figures) > 10


def notes_of(record: Any) -> Iterator[str]:
    """All notes of a record, and of those that it holds."""
    if is_dataclass(record) and not isinstance(record, type):
        yield from getattr(record, "notes", ())
        parts = [getattr(record, field.name) for field in fields(record)]
    else:
        parts = list(record.values()) if isinstance(record, Mapping) else list(record)
    for part in parts:
        if isinstance(part, Mapping | tuple) or is_dataclass(part):
            yield from notes_of(part)


def test_every_note_has_a_kind(gathered: tuple[Any, Overview]) -> None:
    notes = list(notes_of(gathered[1]._known))
    assert len(notes) > 10
    assert [note for note in notes if kind_of(note) not in get_args(NoteKind)] == []
