"""The catalogue names functions and records by references: every one exists, and takes and returns what it should."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_args, get_type_hints

import optuna
import pytest

import pellucid
from pellucid.answers.base import WHOLE, Answer, ChosenBy, ChosenWords, Overview, Subject, resolve
from pellucid.answers.catalogue import CATALOGUE, DEPENDENCE, IMPORTANCE, PROPOSAL, RANGES, VERDICT
from pellucid.answers.finding import Finding, NotKnown
from pellucid.answers.places import SECTIONS
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView

NAMES = [f"{answer.key}, {answer.title}" for answer in CATALOGUE]
COMPUTED = [answer for answer in CATALOGUE if answer.compute]


def hints(function: Any) -> dict[str, Any]:
    """The types of a function, also of one whose module imports them for type checkers only."""
    from collections.abc import Sequence

    from pellucid.study import goals

    module = inspect.getmodule(function)
    records = {reference.partition(":")[2]: resolve(reference) for answer in CATALOGUE for reference in answer.records}
    known = {**records, **vars(goals), **vars(module), "Sequence": Sequence}
    return get_type_hints(function, globalns=known)


def references(answer: Answer[Any]) -> Iterator[str]:
    yield from filter(None, [answer.compute, answer.table])
    yield from answer.records
    yield from (figure for figures in answer.records.values() for figure in figures.values())
    yield from answer.function
    choices = (answer.listed, answer.shown, answer.steps)
    yield from (choice.reference for choice in choices if isinstance(choice, ChosenBy))
    places = [place for place in (answer.card, answer.chapter) if place is not None]
    yield from filter(None, [answer.content, *(place.content for place in places)])
    yield from (place.title.reference for place in places if isinstance(place.title, ChosenWords))


@pytest.mark.parametrize("answer", CATALOGUE, ids=NAMES)
def test_every_reference_names_something(answer: Answer[Any]) -> None:
    for reference in references(answer):
        assert resolve(reference) is not None


@pytest.mark.parametrize("answer", COMPUTED, ids=[f"{answer.key}, {answer.title}" for answer in COMPUTED])
def test_what_computes_an_answer_returns_one_of_its_records(answer: Answer[Any]) -> None:
    records = {resolve(reference) for reference in answer.records}
    assert all(issubclass(record, Finding) for record in records)
    overview, subject, returned = hints(resolve(answer.compute)).values()
    assert overview is Overview
    kinds = (returned, *get_args(returned))
    if answer.together:
        assert get_args(subject) == (Subject,)
    else:
        assert subject is Subject
    assert {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Finding)} & records


@pytest.mark.parametrize("answer", CATALOGUE, ids=NAMES)
def test_a_figure_is_drawn_from_its_record(answer: Answer[Any]) -> None:
    for reference, figures in answer.records.items():
        record = resolve(reference)
        for figure in figures.values():
            [drawn] = [kind for name, kind in get_type_hints(resolve(figure)).items() if name != "return"]
            assert issubclass(record, drawn)


@pytest.mark.parametrize("answer", CATALOGUE, ids=NAMES)
def test_a_table_is_made_of_its_record(answer: Answer[Any]) -> None:
    if answer.table:
        [record, table] = hints(resolve(answer.table)).values()
        assert record in {resolve(reference) for reference in answer.records}
        assert table is resolve("pellucid.answers.base:TextTable")


def test_every_function_is_public() -> None:
    """A method is one of a public class."""
    for answer in CATALOGUE:
        for reference in answer.function:
            module, _, path = reference.partition(":")
            name = path.partition(".")[0]
            assert getattr(pellucid, name) is resolve(f"{module}:{name}")


def test_every_public_answer_is_a_record_of_one_key() -> None:
    for name in pellucid.__all__:
        record = getattr(pellucid, name)
        if isinstance(record, type) and issubclass(record, Finding) and record is not Finding:
            keys = {answer.key for answer in CATALOGUE if record in map(resolve, answer.records)}
            assert len(keys) == 1, (name, keys)


def test_every_public_function_that_answers_is_in_the_catalogue() -> None:
    listed = {
        (resolve(reference), record)
        for answer in CATALOGUE
        for reference in answer.function
        for record in map(resolve, answer.records)
    }
    for name in pellucid.__all__:
        function = getattr(pellucid, name)
        if inspect.isfunction(function):
            returned = hints(function).get("return")
            for kind in get_args(returned) or (returned,):
                if isinstance(kind, type) and issubclass(kind, Finding):
                    assert any(of is function and issubclass(record, kind) for of, record in listed), name


def test_entries_with_one_key_are_about_different_subjects() -> None:
    seen = [(answer.key, answer.takes, answer.parts, answer.compute, *answer.records) for answer in CATALOGUE]
    assert len(set(seen)) == len(seen)
    listed = [answer.key for answer in CATALOGUE if answer.listed is not None]
    assert len(set(listed)) == len(listed)


def test_every_question_is_listed_or_named() -> None:
    for answer in CATALOGUE:
        listed = answer.listed is not None or answer.shown is not None
        assert bool(answer.compute) == (listed or answer.asked)
        assert answer.compute or answer.function


def test_every_answer_of_a_page_has_its_place_there() -> None:
    """The averages stand below the profiles, in the same content."""
    sections = {section.key for section in SECTIONS}
    for answer in CATALOGUE:
        assert answer.section in sections or not answer.section
        if answer.shown is not None and answer is not DEPENDENCE:
            assert answer.section or answer.card, answer.title


def test_the_catalogue_costs_nothing_to_import() -> None:
    code = "import sys, pellucid.answers.catalogue; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert not {"numpy", "optuna", "plotly", "pellucid.answers.finding"} & set(run.stdout.split())


# ---------------------------------------------------------------------- all answers of a study


def study_of(n_objectives: int, n_trials: int = 8) -> Beliefs:
    def objective(trial: optuna.Trial) -> Any:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return [x + y * y, 1.0 - x][0] if n_objectives == 1 else (x + y * y, 1.0 - x)

    study = optuna.create_study(directions=["minimize"] * n_objectives, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=n_trials)
    return Beliefs(StudyView.whole(study))


def counted(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[tuple[Any, ...]]:
    """The arguments of every call of a function from now on."""
    calls: list[tuple[Any, ...]] = []
    function = getattr(module, name)

    def called(*arguments: Any) -> Any:
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(module, name, called)
    return calls


def test_an_answer_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid.answers.importance import shares

    asked = counted(monkeypatch, shares, "shares_of")
    overview = Overview(study_of(1))
    assert overview.known(IMPORTANCE) is None
    first = overview.ask(IMPORTANCE)
    assert overview.ask(IMPORTANCE) is first
    assert overview.known(IMPORTANCE) is first
    assert len(asked) == 1


def test_a_question_about_several_subjects_has_a_label_for_each() -> None:
    overview = Overview(study_of(2))
    assert [(each.subject, each.label) for each in overview.listed(IMPORTANCE)] == [
        (Subject(objective=0), "objective 0"),
        (Subject(objective=1), "objective 1"),
    ]
    assert [(each.subject, each.label) for each in overview.listed(VERDICT)] == [(WHOLE, "")]
    only = Overview(overview.beliefs, Subject(objective=1))
    assert [(each.subject, each.label) for each in only.listed(IMPORTANCE)] == [(Subject(objective=1), "")]
    assert only.listed(VERDICT) == []


def test_an_entry_that_does_not_apply_says_why() -> None:
    assert Overview(study_of(1)).reason(RANGES) is None
    assert "name one of `objective 0`, `objective 1`" in (Overview(study_of(2)).reason(RANGES) or "")
    for n in (1, 2):
        overview = Overview(study_of(n))
        for answer in CATALOGUE:
            questions, reason = overview.listed(answer) or overview.shown(answer), overview.reason(answer)
            assert not (questions and reason), answer.key


def test_subjects_that_cannot_be_chosen_are_a_reason() -> None:
    study = optuna.create_study()
    study.add_trial(optuna.create_trial(value=1.0))
    overview = Overview(Beliefs(StudyView.whole(study)))
    [question] = overview.shown(resolve("pellucid.answers.catalogue:PROFILE"))
    answer = question.answered()
    assert isinstance(answer, NotKnown)
    assert answer.reason == "No parameter varies, so there are no effects to show."
    [question] = Overview(Beliefs(StudyView.whole(optuna.create_study()))).listed(PROPOSAL)
    assert "no finished trial yet" in str(question.answered())


def test_effects_of_a_part_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid.answers.catalogue import PROFILE
    from pellucid.answers.effects import profile

    asked = counted(monkeypatch, profile, "profiles_of")
    overview = Overview(study_of(2))
    shown = overview.shown(PROFILE)
    assert [question.subject.objective for question in shown] == [0, 0, 1, 1]
    known = [question.answered() for question in shown]
    assert not any(isinstance(answer, NotKnown) for answer in known)
    assert len(asked) == 2
    assert [answer.param for answer in known] == [question.subject.params[0] for question in shown]  # type: ignore[union-attr]
