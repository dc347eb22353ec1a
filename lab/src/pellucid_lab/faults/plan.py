"""The faults of a campaign, in tasks that take seconds, so that Ctrl-C loses little."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.faults.base import FaultRecord, FaultTask, Tally, recorded
from pellucid_lab.faults.clocks import JUMPS, run_clocks
from pellucid_lab.faults.disks import run_disks
from pellucid_lab.faults.distributions import ODD, run_distributions
from pellucid_lab.faults.forks import run_forks
from pellucid_lab.faults.homes import empty_folder
from pellucid_lab.faults.kills import run_parent_kills, run_worker_kills
from pellucid_lab.faults.models import run_models
from pellucid_lab.faults.names import hostile_names, run_names
from pellucid_lab.faults.outages import run_locked, run_readonly, run_restarts
from pellucid_lab.faults.receipts import run_receipts
from pellucid_lab.faults.statements import run_statements
from pellucid_lab.faults.studies import prepared

RUNS: dict[str, Callable[[FaultTask], Tally]] = {
    "statements": run_statements,
    "kills": run_worker_kills,
    "parents": run_parent_kills,
    "forks": run_forks,
    "disks": run_disks,
    "readonly": run_readonly,
    "locked": run_locked,
    "restarts": run_restarts,
    "clocks": run_clocks,
    "receipts": run_receipts,
    "models": run_models,
    "names": run_names,
    "distributions": run_distributions,
}


@dataclass(frozen=True)
class Sizes:
    """How many of the faults that are drawn at random. One kill in twenty is of the parent of `pellucid tune`."""

    kills: int = 1000
    receipts: int = 100_000
    models: int = 20_000


def planned(kinds: Sequence[str], sizes: Sizes, command: str) -> list[FaultTask]:
    """The tasks of these kinds. Raises Mistake for a kind that does not exist."""
    unknown = [kind for kind in kinds if kind not in RUNS]
    if unknown:
        raise Mistake(f"--kinds takes some of {', '.join(RUNS)}; got `{unknown[0]}`.")
    parents = sizes.kills // 20
    workers = sizes.kills - parents
    with empty_folder() as folder:
        n_names = len(hostile_names(folder))
    tasks = {
        # Ten tasks, each with every tenth statement.
        "statements": [(case, chunk, 10) for case in ("sqlite", "postgresql") for chunk in range(10)],
        "kills": [
            *_drawn("sqlite", workers * 4 // 9, 25),
            *_drawn("postgresql", workers * 7 // 18, 25),
            *_drawn("journal", workers - workers * 4 // 9 - workers * 7 // 18, 25),
        ],
        "parents": [*_drawn("sqlite", parents - parents // 2, 10), *_drawn("postgresql", parents // 2, 10)],
        "forks": [*_drawn("bayesian", 80, 20), *_drawn("ranking", 20, 20)],
        "disks": [*_drawn("sqlite", 20, 5), *_drawn("journal", 20, 5)],
        "readonly": [("sqlite", 0, 6), ("postgresql", 0, 3), ("journal", 0, 3)],
        "locked": [("sqlite", 0, 12), ("postgresql", 0, 8)],
        "restarts": [("postgresql", chunk, 10) for chunk in range(2)],
        "clocks": [("sqlite", chunk, 6) for chunk in range(0, 2 * len(JUMPS), 6)],
        "receipts": [*_drawn("bytes", sizes.receipts // 2, 1000), *_drawn("structure", -(-sizes.receipts // 2), 1000)],
        "models": [
            *_drawn("bytes", sizes.models * 2 // 5, 1000),
            *_drawn("structure", sizes.models * 2 // 5, 1000),
            *_drawn("foreign", sizes.models - 2 * (sizes.models * 2 // 5), 1000),
        ],
        "names": [("sqlite", chunk, 6) for chunk in range(0, n_names, 6)],
        "distributions": [("sqlite", chunk, 5) for chunk in range(0, len(ODD), 5)],
    }
    return [FaultTask(kind, *which, command) for kind in kinds for which in tasks[kind]]


def _drawn(case: str, total: int, most: int) -> list[tuple[str, int, int]]:
    """Faults that are drawn at random, in tasks of at most so many."""
    return [(case, start, min(most, total - start)) for start in range(0, total, most)]


def run_fault_task(task: FaultTask) -> FaultRecord:
    prepared()
    start = time.perf_counter()
    with _unwound_when_ended():
        tally = RUNS[task.kind](task)
    return recorded(task, tally, time.perf_counter() - start)


@contextmanager
def _unwound_when_ended() -> Iterator[None]:
    """SIGTERM, by which the runner ends its workers, stops the servers of a task first."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
