"""Golden studies of several objectives, of constraints, and of both with trials that fail or still run.

Noise depends on the number of a trial and not on its value: a last digit that another processor rounds otherwise must
not become another trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import optuna
from optuna.study import Study
from optuna.trial import Trial

import pellucid

Values = tuple[float, ...]
STARTUP = 5
# How many of the last trials of a study with pending trials are left running.
PENDING = 2


def bowls(trial: Trial) -> Values:
    """Two minima at different places."""
    x, y = (trial.suggest_float(name, -2.0, 2.0) for name in ("x", "y"))
    return (x - 0.8) ** 2 + 0.5 * (y + 0.2 * x) ** 2, (x + 0.6) ** 2 + 0.3 * (y - 0.5) ** 2


def noisy_bowls(trial: Trial) -> Values:
    first, second = bowls(trial)
    return first + 0.2 * math.sin(37.0 * trial.number), second + 0.2 * math.cos(23.0 * trial.number)


def accuracy_and_cost(trial: Trial) -> Values:
    """To be maximised and minimised, with a choice, and numbers on a log scale and with a step."""
    lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
    units = trial.suggest_int("units", 8, 256, log=True)
    rate = trial.suggest_float("rate", 0.0, 0.5, step=0.1)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", "rms"])
    loss = (math.log10(lr) + 2.5) ** 2 + 0.2 * (math.log2(units) - 6.5) ** 2 + 0.3 * rate
    return 0.95 - 0.02 * loss - {"sgd": 0.03, "adam": 0.0, "rms": 0.01}[optimizer], 0.1 * units + 2.0 * rate


def branches(trial: Trial) -> Values:
    """A choice with parameters of its own; one branch has none."""
    model = trial.suggest_categorical("model", ["svc", "trees", "linear"])
    if model == "svc":
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        return 0.2 + 0.05 * (math.log10(C) - 1) ** 2, 4.0 + 0.7 * math.log10(C)
    if model == "trees":
        depth = trial.suggest_int("max_depth", 1, 12)
        return 0.3 + 0.02 * abs(depth - 9), 0.3 * depth
    return 0.6 + 0.01 * (trial.number % 7), 0.2  # Of two equal trials, the last bits would decide which is in front.


def error_cost_and_size(trial: Trial) -> Values:
    first, second = bowls(trial)
    return first, second, 1.0 + abs(trial.params["x"]) + 0.3 * trial.suggest_int("depth", 1, 5)


def fragile(trial: Trial) -> Values:
    """Fails below a value of x."""
    first, second = bowls(trial)
    return (math.nan if trial.params["x"] < -0.5 else first), second


def limited(trial: Trial) -> float:
    """One constraint."""
    first, second = bowls(trial)
    trial.set_constraint("memory", second - 2.0)
    return first


def twice_limited(trial: Trial) -> float:
    """Two constraints, with a choice and numbers of several kinds; to be maximised."""
    accuracy, cost = accuracy_and_cost(trial)
    trial.set_constraint("memory", cost - 8.0)
    trial.set_constraint("time", 0.3 - trial.params["rate"] + 0.05 * abs(math.log10(trial.params["lr"]) + 3.0))
    return accuracy


def limited_and_fragile(trial: Trial) -> float:
    value = limited(trial)
    return math.nan if trial.params["x"] < 0.0 else value


def limited_bowls(trial: Trial) -> Values:
    """Two objectives and a constraint; fails below a value of x."""
    values = fragile(trial)
    trial.set_constraint("memory", 0.5 - trial.params["y"])
    return values


def made(
    objective: Callable[[Trial], float | Values],
    n: int,
    directions: Sequence[str] = ("minimize", "minimize"),
    *,
    names: Sequence[str] = (),
    pending: int = 0,
    sampler: optuna.samplers.BaseSampler | None = None,
) -> Study:
    """A study with n finished trials; `pending` more are asked for and never told, and one that is told comes last."""
    sampler = sampler or pellucid.BayesianSampler(seed=3, n_startup_trials=STARTUP)
    study = optuna.create_study(directions=list(directions), sampler=sampler)
    if names:
        study.set_metric_names(list(names))
    study.optimize(objective, n_trials=n)
    for _ in range(pending):
        objective(study.ask())
    if pending:
        study.optimize(objective, n_trials=1)
    return study


ONE, THREE = ("minimize",), ("minimize",) * 3
GAIN = ("maximize", "minimize")
SEVERAL: Mapping[str, Callable[[], Study]] = {
    "two objectives": lambda: made(bowls, 21),
    "two noisy objectives": lambda: made(noisy_bowls, 21),
    "gain and cost": lambda: made(accuracy_and_cost, 24, GAIN, names=("accuracy", "cost")),
    "two objectives of branches": lambda: made(branches, 26, names=("error", "seconds")),
    "three objectives": lambda: made(error_cost_and_size, 14, THREE),
    "two objectives, failures": lambda: made(fragile, 24, pending=PENDING),
    "two objectives, constraint": lambda: made(limited_bowls, 22, names=("left", "right"), pending=PENDING),
    # Short: beside its optimum, a chance of being feasible follows from the last digits of a proposal.
    "constraint": lambda: made(limited, 14, ONE),
    "two constraints": lambda: made(twice_limited, 24, ("maximize",), names=("accuracy",)),
    "constraint, failures": lambda: made(limited_and_fragile, 26, ONE, pending=PENDING),
    "two objectives of tpe": lambda: made(fragile, 40, sampler=optuna.samplers.TPESampler(seed=4, n_startup_trials=25)),
}
