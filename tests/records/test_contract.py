"""Every answer holds its sentence, its notes and the number of trials behind it, also as plain data."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from typing import Any

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial

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


def questions(study: Study) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every public function that returns an answer, by its name."""
    first = None if len(study.directions) == 1 else 0
    stopped = [trial.number for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED]
    proposed = max(receipt.trial for receipt in pellucid.receipts(study) if receipt.proposed)
    yield "calibration", lambda: pellucid.calibration(study, objective=first)
    yield "compare_importance", lambda: pellucid.compare_importance(study, proposed, objective=first)
    yield "desirability_paths", lambda: pellucid.desirability_paths(study, [proposed], progress=False)
    yield "explain_proposal", lambda: pellucid.explain_proposal(study, proposed)
    yield "failing_settings", lambda: pellucid.failing_settings(study)
    yield "history", lambda: pellucid.history(study)
    yield "hsic_importance", lambda: pellucid.hsic_importance(study, source="all", objective=first, n_permutations=49)
    yield "importance", lambda: pellucid.importance(study, objective=first)
    yield "interval_reduction", lambda: pellucid.interval_reduction(study, "x", objective=first, n_permutations=49)
    yield "parallel_coordinates", lambda: pellucid.parallel_coordinates(study)
    yield "parameter_ranges", lambda: pellucid.parameter_ranges(study, objective=first)
    yield "partial_dependence", lambda: pellucid.partial_dependence(study, "x", objective=first)
    yield "profile_effect", lambda: pellucid.profile_effect(study, "x", objective=first)
    yield "proposal_interactions", lambda: pellucid.proposal_interactions(study, proposed, objective=first)
    yield "recommend", lambda: pellucid.recommend(study)
    yield "regret_history", lambda: pellucid.regret_history(study)
    yield "stopping_verdict", lambda: pellucid.stopping_verdict(study)
    yield "timeline", lambda: pellucid.timeline(study)
    if first is None:
        yield "explain_pruning", lambda: pellucid.explain_pruning(study, stopped[0])
        yield "pruning_record", lambda: pellucid.pruning_record(study)
    else:
        yield "compromise", lambda: pellucid.recommend(study, prefer={"objective 0": 1, "objective 1": 2})
        yield "tradeoff", lambda: pellucid.tradeoff(study)


def asked(n_objectives: int) -> dict[str, Finding]:
    return {name: ask() for name, ask in questions(study_of(n_objectives))}


@cache
def answers() -> dict[str, Finding]:
    found = {f"{name} of {n}": answer for n in (1, 2) for name, answer in asked(n).items()}
    ranges = found["parameter_ranges of 1"]
    assert isinstance(ranges, pellucid.ParameterRanges)
    curves = gather(study_of(1), progress=False).found(CURVES)
    assert curves is not None
    return {
        **found,
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
    assert {name for n in (1, 2) for name, _ in questions(study_of(n))} - {"compromise"} == annotated()


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
    data = answers_data(view, place_of("sqlite:///studies.db"), answers_to(overview(Beliefs(view), None)))
    for key in ("recommendation", "verdict", "importance", "calibration", "proposal"):
        found = data[key] if n == 1 or key in ("recommendation", "verdict", "proposal") else data[key]["objective 0"]
        assert set(PROMISED) <= set(found), key
