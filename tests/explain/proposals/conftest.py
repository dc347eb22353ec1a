"""Studies that tests of proposals read and do not change."""

from __future__ import annotations

import optuna
import pytest
from optuna.samplers import TPESampler
from optuna.study import Study
from tests.explain.proposals.studies import run, tilted


@pytest.fixture(scope="session")
def study() -> Study:
    return run()


@pytest.fixture(scope="session")
def tpe() -> Study:
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(tilted, n_trials=25)
    return study
