"""The messages between `pellucid tune` and its workers: a line of JSON each, over the worker's stdin and stdout.

The parent sends a `Job`, and then `GO` for every trial; the worker answers with messages. When the parent's end is
closed, on purpose or because the parent is gone, a worker ends after its trial.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum

GO = "go"


class MessageKind(str, Enum):
    """READY: the worker waits for its first trial. BEGAN, ENDED: of a trial. UNUSABLE: the user's target cannot be run.
    STOPPED: the objective has called `study.stop()`. CRASHED: something other than the objective raised an error."""

    READY = "ready"
    BEGAN = "began"
    ENDED = "ended"
    UNUSABLE = "unusable"
    STOPPED = "stopped"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Job:
    """What a worker does.

    seed_key   keeps the random numbers of workers and of continued runs apart
    model      the file of a ranking model that proposes the first trials
    keep       of a pruner that judges curves; None: its default
    """

    target: str
    storage: str = field(repr=False)
    study: str
    sampler: str
    pruner: str
    n_trials: int
    seed: int | None
    seed_key: tuple[int, ...]
    model: str | None = None
    keep: float | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Job:
        data = json.loads(text)
        return Job(**{**data, "seed_key": tuple(data["seed_key"])})


@dataclass(frozen=True)
class Message:
    """From a worker. `text`: the error and its place, if something went wrong; `failed`: whether the trial that ended
    has failed."""

    kind: MessageKind
    trial: int | None = None
    failed: bool = False
    text: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Message:
        data = json.loads(text)
        return Message(**{**data, "kind": MessageKind(data["kind"])})
