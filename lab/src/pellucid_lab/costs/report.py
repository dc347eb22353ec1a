"""Seconds and megabytes of a report, for studies of two samplers and several sizes."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna

from pellucid.samplers.bayesian import BayesianSampler
from pellucid.surfaces.page import report
from pellucid_lab.tables.grids import Grid, page

# Of the studies, whose own parameters are this many.
FEWEST_PARAMS = 5
# A sampler that learns takes long to make a larger study, and its report costs as much as that of a random one.
_MOST_PROPOSED = 1000


def samplers_of(trials: int) -> tuple[str, ...]:
    """Whose studies of this size are reported."""
    return ("random", "pellucid") if trials <= _MOST_PROPOSED else ("random",)


@dataclass(frozen=True)
class ReportCost:
    sampler: str
    trials: int
    params: int
    seconds: float
    megabytes: float


def study_of(sampler: str, trials: int, params: int) -> optuna.Study:
    """A study of a noisy function of continuous, integer, categorical and conditional parameters."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    chosen_sampler = BayesianSampler(seed=0) if sampler == "pellucid" else optuna.samplers.RandomSampler(seed=0)
    rng = np.random.default_rng(0)

    def objective(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("learning_rate", 1e-5, 1e-1, log=True)
        kind = trial.suggest_categorical("optimizer", ["adam", "sgd", "rmsprop"])
        units = trial.suggest_int("n_units", 4, 512, log=True)
        momentum = trial.suggest_float("momentum", 0.5, 0.99) if kind == "sgd" else 0.9
        x = [trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(params - 4)]
        value = 0.3 * (math.log10(rate) + 3.0) ** 2 + 0.2 * (kind == "sgd") + 0.05 * abs(math.log(units / 64))
        return value + abs(momentum - 0.9) + sum((x_j - 0.3) ** 2 for x_j in x[:4]) + 0.02 * float(rng.normal())

    study = optuna.create_study(study_name=f"{sampler}-{trials}", sampler=chosen_sampler)
    study.optimize(objective, n_trials=trials)
    return study


def cost_of(sampler: str, trials: int, params: int) -> ReportCost:
    study = study_of(sampler, trials, params)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        path = report(study, Path(folder) / "report.html", progress=False)
        return ReportCost(sampler, trials, params, time.perf_counter() - start, path.stat().st_size / 1e6)


def markdown(costs: Sequence[ReportCost], provenance: str) -> str:
    rows = [
        (cost.sampler, str(cost.trials), str(cost.params), f"{cost.seconds:.1f}", f"{cost.megabytes:.2f}")
        for cost in costs
    ]
    grid = Grid("", ("sampler", "trials", "parameters", "s", "MB"), tuple(rows))
    return page("What a report costs", ["One thread; making the study is not counted."], [grid], provenance)
