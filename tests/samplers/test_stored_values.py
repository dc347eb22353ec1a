"""A trial runs with what its receipt says, for every sampler, storage and kind of parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.trial import Trial
from tests.helpers import file_storage, random_model

import pellucid
from pellucid.study.predictions import applies


def every_kind(trial: Trial) -> float:
    """Numbers that are not exact in decimals, steps, whole numbers with more digits than a float has, and choices that
    are numbers of NumPy, as `numpy.linspace` makes them."""
    lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
    shift = trial.suggest_float("shift", -3.0, 7.0)
    rate = trial.suggest_float("rate", 0.1, 0.9, step=0.1)
    trial.suggest_int("depth", 1, 9)
    trial.suggest_int("units", 1, 1000, log=True)
    trial.suggest_int("batch", 0, 100, step=5)
    trial.suggest_int("salt", 0, 2**60)
    keep = trial.suggest_categorical("keep", list(np.linspace(0.0, 1.0, 3)))
    return (
        (np.log10(lr) + 2) ** 2 + shift**2 + rate + keep + (trial.suggest_categorical("opt", ["adam", "sgd"]) == "sgd")
    )


@pytest.fixture(scope="module")
def ranker() -> Any:
    pytest.importorskip("torch")
    return random_model(every_kind)


@pytest.fixture(params=["memory", "sqlite", "journal"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "journal":
        return file_storage(tmp_path / "studies.log")
    return None if request.param == "memory" else f"sqlite:///{tmp_path / 'studies.db'}"


@pytest.fixture(params=["bayesian", "two steps", "ranking 0", "ranking 1", "ranking 2"])
def sampler(request: pytest.FixtureRequest) -> BaseSampler:
    kind: str = request.param
    if kind == "bayesian":
        return pellucid.BayesianSampler(seed=0, n_startup_trials=3)
    if kind == "two steps":
        return pellucid.TwoStepSampler(seed=0, n_random=21, n_step1=2)
    return pellucid.RankingSampler(model=request.getfixturevalue("ranker"), seed=int(kind[-1]))


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution should be")
def test_no_trial_is_said_to_have_run_with_other_values(sampler: BaseSampler, storage: Any) -> None:
    study = optuna.create_study(sampler=sampler, storage=storage)
    study.optimize(every_kind, n_trials=24 if isinstance(sampler, pellucid.TwoStepSampler) else 6)
    written = pellucid.receipts(study)
    assert written
    assert [r.trial for r in written if not applies(r, study.trials[r.trial])] == []
    explained = [pellucid.explain_proposal(study, r.trial) for r in written if r.kind != "startup"]
    assert explained
    assert not any("other values than were proposed" in str(explanation) for explanation in explained)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_trial_of_a_ranking_runs_with_the_value_in_its_receipt(ranker: Any, seed: int, storage: Any) -> None:
    study = optuna.create_study(sampler=pellucid.RankingSampler(model=ranker, seed=seed), storage=storage)
    study.optimize(every_kind, n_trials=1)
    [receipt], [trial] = pellucid.receipts(study), study.trials
    assert receipt.kind == "ranking"
    assert {name: trial.params[name] for name in ("lr", "shift")} == {
        name: receipt.params[name] for name in ("lr", "shift")
    }
