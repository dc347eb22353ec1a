"""What a trial asks of a relational storage."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import RDBStorage
from optuna.trial import Trial
from sqlalchemy import event

import pellucid

N_BEFORE, N_COUNTED = 14, 3


def statements(file: Path, sampler: BaseSampler, n_params: int) -> float:
    """SQL statements of a trial, after the start of a study."""

    def objective(trial: Trial) -> float:
        return sum(trial.suggest_float(f"x{i}", 0.0, 1.0) ** 2 for i in range(n_params))

    storage = RDBStorage(f"sqlite:///{file}")
    study = optuna.create_study(storage=storage, sampler=sampler)
    study.optimize(objective, n_trials=N_BEFORE)
    counted: list[str] = []
    event.listen(storage.engine, "before_cursor_execute", lambda *args: counted.append(args[2]))
    study.optimize(objective, n_trials=N_COUNTED)
    return len(counted) / N_COUNTED


def test_trials_that_never_end_cost_no_statement(tmp_path: Path) -> None:
    def count(stale: int) -> int:
        storage = RDBStorage(f"sqlite:///{tmp_path}/{stale}.db")
        study = optuna.create_study(storage=storage, sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=3))
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=5)
        for _ in range(stale):
            study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
        counted: list[str] = []
        event.listen(storage.engine, "before_cursor_execute", lambda *args: counted.append(args[2]))
        study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
        return len(counted)

    assert count(12) == count(0)


@pytest.mark.parametrize("n_params", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_a_trial_takes_no_more_statements_than_with_tpe(tmp_path: Path, n_params: int) -> None:
    ours = statements(tmp_path / "ours.db", pellucid.BayesianSampler(seed=0, n_startup_trials=8), n_params)
    tpe = statements(tmp_path / "tpe.db", TPESampler(seed=0), n_params)
    assert ours <= tpe
