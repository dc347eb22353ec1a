"""Objectives that report a learning curve, for several folders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, create_trial

import pellucid
from tests.helpers import STUDY, bowl

STEPS = 20


def curve(end: float, speed: float = 0.25, steps: int = STEPS) -> list[float]:
    """Losses that fall from about 3 above the end to it."""
    return [end + 3.0 * float(np.exp(-speed * step)) for step in range(1, steps + 1)]


def training(
    sign: float = 1.0, steps: int = STEPS, after: Callable[[Trial, int], None] = lambda trial, step: None
) -> Callable[[Trial], float]:
    """The bowl as a training: its loss falls to the bowl's value, and `should_prune` is asked after every step. `after`
    is called after every report."""

    def objective(trial: Trial) -> float:
        losses = curve(bowl(trial), 0.2 + 0.1 * trial.params["x"], steps)
        for step, loss in enumerate(losses, start=1):
            trial.report(sign * loss, step)
            after(trial, step)
            if step < steps and trial.should_prune():
                raise optuna.TrialPruned
        return sign * losses[-1]

    return objective


def stopped_at_random(trial: Trial) -> float:
    """The same, but every third trial is stopped after a few steps whatever its curve."""
    losses = curve(bowl(trial), 0.2 + 0.1 * trial.params["x"])
    length = 3 + trial.number % 7 if trial.number % 3 == 2 else STEPS
    for step, loss in enumerate(losses[:length], start=1):
        trial.report(loss, step)
    if length < STEPS:
        raise optuna.TrialPruned
    return losses[-1]


def pruned_study(n: int = 30, *, pruner: BasePruner | None = None, direction: str = "minimize", seed: int = 0) -> Study:
    """Random trials of `training`, which a pruner may stop; default: `CurvePruner()`."""
    study = optuna.create_study(
        study_name=STUDY,
        direction=direction,
        sampler=optuna.samplers.RandomSampler(seed=seed),
        pruner=pellucid.CurvePruner() if pruner is None else pruner,
    )
    study.optimize(training(1.0 if direction == "minimize" else -1.0), n_trials=n)
    return study


def complete(x: float, losses: list[float], value: float | None = None) -> FrozenTrial:
    """A complete trial with the parameter `x` and these reports, from step 1 on."""
    return create_trial(
        params={"x": x},
        distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)},
        value=losses[-1] if value is None else value,
        intermediate_values=dict(enumerate(losses, start=1)),
    )
