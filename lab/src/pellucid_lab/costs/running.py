"""Milliseconds of an ask in a study in which trials of dead workers still count as running.

Each of them has a value of its own in the model of the next proposal, until somebody ends it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from optuna.distributions import FloatDistribution

from pellucid_lab.methods.samplers import METHODS
from pellucid_lab.tables.grids import Grid, page

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

_ASKS = 15
_SPACE = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(5)}
_SAMPLERS = ("pellucid", "optuna-tpe")
# Who asked for the trials that never end: the sampler itself, or another one, which leaves no receipt.
OWN, OTHER = "the same sampler", "RandomSampler"


@dataclass(frozen=True)
class RunningTask:
    """A study with so many finished trials, and so many that will never end."""

    storage: str
    trials: int
    stale: int
    asked_by: str = OWN


@dataclass(frozen=True)
class RunningCost:
    """Median milliseconds of an ask, of processor time with one thread, the storage included, by sampler."""

    task: RunningTask
    ask: dict[str, float]


def cost_of_ask(task: RunningTask) -> RunningCost:
    return RunningCost(task, {name: _ask(task, name) for name in _SAMPLERS})


def _ask(task: RunningTask, name: str) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = METHODS[name].make_sampler(0, 10, _ASKS)
    with tempfile.TemporaryDirectory() as folder:
        url = None if task.storage == "memory" else f"sqlite:///{Path(folder) / 'study.db'}"
        study = optuna.create_study(storage=url, sampler=sampler)
        study.add_trials(_finished(task.trials))
        if task.asked_by == OTHER:
            study.sampler = optuna.samplers.RandomSampler(seed=0)
        for _ in range(task.stale):
            study.ask(dict(_SPACE))
        study.sampler = sampler
        times = []
        for _ in range(_ASKS):
            start = time.process_time()
            trial = study.ask(dict(_SPACE))
            times.append(1e3 * (time.process_time() - start))
            study.tell(trial, _value(np.array(list(trial.params.values()))))
    return median(times)


def _finished(trials: int) -> list[FrozenTrial]:
    from optuna.trial import create_trial

    rows = np.random.default_rng(0).random((trials, len(_SPACE)))
    return [
        create_trial(params=dict(zip(_SPACE, row.tolist(), strict=True)), distributions=dict(_SPACE), value=_value(row))
        for row in rows
    ]


def _value(row: np.ndarray) -> float:
    return float(((row - 0.3) ** 2).sum())


def markdown(costs: Sequence[RunningCost], provenance: str) -> str:
    none = {(cost.task.storage, cost.task.trials): cost for cost in costs if cost.task.stale == 0}
    rows = []
    for cost in costs:
        task = cost.task
        base = none.get((task.storage, task.trials))
        cells = [task.storage, str(task.trials), str(task.stale), task.asked_by if task.stale else ""]
        for name in _SAMPLERS:
            cells += [f"{cost.ask[name]:.1f}", "" if base is None else f"{cost.ask[name] / base.ask[name]:.2f}"]
        rows.append(tuple(cells))
    columns = (
        "storage",
        "finished",
        "still running",
        "asked for by",
        *(cell for name in _SAMPLERS for cell in (name, "ratio")),
    )
    notes = [
        f"Median of {_ASKS} asks of studies with {len(_SPACE)} parameters, milliseconds of processor time with one "
        "thread, the storage included. Trials that still run were asked for and never told, as if their workers had "
        "died; those that RandomSampler asked for have no receipt. *ratio*: to the same study without them.",
    ]
    return page("Asks beside trials that never end", notes, [Grid("", columns, tuple(rows))], provenance)
