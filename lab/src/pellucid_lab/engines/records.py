"""A study that workers share through an engine: what is asked for, and what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid.provenance import ModelReceipt

if TYPE_CHECKING:
    from optuna.study import Study

# What a trial takes besides asking and telling, in seconds, and its parameters.
SLEEP, N_PARAMS = 0.05, 5


@dataclass(frozen=True)
class EngineTask:
    """A study of a sampler, which so many workers of an engine share until it has so many trials."""

    engine: str
    sampler: str
    workers: int
    trials: int

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.engine, self.sampler, self.workers, self.trials)

    @property
    def label(self) -> str:
        return f"{self.engine}, {self.sampler}"


@dataclass(frozen=True)
class Work:
    """What the workers say: the configurations that they told a value of (`configuration`), exceptions that reached
    them, and the seconds that they took."""

    told: tuple[str, ...]
    exceptions: int
    seconds: float


@dataclass(frozen=True)
class EngineRun:
    """A study that was shared.

    told         trials that a worker told
    lost         those of them that are not complete in the storage
    stuck        trials that still run after the last worker has ended
    duplicates   trials with a configuration that an earlier one has
    exceptions   that reached a worker; and proposals that fell back to random ones
    seen         proposals that took trials of other workers into account, of all those of a model
    modelled     proposals of a model
    """

    engine: str
    sampler: str
    workers: int
    trials: int
    told: int
    lost: int
    stuck: int
    duplicates: int
    exceptions: int
    seen: int
    modelled: int
    seconds: float
    versions: dict[str, str]
    machine: str
    date: str
    command: str

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.engine, self.sampler, self.workers, self.trials)

    @property
    def rate(self) -> float:
        """Trials per second."""
        return self.told / self.seconds


def configuration(params: Mapping[str, Any]) -> str:
    """The parameters of a trial, in words that are equal if they are."""
    return json.dumps(params, sort_keys=True)


def record(task: EngineTask, work: Work, study: Study, stamped: dict[str, Any]) -> EngineRun:
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False)
    configurations = [configuration(trial.params) for trial in trials]
    complete = Counter(
        params for params, trial in zip(configurations, trials, strict=True) if trial.state == TrialState.COMPLETE
    )
    receipts = pellucid.receipts(study)
    modelled = [receipt for receipt in receipts if isinstance(receipt, ModelReceipt)]
    return EngineRun(
        engine=task.engine,
        sampler=task.sampler,
        workers=task.workers,
        trials=task.trials,
        told=len(work.told),
        lost=sum((Counter(work.told) - complete).values()),
        stuck=sum(trial.state == TrialState.RUNNING for trial in trials),
        duplicates=len(trials) - len(set(configurations)),
        exceptions=work.exceptions + sum(receipt.kind == "fallback" for receipt in receipts),
        seen=sum(bool(receipt.pending) for receipt in modelled),
        modelled=len(modelled),
        seconds=work.seconds,
        **stamped,
    )
