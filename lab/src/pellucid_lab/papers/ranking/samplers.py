"""Samplers that propose in the spaces of the test tasks, not on tables of them, as for a user of `RankingSampler`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.ranking import RankingSampler
from pellucid_lab.base import stable_seed
from pellucid_lab.papers.ranking.report import Regrets
from pellucid_lab.problems.tabular import Collection, TabularTask
from pellucid_lab.problems.yahpo import SCENARIOS, yahpo

if TYPE_CHECKING:
    from pellucid.models.ranking.ranker import Ranker

TRIALS = 60
# Trials after which the samplers are compared with the one that does not learn from other tasks.
TRIAL_MARKS = (1, 5, 10, 20, 40, 60)
# Samplers made from a seed, and those that learn from other tasks, made from a seed and a model.
_OTHERS: Mapping[str, Callable[[int], BaseSampler]] = {
    "RandomSampler": lambda seed: RandomSampler(seed=seed),
    "TPESampler": lambda seed: TPESampler(seed=seed),
    "BayesianSampler": lambda seed: BayesianSampler(seed=seed),
}
_LEARNED: Mapping[str, Callable[[int, Ranker], BaseSampler]] = {
    "RankingSampler": lambda seed, model: RankingSampler(model=model, seed=seed),
    "RankingSampler(hand_over=None)": lambda seed, model: RankingSampler(model=model, hand_over=None, seed=seed),
}
SAMPLERS = (*_OTHERS, *_LEARNED)


def tune(
    name: str, collection: Collection, seed: int, data: str | None, trials: int = TRIALS
) -> tuple[tuple[list[float], ...], float, float]:
    """Regret after each trial, one row per test task, and the seconds of learning and of tuning. Regret is relative to
    a task's table: it is below zero if a trial is better than all of the table."""
    before = time.perf_counter()
    model = _model(collection, seed) if name in _LEARNED else None
    trained = time.perf_counter()
    rows = []
    for task in collection.test:
        task_seed = stable_seed("transfer", collection.name, task.name, seed)
        sampler = _OTHERS[name](task_seed) if model is None else _LEARNED[name](task_seed, model)
        rows.append(_regret(task, collection, sampler, data, trials))
    return tuple(rows), trained - before, time.perf_counter() - trained


def _model(collection: Collection, seed: int) -> Ranker:
    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.ranker import Ranker
    from pellucid_lab.papers.ranking.ranking import meta_trained

    return Ranker.of(meta_trained(RankingEnsemble(collection.space), collection, seed))


def _regret(
    task: TabularTask, collection: Collection, sampler: BaseSampler, data: str | None, trials: int
) -> list[float]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = yahpo(SCENARIOS[collection.name], task.name, data)
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    study.optimize(lambda trial: problem.evaluate(problem.suggest(trial)), n_trials=trials)
    best = np.maximum.accumulate(np.array([trial.value for trial in study.trials], dtype=float))
    return [float(regret) for regret in (task.y.max() - best) / (task.y.max() - task.y.min())]


def against_best_known(regrets: Regrets) -> Regrets:
    """Regrets relative to the best known value: the best of a task's table and of all runs of that task."""
    task_of_run = np.array(regrets.tasks)
    lowest = np.zeros(len(task_of_run))
    for task in set(regrets.tasks):
        of_task = task_of_run == task
        lowest[of_task] = min(0.0, *(regret[of_task].min() for regret in regrets.by_method.values()))
    low = lowest[:, None]
    moved = {name: (regret - low) / (1.0 - low) for name, regret in regrets.by_method.items()}
    return replace(regrets, by_method=moved)
