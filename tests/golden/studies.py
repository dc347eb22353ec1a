"""The studies of the golden file: every kind of sampler, space and trial that pellucid has to handle.

Each function runs one study in memory, with fixed seeds. They use only names that stay the same when the package is
reorganised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import optuna
from optuna.study import Study
from optuna.trial import Trial
from tests.golden.several import SEVERAL

import pellucid
from pellucid.search import acquisition

STARTUP = 5


def flat(trial: Trial) -> float:
    x, y, z = (trial.suggest_float(name, -2.0, 2.0) for name in ("x", "y", "z"))
    return (x - 0.3) ** 2 + 2.0 * (y + 0.2 * x) ** 2 + 0.1 * math.sin(3.0 * z)


def mixed(trial: Trial) -> float:
    lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 9)
    units = trial.suggest_int("units", 8, 256, log=True)
    rate = trial.suggest_float("rate", 0.0, 0.5, step=0.1)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", "rms"])
    size = trial.suggest_categorical("size", [16, 32, 64, 128])
    loss = (math.log10(lr) + 2.5) ** 2 + 0.1 * (depth - 4) ** 2 + 0.2 * abs(math.log2(units) - 5) + rate
    return loss + {"sgd": 0.6, "adam": 0.0, "rms": 0.3}[optimizer] + 0.002 * size


def conditional(trial: Trial) -> float:
    model = trial.suggest_categorical("model", ["svc", "trees", "linear"])
    if model == "svc":
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        gamma = trial.suggest_float("gamma", 1e-4, 1.0, log=True)
        return 0.2 + 0.05 * (math.log10(C) - 1) ** 2 + 0.1 * (math.log10(gamma) + 2) ** 2
    if model == "trees":
        return 0.3 + 0.02 * abs(trial.suggest_int("max_depth", 1, 12) - 7) + 0.1 * trial.suggest_float("features", 0, 1)
    return 0.6


def noisy(trial: Trial) -> float:
    value = flat(trial)
    trial.set_user_attr("pellucid:noise_variance", 0.01)
    return value + 0.1 * math.sin(1e4 * value)


def failing(trial: Trial) -> float:
    value = flat(trial)
    if trial.params["x"] > 0.8 and trial.params["y"] > -0.5:
        return math.nan
    return value


def pruned(trial: Trial) -> float:
    value = flat(trial)
    for step in range(3):
        trial.report(value + 1.0 / (step + 1), step)
    if value > 3.0 and trial.number % 2:
        raise optuna.TrialPruned
    return value


def training(trial: Trial) -> float:
    """Twelve steps on the way to the value."""
    value = flat(trial)
    for step in range(1, 13):
        trial.report(value + 3.0 * math.exp(-0.3 * step), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def trained() -> Study:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0), pruner=pellucid.CurvePruner(keep=0.5))
    study.optimize(training, n_trials=24)
    return study


def accuracy(trial: Trial) -> float:
    return 0.95 - 0.02 * mixed(trial)


def small(trial: Trial) -> float:
    """Few discrete configurations, all of which are tried in the end."""
    a = trial.suggest_int("a", 0, 3)
    b = trial.suggest_categorical("b", ["u", "v", "w"])
    return float(a * a - 2 * a + {"u": 0.0, "v": 0.7, "w": 0.2}[b])


def task(shift: float) -> Callable[[Trial], float]:
    """One of a family of tasks that resemble each other."""

    def objective(trial: Trial) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
        kind = trial.suggest_categorical("kind", ["adam", "sgd"])
        loss = (math.log10(lr) + 1.5 + 0.3 * shift) ** 2
        return loss + (0.6 if kind == "adam" else 2.0 * (trial.suggest_float("momentum", 0.0, 1.0) - 0.8) ** 2)

    return objective


def run(objective: Callable[[Trial], float], n: int, sampler: Any, direction: str = "minimize") -> Study:
    study = optuna.create_study(direction=direction, sampler=sampler)
    study.optimize(objective, n_trials=n)
    return study


def bayesian(objective: Callable[[Trial], float], n: int, direction: str = "minimize", **options: Any) -> Study:
    sampler = pellucid.BayesianSampler(**{"seed": 3, "n_startup_trials": STARTUP, **options})
    return run(objective, n, sampler, direction)


def with_pending_trials() -> Study:
    """Trials that are still running when the next ones are proposed."""
    study = bayesian(mixed, 12)
    open_trials = []
    for _ in range(4):
        trial = study.ask()
        mixed(trial)
        open_trials.append(trial)
    for trial in open_trials[:2]:
        study.tell(trial, mixed(trial))
    trial = study.ask()
    study.tell(trial, mixed(trial))
    return study


def with_changed_ranges() -> Study:
    study = bayesian(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.8) ** 2, 9)
    study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 2.0) - 1.2) ** 2, n_trials=5)
    return study


def in_two_steps() -> Study:
    sampler = pellucid.TwoStepSampler(
        seed=2, n_random=40, n_step1=5, goal="accuracy+speed", cheap={"units": "low", "depth": "low"}
    )
    return run(accuracy, 50, sampler, "maximize")


def ranked_alone() -> Study:
    return run(task(0.3), 14, pellucid.RankingSampler(seed=1, fallback=startup_only()))


def ranked_by_earlier_studies() -> Study:
    storage = optuna.storages.InMemoryStorage()
    names = [f"earlier {i}" for i in range(4)]
    for i, name in enumerate(names):
        sampler = optuna.samplers.RandomSampler(seed=i)
        earlier = optuna.create_study(study_name=name, storage=storage, sampler=sampler)
        earlier.optimize(task(0.25 * i - 0.5), n_trials=15)
    sampler = pellucid.RankingSampler.from_studies(
        storage, names, seed=0, hand_over=14, fallback=startup_only(), progress=False
    )
    return run(task(0.3), 17, sampler)


def startup_only() -> pellucid.BayesianSampler:
    return pellucid.BayesianSampler(seed=1, n_startup_trials=6)


INTERLEAVE = pellucid.Interleave
STUDIES: Mapping[str, Callable[[], Study]] = {
    "flat": lambda: bayesian(flat, 30),
    "mixed": lambda: bayesian(mixed, 26),
    "conditional": lambda: bayesian(conditional, 30),
    "noisy": lambda: bayesian(noisy, 24),
    "failures": lambda: bayesian(failing, 30, avoid_failures=True),
    "pruned": lambda: bayesian(pruned, 30),
    "curves": trained,
    "maximise": lambda: bayesian(accuracy, 26, "maximize", deterministic_objective=True),
    "small": lambda: bayesian(small, 14),
    "pending": with_pending_trials,
    "changed ranges": with_changed_ranges,
    "ei": lambda: bayesian(flat, 16, acquisition=acquisition.EI()),
    "pi": lambda: bayesian(flat, 16, acquisition=acquisition.PI(0.01)),
    "wei": lambda: bayesian(flat, 16, acquisition=acquisition.WEI(0.7, guard=True)),
    "variance": lambda: bayesian(mixed, 16, acquisition=acquisition.PosteriorVariance()),
    "information": lambda: bayesian(flat, 16, acquisition=acquisition.InformationGain(["x", ("x", "y")])),
    "information path": lambda: bayesian(flat, 12, acquisition=acquisition.InformationGain("x", "path")),
    "sawei": lambda: bayesian(mixed, 24, acquisition=acquisition.SAWEI(window=3)),
    "steps": lambda: bayesian(flat, 14, acquisition=acquisition.Steps(12)),
    "switch": lambda: bayesian(flat, 14, acquisition=acquisition.Switch(8)),
    "pulse": lambda: bayesian(flat, 14, acquisition=acquisition.Pulse()),
    "portfolio": lambda: bayesian(flat, 14, acquisition=acquisition.Portfolio()),
    "interleave": lambda: bayesian(flat, 18, interleave=INTERLEAVE(["x", "y"], every=2)),
    "interleave until": lambda: bayesian(mixed, 18, interleave=INTERLEAVE(["lr"], every=3, until=0.8)),
    "interleave multiply": lambda: bayesian(flat, 14, interleave=INTERLEAVE(mode="multiply")),
    "radial": lambda: bayesian(flat, 14, surrogate=pellucid.surrogates.GaussianProcess(kernel="matern52-radial")),
    "two steps": in_two_steps,
    "ranking": ranked_by_earlier_studies,
    "ranking alone": ranked_alone,
    "tpe": lambda: run(conditional, 45, optuna.samplers.TPESampler(seed=4)),
    "random": lambda: run(failing, 90, optuna.samplers.RandomSampler(seed=5)),
    "first trial": lambda: bayesian(flat, 1),
    **SEVERAL,
}
