"""What `pellucid tune` and its workers say to each other: one line of JSON each, over the worker's stdin and stdout.

The parent sends a `Job` and then `GO` for every trial; the worker answers with messages. When the parent's end of the
line is closed, whether on purpose or because it is gone, a worker ends after its trial.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import Enum

GO = "go"


class Kind(str, Enum):
    """READY: waits for its first trial. BEGAN, ENDED: a trial. UNUSABLE: the user's target cannot be run. STOPPED: the
    objective has called `study.stop()`. LOST: something else than the objective went wrong."""

    READY = "ready"
    BEGAN = "began"
    ENDED = "ended"
    UNUSABLE = "unusable"
    STOPPED = "stopped"
    LOST = "lost"


@dataclass(frozen=True)
class Job:
    """What a worker has to do; `share` tells apart the random numbers of workers and of resumed runs. `model`: the file
    of a ranking model that proposes first."""

    target: str
    storage: str
    study: str
    sampler: str
    n_trials: int
    seed: int | None
    share: tuple[int, ...]
    model: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Job:
        data = json.loads(text)
        return Job(**{**data, "share": tuple(data["share"])})


@dataclass(frozen=True)
class Message:
    """From a worker. `failed` and `text` (the error, and where) belong to ENDED, `text` alone to what went wrong."""

    kind: Kind
    trial: int | None = None
    failed: bool = False
    text: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Message:
        data = json.loads(text)
        return Message(**{**data, "kind": Kind(data["kind"])})
