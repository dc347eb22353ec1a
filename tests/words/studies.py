"""Small studies of every kind in which everything that has a name has a hostile one."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial
from tests.words.recorder import name

import pellucid

LR, OPT, DEPTH, DROP, FIXED = (name(role) for role in ("lr", "opt", "depth", "drop", "fixed"))
SGD, ADAM, RMS = (name(role) for role in ("sgd", "adam", "rms"))
LOSS, COST, LIMIT, NOTE = (name(role) for role in ("loss", "cost", "limit", "note"))
LONELY = "lonely\ud800\x1b[2J"  # Storages in memory take it.


class Failure(Exception):
    """What an objective raises."""


def _drawn(trial: Trial) -> tuple[float, float]:
    lr = trial.suggest_float(LR, 1e-4, 1.0, log=True)
    depth = trial.suggest_int(DEPTH, 1, 9)
    choice = trial.suggest_categorical(OPT, [SGD, ADAM, RMS])
    trial.suggest_float(FIXED, 2.0, 2.0)
    loss = abs(math.log10(lr) + 2) + 0.1 * (depth - 4) ** 2
    if choice == SGD:
        loss += (trial.suggest_float(DROP, 0, 1) - 0.6) ** 2
    trial.set_user_attr(NOTE, NOTE)
    _constrain(trial, depth - 7.0)
    return loss, depth + 3.0 * lr


def _constrain(trial: Trial, value: float) -> None:
    trial.storage.set_trial_system_attr(trial._trial_id, f"constraints:{LIMIT}", value)


def one(trial: Trial) -> float:
    return _drawn(trial)[0]


def unfeasible(trial: Trial) -> float:
    value = one(trial)
    _constrain(trial, 1.0)
    return value


def simple(trial: Trial) -> float:
    """Without choices, conditions and constraints."""
    return (trial.suggest_float(LR, 0.0, 1.0) - 0.3) ** 2 + trial.suggest_float(DEPTH, 0.0, 1.0)


def two(trial: Trial) -> tuple[float, float]:
    return _drawn(trial)


def three(trial: Trial) -> tuple[float, float, float]:
    a, b = _drawn(trial)
    return a, b, a * b


def failing(trial: Trial) -> float:
    """Fails for one choice."""
    value = one(trial)
    if trial.params[OPT] == RMS:
        raise Failure(name("failure"))
    return value


def curve(trial: Trial) -> float:
    value = one(trial)
    for step in range(1, 9):
        trial.report(value + 1.0 / step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def new(role: str, *, directions: tuple[str, ...] = ("minimize",), named: bool = True, **options: object) -> Study:
    study = optuna.create_study(study_name=name(role), directions=list(directions), **options)  # type: ignore[arg-type]
    if named:
        study.set_metric_names([LOSS, COST, name("third")][: len(directions)])
    study.set_user_attr(NOTE, NOTE)
    return study


def run(study: Study, objective: Callable[[Trial], object], n_trials: int) -> Study:
    study.optimize(objective, n_trials=n_trials, catch=(Failure,))  # type: ignore[arg-type]
    return study


def ours(n_trials: int = 12) -> Study:
    return run(new("ours", sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=4)), one, n_trials)


def drawn(n_trials: int = 40) -> Study:
    return run(new("random", sampler=RandomSampler(seed=0)), failing, n_trials)


def with_two() -> Study:
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6)
    return run(new("two", directions=("minimize", "maximize"), sampler=sampler), two, 12)


def with_three() -> Study:
    study = new("three", directions=("minimize", "maximize", "minimize"), sampler=RandomSampler(seed=0))
    return run(study, three, 6)


def pruned() -> Study:
    study = new("pruned", sampler=RandomSampler(seed=0), pruner=pellucid.CurvePruner(keep=0.5))
    return run(study, curve, 14)


def constant() -> Study:
    study = new("constant", sampler=RandomSampler(seed=0))
    return run(study, lambda trial: 0.0 * one(trial), 30)


def infeasible() -> Study:
    return run(new("infeasible", sampler=RandomSampler(seed=0)), unfeasible, 12)


def broken() -> Study:
    """All trials have failed."""

    def objective(trial: Trial) -> float:
        one(trial)
        raise Failure(name("failure"))

    return run(new("broken", sampler=RandomSampler(seed=0)), objective, 4)


def died() -> Study:
    """With trials whose process may be gone."""
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=4)
    study = run(new("died", sampler=sampler), one, 6)
    began = datetime.now() - timedelta(days=9)
    trial = create_trial(
        state=TrialState.RUNNING,
        params={LR: 0.1, OPT: ADAM},
        distributions={LR: FloatDistribution(1e-4, 1.0, log=True), OPT: CategoricalDistribution([SGD, ADAM, RMS])},
    )
    trial.datetime_start = began
    study.add_trial(trial)
    return study


def moved() -> Study:
    """With trials that lie outside of the present range."""
    study = new("moved", sampler=RandomSampler(seed=0))
    run(study, lambda trial: trial.suggest_float(LR, 10.0, 90.0), 30)
    return run(study, lambda trial: trial.suggest_float(LR, 0.0, 1.0), 2)


def alike() -> Study:
    """Two objectives that want the same."""
    study = new("alike", directions=("minimize", "minimize"), sampler=RandomSampler(seed=0))

    def objective(trial: Trial) -> tuple[float, float]:
        x = trial.suggest_float(LR, 0.0, 1.0)
        return x, 2.0 * x

    return run(study, objective, 30)


def late() -> Study:
    """Only later trials report a constraint."""

    def objective(trial: Trial) -> float:
        x = trial.suggest_float(LR, 0.0, 1.0) + trial.suggest_float(DEPTH, 0.0, 1.0)
        if trial.number > 7:
            _constrain(trial, x - 1.0)
        return x

    return run(new("late", sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=3)), objective, 10)


def plain() -> Study:
    """Random trials without failures."""
    return run(new("plain", sampler=RandomSampler(seed=0)), simple, 30)


def few_of_two(n_trials: int, *, feasible: bool = True) -> Study:
    study = new(f"few of two {feasible}", directions=("minimize", "minimize"), sampler=RandomSampler(seed=0))

    def objective(trial: Trial) -> tuple[float, float]:
        values = _drawn(trial)
        _constrain(trial, -1.0 if feasible else 1.0)
        return values

    return run(study, objective, n_trials)


def fixed_of_two() -> Study:
    """Nothing varies."""
    study = new("fixed of two", directions=("minimize", "minimize"), sampler=RandomSampler(seed=0))
    return run(study, lambda trial: (trial.suggest_float(FIXED, 2.0, 2.0) + trial.number, 1.0 * trial.number), 12)


def of_five() -> Study:
    study = new("five", directions=("minimize",) * 5, named=False, sampler=RandomSampler(seed=0))
    return run(study, lambda trial: (trial.suggest_float(LR, 0.0, 1.0),) * 5, 2)


def lonely() -> Study:
    """With halves of surrogate pairs."""
    study = optuna.create_study(study_name=LONELY, sampler=RandomSampler(seed=0))
    study.set_metric_names([LONELY])

    def objective(trial: Trial) -> float:
        return trial.suggest_float(LONELY, 0, 1) + (trial.suggest_categorical("c", [LONELY, "b"]) == LONELY)

    return run(study, objective, 8)
