"""Runs on HPO-B: one job per search space, test task and method, all seeds side by side.

A job names its table by a digest of it: results of other data are not taken for its own.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pellucid.bench.base import BenchError
from pellucid.bench.hpob import SPLITS, Split, read_hpob
from pellucid.bench.tabular import Collection, Task
from pellucid.bench.transfer import GaussianProcessEI, Method, RandomOrder, search
from pellucid.bench.transfer_report import Regrets, regret_after

# A method is made once per search space, from everything but the answers of the test tasks.
METHODS: Mapping[str, Callable[[Collection], Method]] = {
    "random": lambda _: RandomOrder(),
    "gp": lambda _: GaussianProcessEI(),
}
# These need no other tasks, so that the large files of those stay closed.
WITHOUT_TRANSFER = frozenset({"random", "gp"})


@dataclass(frozen=True)
class Job:
    table: str
    space: str
    task: str
    method: str
    steps: int
    folder: str

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return (self.table, self.space, self.task, self.method, self.steps)


@dataclass(frozen=True)
class Found:
    """Regret after each step, one row per seed, and the seconds that all of them took together."""

    table: str
    space: str
    task: str
    method: str
    steps: int
    regret: tuple[Sequence[float], ...]
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return (self.table, self.space, self.task, self.method, self.steps)


def check_methods(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise BenchError(f"The methods are {', '.join(METHODS)}; got `{unknown[0]}`.")


def splits_for(methods: Sequence[str]) -> tuple[Split, ...]:
    return ("test",) if WITHOUT_TRANSFER.issuperset(methods) else SPLITS


def plan(folder: str, spaces: Sequence[str] | None, methods: Sequence[str], steps: int) -> list[Job]:
    """Every job, in an order in which collections and methods are made once; what is wrong with the data is said."""
    return [
        Job(digest(task, collection), collection.name, task.name, method, steps, folder)
        for collection in read_hpob(folder, spaces, splits_for(methods))
        for method in methods
        for task in collection.test
    ]


def digest(task: Task, collection: Collection) -> str:
    parts = (task.X, task.y, collection.seeds[task.name])
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:12]


@lru_cache(maxsize=1)
def _collection(folder: str, space: str, splits: tuple[Split, ...]) -> Collection:
    return read_hpob(folder, [space], splits)[0]


@lru_cache(maxsize=1)
def _method(folder: str, space: str, name: str) -> Method:
    return METHODS[name](_collection(folder, space, splits_for([name])))


def run_job(job: Job) -> Found:
    collection = _collection(job.folder, job.space, splits_for([job.method]))
    task = next(one for one in collection.test if one.name == job.task)
    starts = collection.seeds[task.name]
    method = _method(job.folder, job.space, job.method)
    before = time.perf_counter()
    (chosen,) = search(method, collection.space, [task], [starts], job.steps)
    seconds = time.perf_counter() - before
    regret = regret_after(task, chosen, starts.shape[1], job.steps)
    return Found(*job.key, regret=tuple(regret.tolist()), seconds=seconds)


def regrets_of(jobs: Sequence[Job], found: Sequence[Found]) -> Regrets:
    """The jobs' results side by side, runs in the order of the jobs."""
    by_key = {one.key: one for one in found}
    mine = [by_key[job.key] for job in jobs]
    by_method = {
        name: np.concatenate([np.array(one.regret) for one in mine if one.method == name])
        for name in dict.fromkeys(job.method for job in jobs)
    }
    # Every method has the same tasks in the same order, so the first one names the runs of all.
    first = [one for one in mine if one.method == jobs[0].method]
    tasks = tuple(f"{one.space}/{one.task}" for one in first for _ in one.regret)
    return Regrets(by_method, tasks, tuple(one.space for one in first for _ in one.regret))
