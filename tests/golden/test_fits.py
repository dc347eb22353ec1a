"""How often a Gaussian process is fitted for a proposal, an answer and a report: that may only fall.

A fit learns hyperparameters; conditioning a fitted process on other data is none. Networks and models of learning
curves are not counted. Every answer is asked alone, so that nothing is shared with another one; a report shares what it
can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import optuna
import pytest
from optuna.study import Study
from tests.golden.several import bowls, limited, limited_bowls, made
from tests.golden.studies import bayesian, failing, flat, run

import pellucid
from pellucid.models import GaussianProcess

STUDIES: dict[str, Callable[[], Study]] = {
    "one": lambda: bayesian(flat, 24),
    "failures": lambda: bayesian(failing, 24, avoid_failures=True),
    "constraint": lambda: made(limited, 24, ("minimize",), pending=1),
    "two": lambda: made(bowls, 24),
    "two, constraint": lambda: made(limited_bowls, 18),
    "tpe": lambda: run(flat, 24, optuna.samplers.TPESampler(seed=0)),
}
Ask = Callable[[Study], Any]
NUMBER = 14  # of the trial that is asked about


ASKS: dict[str, Ask] = {
    "proposal": lambda study: study.ask(study.trials[-1].distributions),
    "recommend": pellucid.recommend,
    "recommend, weighted": lambda study: pellucid.recommend(study, prefer={0: 1, 1: 2}),
    "recommend, limited": lambda study: pellucid.recommend(study, limits={1: "<= 1"}),
    "stopping_verdict": lambda study: pellucid.stopping_verdict(study, min_trials=10),
    "regret_history": lambda study: pellucid.regret_history(study, min_trials=10),
    "history": pellucid.history,
    "importance": lambda study: pellucid.importance(study, objective=0),
    "importance, constraint": lambda study: pellucid.importance(study, objective="memory"),
    "calibration": lambda study: pellucid.calibration(study, objective=0),
    "parameter_ranges": lambda study: pellucid.parameter_ranges(study, objective=0),
    "profile_effect": lambda study: pellucid.profile_effect(study, "x", objective=0),
    "partial_dependence": lambda study: pellucid.partial_dependence(study, "x", objective=0),
    "hsic_importance": lambda study: pellucid.hsic_importance(study, source="surrogate", objective=0),
    "tradeoff": pellucid.tradeoff,
    "explain_proposal": lambda study: pellucid.explain_proposal(study, NUMBER),
    "explain_proposal, predicted": lambda study: pellucid.explain_proposal(study, NUMBER, objective=0),
    "desirability_paths": lambda study: pellucid.desirability_paths(study, range(10, 14), progress=False),
    "rebuild": lambda study: pellucid.rebuild(study, NUMBER),
    "failing_settings": pellucid.failing_settings,
    "parallel_coordinates": pellucid.parallel_coordinates,
    "report": lambda study: pellucid.report(study, "report.html", progress=False),
}
# How often a process is fitted, study by study in the order of STUDIES; None: this study has no answer to that. Lower a
# number when you have saved a fit. None of them may rise.
FITS: dict[str, tuple[int | None, ...]] = {
    "proposal": (1, 2, 2, 2, 3, 0),
    "recommend": (2, 2, 3, 4, 5, 2),
    "recommend, weighted": (None, None, None, 4, 5, None),
    "recommend, limited": (None, None, None, 4, 5, None),
    "stopping_verdict": (1, 1, 2, 2, 3, 1),
    "regret_history": (1, 1, 2, 2, 3, 1),
    "history": (0, 0, 0, 0, 0, 0),
    "importance": (2, 2, 2, 2, 2, 2),
    "importance, constraint": (None, None, 2, None, 2, None),
    "calibration": (0, 0, 0, 0, 1, 1),
    "parameter_ranges": (1, 1, 1, 1, None, 1),
    "profile_effect": (2, 2, 3, 2, 3, 2),
    "partial_dependence": (2, 2, 2, 2, 2, 2),
    "hsic_importance": (1, 1, 1, 1, 1, 1),
    "tradeoff": (None, None, None, 2, 3, None),
    "explain_proposal": (0, 0, 0, 0, 0, 1),
    "explain_proposal, predicted": (0, 0, 0, 0, 0, 1),
    "desirability_paths": (0, 0, 0, 0, 0, 4),
    "rebuild": (0, 0, 0, 0, 0, None),
    "failing_settings": (None, 0, None, None, 0, None),
    "parallel_coordinates": (0, 0, 0, 0, 0, 0),
    "report": (2, 2, 4, 4, 6, 16),
}


@contextmanager
def counted() -> Iterator[list[None]]:
    """A list with an entry for every fit inside."""
    fits: list[None] = []
    learn = GaussianProcess.learn

    def learning(self: GaussianProcess, *arguments: Any, **options: Any) -> GaussianProcess:
        fits.append(None)
        return learn(self, *arguments, **options)

    with patch.object(GaussianProcess, "learn", learning):
        yield fits


@cache
def original(name: str) -> Study:
    return STUDIES[name]()


def study_of(name: str) -> Study:
    """A study that nobody has asked anything yet."""
    first = original(name)
    study = optuna.create_study(directions=first.directions, sampler=first.sampler)
    study.add_trials(first.trials)
    return study


def fits_of(question: str) -> tuple[int | None, ...]:
    """How often a process is fitted for the question in each of the studies."""
    counts: list[int | None] = []
    for name in STUDIES:
        study = study_of(name)
        with counted() as fits:
            try:
                ASKS[question](study)
                counts.append(len(fits))
            except ValueError:  # The study has too few trials, or no such objective or constraint.
                counts.append(None)
    return tuple(counts)


def complaint(before: Sequence[int | None], now: Sequence[int | None]) -> str:
    """What is wrong with the counts of one question; empty if nothing."""
    if [count is None for count in before] != [count is None for count in now]:
        return f"Other studies have an answer: {before}, now {now}."
    pairs = {name: (a or 0, b or 0) for name, a, b in zip(STUDIES, before, now, strict=True)}
    if rises := {name: f"{a}, now {b}" for name, (a, b) in pairs.items() if b > a}:
        return f"Processes are fitted more often than before: {rises}. Share the model that is there already."
    return "" if tuple(before) == tuple(now) else f"Fits were saved: write {tuple(now)}, so that they stay saved."


@pytest.mark.parametrize("question", ASKS)
def test_no_more_processes_are_fitted_than_before(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint(FITS[question], fits_of(question)) == ""


def test_a_fit_more_a_fit_less_and_another_answer_are_noticed() -> None:
    before = FITS["recommend"]
    assert complaint(before, before) == ""
    assert "more often" in complaint(before, (3, *before[1:]))
    assert "more often" in complaint(before, (3, 1, *before[2:]))
    assert "write (1, 2, 3, 4, 5, 2)" in complaint(before, (1, *before[1:]))
    assert "have an answer" in complaint(before, (None, *before[1:]))


def test_every_fit_is_counted() -> None:
    study = study_of("one")
    with counted() as fits:
        pellucid.recommend(study)
        pellucid.recommend(study)
    assert len(fits) == 2 * (FITS["recommend"][0] or 0) > 0
