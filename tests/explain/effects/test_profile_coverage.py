"""Bands of profiles on a curved valley, where the model is surer of what is left than it should be."""

from __future__ import annotations

import numpy as np
import optuna
from scipy.optimize import minimize

import pellucid
from pellucid.numerics import Array

LOW, HIGH, D = -1.0, 2.0, 4


def rosenbrock(x: Array) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def reached(column: int, value: float) -> float:
    """The smallest value with one parameter held: local searches from several starts."""
    free = [j for j in range(D) if j != column]

    def held(z: Array) -> float:
        x = np.full(D, value)
        x[free] = z
        return rosenbrock(x)

    starts = ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-0.5, 0.3, 0.1], [1.0, 1.3, 1.7], [-0.9, 0.9, 0.8])
    bounds = [(LOW, HIGH)] * len(free)
    return min(float(minimize(held, start, bounds=bounds, method="L-BFGS-B").fun) for start in starts)


def test_most_of_the_truth_is_inside_bands_after_our_own_search() -> None:
    """Clipped to the recommendation and the room of the verdict, bands held 68 of these 192 points; without, 170. The
    search depends on the processor a little, so less is asked for."""
    held = []
    for seed in (10, 11):
        study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=seed))
        study.optimize(
            lambda trial: rosenbrock(np.array([trial.suggest_float(f"x{i}", LOW, HIGH) for i in range(D)])), n_trials=60
        )
        for column in range(D):
            profile = pellucid.profile_effect(study, f"x{column}")
            truth = [reached(column, value) for value in profile.values]
            held += [low <= y <= high for low, y, high in zip(profile.low, truth, profile.high, strict=True)]
    assert np.mean(held) > 0.6
