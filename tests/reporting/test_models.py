"""A report fits each distinct model once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from tests.helpers import bowl, new_study

import pellucid
from pellucid.models import GaussianProcess
from pellucid.models.hyperparameters import FitProblem, Solution


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | None, int]]:
    """Output warp and number of observations of every fit."""
    fits: list[tuple[str | None, int]] = []
    original = GaussianProcess.learn

    def learn(gp: GaussianProcess, X: Any, *arguments: Any, **options: Any) -> GaussianProcess:
        fits.append((gp.warp, len(X)))
        return original(gp, X, *arguments, **options)

    monkeypatch.setattr(GaussianProcess, "learn", learn)
    return fits


@pytest.fixture
def beginnings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of observations of every fit from scratch."""
    beginnings: list[int] = []
    original = FitProblem.from_scratch

    def from_scratch(problem: FitProblem) -> Solution:
        beginnings.append(len(problem.y))
        return original(problem)

    monkeypatch.setattr(FitProblem, "from_scratch", from_scratch)
    return beginnings


def with_pruned_trials(trial: optuna.Trial) -> float:
    """Only pruned trials report, so that no learning curve is complete."""
    value = bowl(trial)
    if trial.number % 5 == 4:
        trial.report(value, 0)
        raise optuna.TrialPruned
    return value


def with_curves(trial: optuna.Trial) -> float:
    value = bowl(trial)
    trial.report(value, 0)
    if trial.number % 5 == 4:
        raise optuna.TrialPruned
    return value


def study_of(objective: Any) -> Study:
    study = new_study(seed=1)
    study.optimize(objective, n_trials=25)
    return study


def test_complete_trials_have_one_model_with_a_warp_and_one_without(
    tmp_path: Path, fits: list[tuple[str | None, int]]
) -> None:
    study = study_of(bowl)
    fits.clear()
    pellucid.report(study, tmp_path / "report.html", progress=False)
    assert sorted(fits, key=str) == [("auto", 25), (None, 25)]


def test_models_with_and_without_a_warp_begin_once(tmp_path: Path, beginnings: list[int]) -> None:
    study = study_of(bowl)
    beginnings.clear()
    pellucid.report(study, tmp_path / "report.html", progress=False)
    assert beginnings == [25]


def test_pruned_trials_add_the_model_of_the_complete_ones(tmp_path: Path, fits: list[tuple[str | None, int]]) -> None:
    """The recommendation leaves pruned trials out; effects, importance and the verdict on stopping use them."""
    study = study_of(with_pruned_trials)
    fits.clear()
    pellucid.report(study, tmp_path / "report.html", progress=False)
    assert sorted(fits, key=str) == [("auto", 20), ("auto", 25), (None, 20), (None, 25)]


def test_trials_with_curves_share_the_models_of_all_trials(tmp_path: Path, fits: list[tuple[str | None, int]]) -> None:
    """Stopped trials count with what their curves promise, in the recommendation too."""
    study = study_of(with_curves)
    fits.clear()
    pellucid.report(study, tmp_path / "report.html", progress=False)
    assert sorted(fits, key=str) == [("auto", 25), (None, 25)]


def test_another_call_looks_at_the_study_anew(fits: list[tuple[str | None, int]]) -> None:
    study = study_of(bowl)
    pellucid.recommend(study)
    fits.clear()
    study.optimize(bowl, n_trials=1)
    fits.clear()
    assert pellucid.recommend(study).n_trials == 26
    assert fits[0] == ("auto", 26)
    assert set(fits[1:]) <= {(None, 26)}  # Without the warp, if there is one.
