"""Seconds of the pages of `pellucid report --serve`, and of explanations of its proposals, for a long study with two
objectives and a constraint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna

from pellucid import desirability_paths
from pellucid.answers.base import Overview
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.surfaces.page.gather import gather, gather_at_once
from pellucid.surfaces.page.page import page
from pellucid_lab.tables.grids import Grid
from pellucid_lab.tables.grids import page as page_of

# Proposals that `desirability_paths` explains: the last ones, whose models have seen most trials.
N_EXPLAINED = 50


@dataclass(frozen=True)
class LiveCost:
    """Seconds of the processor.

    first    until the page that has the trials;  whole  until the page that has everything, after it
    renewal  of the page after one more trial;  report  of a page that is computed by itself
    paths    `desirability_paths` of the last proposals, `explained` of them
    """

    trials: int
    first: float
    whole: float
    renewal: float
    report: float
    paths: float
    explained: int


def objective(trial: optuna.Trial) -> tuple[float, float]:
    """Accuracy and latency of a model that needs memory: five parameters, with a little noise."""
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    depth = trial.suggest_int("depth", 1, 12)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    noise = np.random.default_rng(trial.number).normal(size=3)
    error = 0.025 * (math.log10(rate) + 3.0) ** 2 + 0.2 * math.exp(-depth / 4) + 0.05 * (kind == "b")
    latency = 1.0 + 0.5 * depth + 3.0 * x + 2.0 * (kind == "c") + 0.02 * noise[0]
    trial.set_constraint("memory", 0.6 - x - 0.5 * y + 0.01 * noise[1])
    return float(1.0 - error - (x - 0.3) ** 2 - 0.3 * (y - 0.7) ** 2 + 0.005 * noise[2]), float(latency)


def study_of(trials: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        study_name=f"live-{trials}", directions=["maximize", "minimize"], sampler=BayesianSampler(seed=0)
    )
    study.set_metric_names(["accuracy", "latency"])
    study.optimize(objective, n_trials=trials)
    return study


def cost_of(trials: int) -> LiveCost:
    study, kept = study_of(trials), dict[Any, Any]()
    first = _seconds(lambda: _shown(gather_at_once(study)))
    whole = _seconds(lambda: _shown(gather(study, False, kept)))
    report = _seconds(lambda: _shown(gather(study, False)))
    study.optimize(objective, n_trials=1)
    renewal = _seconds(lambda: _shown(gather(study, False, kept)))
    explained = list(range(max(0, trials - N_EXPLAINED), trials))
    paths = _seconds(lambda: desirability_paths(study, explained, progress=False))
    return LiveCost(trials, first, whole, renewal, report, paths, len(explained))


def _shown(answers: Overview) -> None:
    page(answers, live=1)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def markdown(costs: Sequence[LiveCost], provenance: str) -> str:
    rows = [
        (
            str(cost.trials),
            *(f"{seconds:.1f}" for seconds in (cost.first, cost.whole, cost.renewal, cost.report)),
            f"{cost.paths:.1f} ({cost.explained})",
        )
        for cost in costs
    ]
    head = ("trials", "first page", "whole page", "renewal", "report", "desirability_paths (trials)")
    notes = [
        "Seconds of the processor, one thread, for a study of `BayesianSampler` with five parameters, two objectives "
        "and one constraint; making the study is not counted. The first page of `pellucid report --serve` has the "
        "trials and includes loading Plotly; the whole page follows it. A renewal is the page after one more trial. A "
        "report has nothing to begin from."
    ]
    return page_of("What a live page costs", notes, [Grid("", head, tuple(rows))], provenance)
