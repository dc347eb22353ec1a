"""An error inside any entry of the catalogue is named on every surface, and everything else stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.failing import FAULTS, cause, study_of_everything, study_of_two
from typer.testing import CliRunner

from pellucid.answers import base
from pellucid.answers.base import Answer, Overview, Question, Subject, Takes, resolve
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.finding import NotKnown
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView
from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.mcp.answering import reply_to
from pellucid.surfaces.cli.mcp.session import Session
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.page.answers import cards_of
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.note import note
from pellucid.surfaces.page.sections import figures_of, sections_of
from pellucid.surfaces.trackers.contents import contents_of
from pellucid.words import Unanswered

pytestmark = pytest.mark.failing_answers

STUDIES = ("everything", "two")
COMPUTED = [answer for answer in CATALOGUE if answer.compute]
NAMES = [f"{answer.key}, {answer.title}" for answer in COMPUTED]
# What a user names, as options of the command line, as arguments of a tool, and as a subject.
NAMED: dict[Takes, tuple[list[str], dict[str, Any], Subject]] = {
    Takes.NOTHING: ([], {}, Subject()),
    Takes.TRIAL: (["--trial", "9"], {"trial": 9}, Subject(trial=9)),
    Takes.PARAMS: (["--param", "x"], {"params": ["x"]}, Subject(params=("x",))),
    Takes.GOAL: (["--goal", "best"], {"goal": "best"}, Subject(goal=base.GoalName.BEST)),
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('faults')}/studies.db"
    storage = optuna.storages.RDBStorage(url)
    study_of_everything(storage)
    study_of_two(storage)
    return url


@pytest.fixture(scope="module")
def known() -> dict[Any, Any]:
    """What entries answered, by study and subject: each is computed once for all tests."""
    return {}


def answer_from(
    known: dict[Any, Any], monkeypatch: pytest.MonkeyPatch, broken: str = "", fault: Exception | None = None
) -> None:
    """Let all entries answer from memory, but for the `broken` one, which raises a fault."""
    computes = {answer.compute for answer in COMPUTED}
    resolve = base.resolve

    def resolved(reference: str) -> Any:
        function = resolve(reference)
        if reference not in computes:
            return function
        return remembered(reference, function) if reference != broken else fails

    def fails(*_: Any) -> Any:
        assert fault is not None
        raise type(fault)(*fault.args)

    def remembered(reference: str, compute: Callable[[Overview, Any], Any]) -> Callable[[Overview, Any], Any]:
        def ask(overview: Overview, subject: Any) -> Any:
            key = (reference, overview.view.name, overview.only, repr(subject))
            if key not in known:
                try:
                    known[key] = compute(overview, subject)
                except Unanswered as reason:
                    known[key] = reason
            if isinstance(known[key], Exception):
                raise known[key]
            return known[key]

        return ask

    monkeypatch.setattr(base, "resolve", resolved)


def questions(view: StudyView) -> list[Question[Any]]:
    """Everything that can be asked about a study: in lists, on a page, and by naming something."""
    overview = Overview(Beliefs(view))
    asked: list[Question[Any]] = []
    for answer in COMPUTED:
        asked += [*overview.listed(answer), *overview.shown(answer)]
        if answer.takes is not Takes.NOTHING:
            asked += overview.named(answer, NAMED[answer.takes][2])
    return asked


def explained(url: str, study: str, options: list[str]) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["explain", study, "--storage", url, "--json", *options])
    return result.exit_code, json.loads(result.stdout or "{}")


@pytest.fixture(scope="module")
def unbroken(url: str, known: dict[Any, Any]) -> dict[str, Overview]:
    """What pages show of the studies if nothing fails."""
    with pytest.MonkeyPatch.context() as patched:
        answer_from(known, patched)
        return {study: gathered(url, study) for study in STUDIES}


def gathered(url: str, study: str) -> Overview:
    return gather(optuna.load_study(study_name=study, storage=url), progress=False)


def titles(written: str, overview: Overview, answer: Answer[Any]) -> list[str]:
    """The titles of a note, but for that of an answer, which may tell what the answer is."""
    own = "" if answer.chapter is None else answer.chapter.heading(overview)
    return [title for title in re.findall("^## (.*)", written, re.MULTILINE) if title != own]


@pytest.mark.parametrize("answer", COMPUTED, ids=NAMES)
def test_a_fault_is_an_answer_that_failed_and_no_other_fails(
    url: str, known: dict[Any, Any], answer: Answer[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = FAULTS[COMPUTED.index(answer) % len(FAULTS)]
    failed = []
    for study in STUDIES:
        view = StudyView.whole(optuna.load_study(study_name=study, storage=url))
        with monkeypatch.context() as patched:
            answer_from(known, patched, answer.compute, fault)
            for question in questions(view):
                said = question.answered()
                broken = question.answer.compute == answer.compute
                assert broken or not (isinstance(said, NotKnown) and said.failed)
                if broken and isinstance(said, NotKnown) and said.failed:
                    assert said.reason == cause(fault)
                    failed.append(question)
    assert failed


@pytest.mark.parametrize(
    "answer",
    [answer for answer in COMPUTED if answer.asked],
    ids=[name for name, answer in zip(NAMES, COMPUTED, strict=True) if answer.asked],
)
def test_commands_and_agents_name_the_fault_and_keep_everything_else(
    url: str, known: dict[Any, Any], answer: Answer[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fault = FAULTS[COMPUTED.index(answer) % len(FAULTS)]
    options, arguments, _ = NAMED[Takes.NOTHING if answer.listed is not None else answer.takes]
    n_failed = 0
    for study in STUDIES:
        with monkeypatch.context() as patched:
            answer_from(known, patched)
            _, whole = explained(url, study, options)
        if answer.key not in whole:  # This study has no such answer.
            continue
        with monkeypatch.context() as patched:
            answer_from(known, patched, answer.compute, fault)
            code, data = explained(url, study, options)
            reply = reply_to(Session(place_of(url), tmp_path), answer.key, {"study": study, **arguments})
        reasons = data["failed"].pop(answer.key)
        n_failed += 1
        assert code == 4
        assert set(reasons.values() if isinstance(reasons, dict) else [reasons]) == {cause(fault)}
        assert {key: value for key, value in data.items() if key != answer.key} == {
            key: value for key, value in whole.items() if key != answer.key
        }
        assert cause(fault) in reply.texts[0]
    assert n_failed


@pytest.mark.pages
@pytest.mark.parametrize(
    "answer",
    [answer for answer in COMPUTED if answer.shown is not None],
    ids=[name for name, answer in zip(NAMES, COMPUTED, strict=True) if answer.shown is not None],
)
def test_page_note_dashboard_and_tracker_name_the_fault_and_keep_everything_else(
    url: str,
    known: dict[Any, Any],
    unbroken: dict[str, Overview],
    answer: Answer[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = FAULTS[COMPUTED.index(answer) % len(FAULTS)]
    study = next(study for study, overview in unbroken.items() if overview.shown(answer))
    whole = unbroken[study]
    answer_from(known, monkeypatch, answer.compute, fault)
    broken = gathered(url, study)
    names = {broken.name(answer, question.subject) for question in broken.shown(answer)}
    assert names & set(broken.broken)
    assert {why.reason for why in broken.broken.values()} == {cause(fault)}
    run, written = contents_of(broken), note(broken, "trials/")
    html = unescape(run.files["report.html"])
    assert html.rstrip().endswith("</html>")
    for text in (html, written.replace("\\", ""), run.description.replace("\\", "")):
        assert "Left out because of an error: " in text
        assert cause(fault) in text
    assert [title for title, _ in cards_of(broken)] == [title for title, _ in cards_of(whole)]
    assert [key for key, _, _ in sections_of(broken)] == [key for key, _, _ in sections_of(whole)]
    assert titles(written, broken, answer) == titles(note(whole, "trials/"), whole, answer)
    figures = {drawing.name for drawing in figures_of(broken)}
    lost = {type(drawing.record) for drawing in figures_of(whole) if drawing.name not in figures}
    assert lost <= {resolve(record) for record in answer.records}
    if answer.listed is not None and answer.takes is Takes.NOTHING:
        assert '"failed": true' in run.files[f"{answer.key}.json"]
