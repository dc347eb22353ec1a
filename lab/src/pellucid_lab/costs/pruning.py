"""Milliseconds of `should_prune` and of an ask, for studies whose trials report learning curves.

A study of trials that are all known is made first; then trials run one by one and report their curves. CPU time of this
process with one thread, the storage included.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np
from optuna.distributions import FloatDistribution

from pellucid.samplers.bayesian import BayesianSampler
from pellucid.samplers.curve_pruner import CurvePruner
from pellucid_lab.tables.grids import Grid, page

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.study import Study
    from optuna.trial import FrozenTrial

STEPS = 50
# Trials that are timed, after those that the study has.
_TIMED = 12
_SPACE = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(7)}


@dataclass(frozen=True)
class PruningCost:
    """Milliseconds: of `should_prune` over all reports, of the first one after a trial has ended, and of a stop, which
    stores its reason; of the same with Optuna's MedianPruner; and of an ask, without and with curves."""

    trials: int
    mean: float
    first: float
    stop: float
    median_pruner: float
    ask_without: float
    ask_with: float


def cost_of(trials: int) -> PruningCost:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'study.db'}"
        goes_on, stops = _questions(f"{url}-curve", trials, CurvePruner())
        others, _ = _questions(f"{url}-median", trials, optuna.pruners.MedianPruner())
    flat = [cost for costs in goes_on for cost in costs]
    return PruningCost(
        trials=trials,
        mean=fmean(flat),
        first=median(costs[0] for costs in goes_on if costs),
        stop=median(stops) if stops else float("nan"),
        median_pruner=fmean(cost for costs in others for cost in costs),
        ask_without=_ask(trials, curves=False),
        ask_with=_ask(trials, curves=True),
    )


def _questions(url: str, trials: int, pruner: BasePruner) -> tuple[list[list[float]], list[float]]:
    """Of every trial, the milliseconds of the questions after which it went on; and those of stops."""
    import optuna
    from optuna.trial import TrialState

    study = optuna.create_study(storage=url, sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner)
    study.add_trials(_known(trials, pruned=False))
    goes_on: list[list[float]] = []
    stops: list[float] = []
    for _ in range(_TIMED):
        trial = study.ask(dict(_SPACE))
        losses = _curve(np.array(list(trial.params.values())), np.random.default_rng(trial.number))
        goes_on.append([])
        for step, loss in enumerate(losses, start=1):
            trial.report(float(loss), step)
            start = time.process_time()
            stopped = trial.should_prune()
            cost = 1e3 * (time.process_time() - start)
            (stops if stopped else goes_on[-1]).append(cost)
            if stopped:
                study.tell(trial, state=TrialState.PRUNED)
                break
        else:
            study.tell(trial, float(losses[-1]))
    return goes_on, stops


def _ask(trials: int, *, curves: bool) -> float:
    """The mean of asks of `BayesianSampler`; with curves, every second trial was stopped early."""
    import optuna

    study = optuna.create_study(sampler=BayesianSampler(seed=0))
    study.add_trials(_known(trials, pruned=curves))
    _asked(study)  # The first one has no earlier fit to continue from.
    return fmean(_asked(study) for _ in range(2 * _TIMED))


def _asked(study: Study) -> float:
    start = time.process_time()
    trial = study.ask(dict(_SPACE))
    cost = 1e3 * (time.process_time() - start)
    losses = _curve(np.array(list(trial.params.values())), np.random.default_rng(trial.number))
    for step, loss in enumerate(losses, start=1):
        trial.report(float(loss), step)
    study.tell(trial, float(losses[-1]))
    return cost


def _known(trials: int, *, pruned: bool) -> list[FrozenTrial]:
    from optuna.trial import TrialState, create_trial

    rng = np.random.default_rng(0)
    known = []
    for number in range(trials):
        x = rng.random(len(_SPACE))
        losses = _curve(x, rng)
        stopped = pruned and number % 2 == 1
        length = int(rng.integers(3, 30)) if stopped else STEPS
        known.append(
            create_trial(
                state=TrialState.PRUNED if stopped else TrialState.COMPLETE,
                params=dict(zip(_SPACE, x.tolist(), strict=True)),
                distributions=dict(_SPACE),
                value=None if stopped else float(losses[-1]),
                intermediate_values={step + 1: float(losses[step]) for step in range(length)},
            )
        )
    return known


def _curve(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Losses that fall to a quadratic function of the parameters, with a little noise."""
    steps = np.arange(1, STEPS + 1)
    level, speed = float(((x - 0.4) ** 2).sum()), 0.1 + 0.1 * float(x[0])
    return np.asarray(level + 2.0 * np.exp(-speed * steps) + 0.01 * rng.standard_normal(STEPS))


def markdown(costs: Sequence[PruningCost], provenance: str) -> str:
    rows = [
        (
            str(cost.trials),
            *(f"{ms:.1f}" for ms in (cost.mean, cost.first, cost.stop, cost.median_pruner)),
            *(f"{ms:.1f}" for ms in (cost.ask_without, cost.ask_with)),
            f"{cost.ask_with / cost.ask_without:.2f}",
        )
        for cost in costs
    ]
    columns = (
        "trials",
        "should_prune",
        "first of a trial",
        "a stop",
        "MedianPruner",
        "ask",
        "ask with curves",
        "ratio",
    )
    notes = [
        "CPU milliseconds with one thread. `should_prune` of `CurvePruner` in a study on SQLite whose trials have "
        f"{STEPS} reports each: the mean over all questions, the first question after another trial has ended (the "
        "model may learn again), and a stop, which stores its reason; most of each is the storage, as the mean of "
        "MedianPruner shows. An ask of `BayesianSampler` in memory, with 7 parameters: without stopped trials, and "
        "with every second one stopped.",
    ]
    return page("What a pruner costs", notes, [Grid("", columns, tuple(rows))], provenance)
