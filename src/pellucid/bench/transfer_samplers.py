"""Samplers in the spaces of the test tasks themselves, not on tables of them: what a user of `RankingSampler` gets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.bench.base import stable_seed
from pellucid.bench.tabular import Collection, Task
from pellucid.bench.transfer_report import Regrets
from pellucid.bench.yahpo import SCENARIOS, yahpo

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from pellucid.surrogates.ranking.ranker import Ranker

TRIALS = 60


@dataclass(frozen=True)
class Tuned:
    """Regret after each trial, one row per test task, relative to that task's table: below zero where a trial is better
    than all of the table."""

    regret: tuple[list[float], ...]
    training_s: float
    search_s: float


@dataclass(frozen=True)
class Contestant:
    """`make(model, seed)`; the model is None for one that has `learned` nothing."""

    make: Callable[[Any, int], BaseSampler]
    learned: bool = False


def _ranking(model: Ranker, seed: int) -> BaseSampler:
    from pellucid.samplers.ranking import RankingSampler

    return RankingSampler(model=model, seed=seed)


def _never_hands_over(model: Ranker, seed: int) -> BaseSampler:
    from pellucid.samplers.ranking import RankingSampler

    return RankingSampler(model=model, hand_over=None, seed=seed)


def _bayesian(_: None, seed: int) -> BaseSampler:
    from pellucid.samplers.bayesian import BayesianSampler

    return BayesianSampler(seed=seed)


def _tpe(_: None, seed: int) -> BaseSampler:
    from optuna.samplers import TPESampler

    return TPESampler(seed=seed)


def _random(_: None, seed: int) -> BaseSampler:
    from optuna.samplers import RandomSampler

    return RandomSampler(seed=seed)


SAMPLERS: Mapping[str, Contestant] = {
    "RandomSampler": Contestant(_random),
    "TPESampler": Contestant(_tpe),
    "BayesianSampler": Contestant(_bayesian),
    "RankingSampler": Contestant(_ranking, learned=True),
    "RankingSampler(hand_over=None)": Contestant(_never_hands_over, learned=True),
}


def tune(name: str, collection: Collection, seed: int, data: str | None, trials: int = TRIALS) -> Tuned:
    contestant, before, model = SAMPLERS[name], time.perf_counter(), None
    if contestant.learned:
        from pellucid.bench.transfer_ranking import meta_trained
        from pellucid.surrogates.ranking.ensemble import RankingEnsemble
        from pellucid.surrogates.ranking.ranker import Ranker

        model = Ranker.of(meta_trained(RankingEnsemble(collection.space), collection, seed))
    trained = time.perf_counter()
    rows = []
    for task in collection.test:
        sampler = contestant.make(model, stable_seed("transfer", collection.name, task.name, seed))
        rows.append(_regret(task, collection, sampler, data, trials))
    return Tuned(tuple(rows), trained - before, time.perf_counter() - trained)


def _regret(task: Task, collection: Collection, sampler: BaseSampler, data: str | None, trials: int) -> list[float]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = yahpo(SCENARIOS[collection.name], task.name, data)
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    study.optimize(lambda trial: problem.evaluate(problem.suggest(trial)), n_trials=trials)
    best = np.maximum.accumulate(np.array([trial.value for trial in study.trials], dtype=float))
    return [float(one) for one in (task.y.max() - best) / (task.y.max() - task.y.min())]


def against_best_known(regrets: Regrets) -> Regrets:
    """The best known is the best of a task's table and of all runs of that task."""
    of_run = np.array(regrets.tasks)
    lowest = np.zeros(len(of_run))
    for task in set(regrets.tasks):
        mine = of_run == task
        lowest[mine] = min(0.0, *(regret[mine].min() for regret in regrets.by_method.values()))
    low = lowest[:, None]
    moved = {name: (regret - low) / (1.0 - low) for name, regret in regrets.by_method.items()}
    return replace(regrets, by_method=moved)
