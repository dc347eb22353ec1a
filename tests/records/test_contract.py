"""Every answer holds its sentence, its notes and the number of trials behind it, also as plain data."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields
from functools import cache
from typing import Any

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial
from tests.records.asking import FUNCTIONS, ask, subject_of

import pellucid
from pellucid.answers.finding import Finding, plain
from pellucid.answers.on_pages import CURVES
from pellucid.answers.plan import HeldParameter
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView
from pellucid.surfaces.cli.answers import answers_data, answers_to
from pellucid.surfaces.cli.questions import overview
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.page.gather import gather

PROMISED = ("sentence", "notes", "n_trials")
FAILING = (2, 5, 8)


def trained(trial: Trial) -> float:
    """A learning curve; some trials fail, others are stopped."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    if trial.number in FAILING:
        return float("nan")
    for step in range(1, 9):
        trial.report((x - 0.3) ** 2 + y / 10 + 1 / step, step)
        if trial.number > 12 and x > 0.6 and step > 5:
            raise optuna.TrialPruned
    return (x - 0.3) ** 2 + y / 10 + 1 / 8


def both(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return (float("nan"),) * 2 if trial.number in FAILING else (x**2 + y, (x - 1) ** 2 + y)


@cache
def study_of(n_objectives: int) -> Study:
    sampler = pellucid.BayesianSampler(seed=1)
    study = optuna.create_study(directions=["minimize"] * n_objectives, sampler=sampler)
    study.optimize(trained if n_objectives == 1 else both, n_trials=30)
    return study


def asked(n_objectives: int) -> dict[str, Finding]:
    """The answers of all public functions that apply to the study, by the function's name."""
    study = study_of(n_objectives)
    names = [name for name in FUNCTIONS if subject_of(name, study) is not None]
    return {name: ask(name, study, source="all", n_permutations=49, progress=False) for name in names}


@cache
def answers() -> dict[str, Finding]:
    found = {f"{name} of {n}": answer for n in (1, 2) for name, answer in asked(n).items()}
    ranges = found["parameter_ranges of 1"]
    assert isinstance(ranges, pellucid.ParameterRanges)
    curves = gather(study_of(1), progress=False).found(CURVES)
    assert curves is not None
    return {
        **found,
        "compromise": pellucid.recommend(study_of(2), prefer={"objective 0": 1, "objective 1": 2}),
        "plan": pellucid.TwoStepPlan(("x",), (HeldParameter("y", 0.5, False, "as in trial 3"),), 3, 30, 3),
        "advice": pellucid.RangeAdvice("x", "widen", "Widen `x`.", 0.01, n_trials=30),
        "curves": curves,
    }


def annotated() -> set[str]:
    """Public functions that return answers, by their annotations."""
    records = {name for name in pellucid.__all__ if inspect.isclass(getattr(pellucid, name))}
    functions = {name: getattr(pellucid, name) for name in pellucid.__all__}
    return {
        name
        for name, function in functions.items()
        if inspect.isfunction(function)
        and records & set(str(inspect.signature(function).return_annotation).split(" | "))
    } - {"receipt", "rebuild"}


def test_every_function_that_answers_is_asked() -> None:
    assert {name.partition(" of ")[0] for name in answers() if " of " in name} == annotated()
    assert {"tradeoff of 2", "explain_pruning of 1", "pruning_record of 1"} <= set(answers())
    assert not {"tradeoff of 1", "explain_pruning of 2", "pruning_record of 2"} & set(answers())


def test_every_public_record_is_among_the_answers() -> None:
    public = {getattr(pellucid, name) for name in pellucid.__all__}
    kinds = {kind for kind in public if inspect.isclass(kind) and issubclass(kind, Finding)} - {Finding}
    assert kinds <= {type(answer) for answer in answers().values()}


def promised(data: dict[str, Any], answer: Finding) -> None:
    assert data["sentence"] == answer.sentence
    assert data["sentence"].endswith(".")
    assert tuple(data["notes"]) == answer.notes
    # After every cut of a range, fewer trials are left: the one answer with several numbers.
    cuts = isinstance(answer, pellucid.IntervalReduction)
    counts = data["n_trials"] if cuts else (data["n_trials"],)
    assert len(counts) == (len(answer.cuts) if cuts else 1)
    assert all(isinstance(count, int) and count > 0 for count in counts)
    assert {field.name for field in fields(answer)} <= set(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 2])
def test_plain_data_has_the_sentence_the_notes_and_the_number_of_trials(n: int) -> None:
    for name, answer in answers().items():
        if name.endswith(f"of {n}") or " of " not in name:
            promised(answer.to_dict(), answer)
            data = json.loads(json.dumps(plain(answer.to_dict()), allow_nan=False))
            assert set(PROMISED) <= set(data), name


def test_an_answer_inside_another_one_has_them_too() -> None:
    regret, paths = answers()["regret_history of 1"], answers()["desirability_paths of 1"]
    assert isinstance(regret, pellucid.RegretHistory)
    assert regret.to_dict()["stopping"] == regret.stopping.to_dict()
    assert isinstance(paths, pellucid.DesirabilityPaths)
    assert paths.to_dict()["explanations"] == tuple(explanation.to_dict() for explanation in paths.explanations)


def test_advice_about_ranges_rests_on_the_trials_of_the_answer() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=40)
    ranges = pellucid.parameter_ranges(study)
    assert ranges.advice
    assert {advice.n_trials for advice in ranges.advice} == {ranges.n_trials} == {40}


@pytest.mark.parametrize("n", [1, 2])
def test_json_of_the_command_line_has_them(n: int) -> None:
    view = StudyView.whole(study_of(n))
    asked = overview(Beliefs(view), None)
    data = answers_data(view, place_of("sqlite:///studies.db"), answers_to(asked))
    assert data["unknown"] == data["failed"] == {}
    assert {"recommendation", "verdict", "importance", "calibration", "proposal"} <= {each.key for each in asked}
    for each in asked:
        found = data[each.key][each.label] if each.label else data[each.key]
        assert set(PROMISED) <= set(found), each.key
