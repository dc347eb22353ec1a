"""Runs on HPO-B: one job per search space, test task and method, all seeds side by side.

A job names its table by a digest of it: results of other data are not taken for its own.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pellucid.cli.errors import Mistake
from pellucid.samplers.ranking import HAND_OVER
from pellucid_lab.base import require_modules
from pellucid_lab.papers.ranking.experiments import deep_ensemble, deep_kernel, few_shot, rank_weighted
from pellucid_lab.papers.ranking.report import Regrets, regret_after
from pellucid_lab.papers.ranking.transfer import GaussianProcessEI, Method, RandomOrder, search
from pellucid_lab.problems.hpob import SPLITS, Split, read_hpob
from pellucid_lab.problems.tabular import Collection, Task


def _ranking(collection: Collection) -> Method:
    """Of as many steps as earlier studies of that size would get. A task whose values are all equal has no order."""
    from pellucid.surrogates.ranking.earlier_studies import EarlierStudies, steps_for
    from pellucid.surrogates.ranking.ensemble import RankingEnsemble
    from pellucid.surrogates.ranking.training import Recipe
    from pellucid_lab.papers.ranking.ranking import Ranking
    from pellucid_lab.problems.tabular import as_losses

    train, held_out = (
        as_losses(tuple(task for task in tasks if np.ptp(task.y) > 0.0))
        for tasks in (collection.train, collection.validation)
    )
    if not train:
        raise Mistake(
            f"Search space {collection.name}: learning needs a task whose configurations differ in what they reached, "
            "but none of the training split does; leave `ranking` out of --methods."
        )
    recipe = Recipe(steps=steps_for(EarlierStudies(collection.space, tuple(train), {})))
    model = RankingEnsemble(collection.space, recipe=recipe).meta_trained(train, held_out)
    return Ranking(model, hand_over=HAND_OVER)


# A method is made once per search space, from everything but the answers of the test tasks.
METHODS: Mapping[str, Callable[[Collection], Method]] = {
    "random": lambda _: RandomOrder(),
    "gp": lambda _: GaussianProcessEI(),
    "deep-ensemble": deep_ensemble,
    "dgp": deep_kernel,
    "fsbo": few_shot,
    "rgpe": rank_weighted,
    "ranking": _ranking,
}
# These need no other tasks, so that the large files of those stay closed.
WITHOUT_TRANSFER = frozenset({"random", "gp", "deep-ensemble", "dgp"})
_WITHOUT_TORCH = frozenset({"random", "gp"})


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
        raise Mistake(f"The methods are {', '.join(METHODS)}; got `{unknown[0]}`.")
    networks = [name for name in names if name not in _WITHOUT_TORCH]
    if networks:
        require_modules(("torch",), f"HPO-B with {', '.join(networks)}")


def splits_for(methods: Sequence[str]) -> tuple[Split, ...]:
    return ("test",) if WITHOUT_TRANSFER.issuperset(methods) else SPLITS


def plan(folder: str, spaces: Sequence[str] | None, methods: Sequence[str], steps: int) -> list[Job]:
    """Every job, in an order in which collections and methods are made once; what is wrong with the data is said."""
    jobs = []
    for collection in read_hpob(folder, spaces, splits_for(methods)):
        others = _digest(part for task in (*collection.train, *collection.validation) for part in (task.X, task.y))
        for method in methods:
            learned = b"" if method in WITHOUT_TRANSFER else others
            jobs += [
                Job(digest(task, collection, learned), collection.name, task.name, method, steps, folder)
                for task in collection.test
            ]
    return jobs


def digest(task: Task, collection: Collection, learned: bytes = b"") -> str:
    """Of everything that a result depends on; `learned`: what stands for the tables of other tasks."""
    return _digest((task.X, task.y, collection.seeds[task.name]), learned).hex()[:12]


def _digest(parts: Iterable[np.ndarray[Any, Any]], learned: bytes = b"") -> bytes:
    found = hashlib.sha256()
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    found.update(learned)
    return found.digest()


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
