"""Claims about distributions: search that is better than chance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.trial import Trial

import pellucid

pytestmark = pytest.mark.slow


def styblinski_tang(trial: Trial) -> float:
    x = np.array([trial.suggest_float(f"x{j}", -5.0, 5.0) for j in range(4)])
    return float(0.5 * (x**4 - 16.0 * x**2 + 5.0 * x).sum())


def mixed(trial: Trial) -> float:
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    depth = trial.suggest_int("depth", 1, 12)
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    value = {"a": 1.0, "b": 0.3, "c": 0.6}[kind] + 0.05 * abs(depth - 7) + (math.log10(rate) + 2.0) ** 2 / 4.0
    if kind == "b":
        value += (trial.suggest_float("extra", 0.0, 1.0) - 0.8) ** 2
    return value


@pytest.mark.parametrize("objective", [styblinski_tang, mixed])
def test_forty_model_based_trials_beat_random_search_in_almost_every_pair(objective: Callable[[Trial], float]) -> None:
    wins = 0
    for seed in range(12):
        best_values = []
        for sampler in (pellucid.BayesianSampler(seed=seed), optuna.samplers.RandomSampler(seed=seed)):
            study = optuna.create_study(sampler=sampler)
            study.optimize(objective, n_trials=50)
            best_values.append(study.best_value)
        wins += best_values[0] < best_values[1]
    assert wins >= 11


def test_noise_is_recognised_and_the_recommendation_is_not_fooled_by_a_lucky_trial() -> None:
    """Expected value of the recommended configuration against that of the best-looking trial, 20 noisy studies."""
    gaps = []
    for seed in range(20):
        rng = np.random.default_rng(seed)

        def objective(trial: Trial) -> float:
            x = trial.suggest_float("x", 0.0, 1.0)
            y = trial.suggest_float("y", 0.0, 1.0)
            return (x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.1 * rng.standard_normal()  # noqa: B023

        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        study.optimize(objective, n_trials=60)

        def truth(params: dict[str, float]) -> float:
            return (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2

        gaps.append(truth(study.best_params) - truth(pellucid.recommend(study).params))
    assert np.mean(gaps) > 0.0
    assert np.mean(np.array(gaps) >= 0.0) > 0.5
