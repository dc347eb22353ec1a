"""Objectives in the spaces of Optuna's suites, for samplers that do not run those suites in full."""

from __future__ import annotations

import math
from collections.abc import Callable

from optuna.study import Study
from optuna.trial import Trial, create_trial

Objective = Callable[[Trial], float]


def mixed(trial: Trial) -> float:
    x = trial.suggest_float("x", 1e-7, 10, log=True)
    y = trial.suggest_float("y", 0, 10, step=0.5)
    n = trial.suggest_int("n", 1, 10, log=True)
    return x + y + n + trial.suggest_categorical("c", [0, 1, 2])


def conditional(trial: Trial) -> float:
    if trial.suggest_categorical("x", [True, False]):
        return trial.suggest_float("y", 0, 1)
    return trial.suggest_float("z", 0, 1)


def moving_range(trial: Trial) -> float:
    low, high = (0, 10) if trial.number < 6 else (20, 30)
    return trial.suggest_float("x", low, high) + trial.suggest_int("y", low, high)


def sometimes_nan(trial: Trial) -> float:
    value = mixed(trial)
    return math.nan if trial.number in (2, 5) else value


# One parameter alone, of every kind.
SINGLE: dict[str, Objective] = {
    "float": lambda trial: trial.suggest_float("x", -1, 1),
    "log float": lambda trial: trial.suggest_float("x", 1e-7, 1, log=True),
    "stepped float": lambda trial: trial.suggest_float("x", -10, 10, step=0.1),
    "int": lambda trial: trial.suggest_int("x", -10, 10),
    "log int": lambda trial: trial.suggest_int("x", 1, 100, log=True),
    "stepped int": lambda trial: trial.suggest_int("x", -9, 9, step=2),
    "choice": lambda trial: 1.0 if trial.suggest_categorical("x", [1, "a", None]) is None else 2.0,
}


def assert_values_are_valid(study: Study) -> None:
    """`create_trial` raises ValueError if a value lies outside its distribution."""
    for trial in study.trials:
        create_trial(params=trial.params, distributions=trial.distributions, value=0.0)
        for name, value in trial.params.items():
            distribution = trial.distributions[name]
            step = getattr(distribution, "step", None)
            if step:
                steps = (value - distribution.low) / step
                assert abs(steps - round(steps)) < 1e-8, (name, value)
