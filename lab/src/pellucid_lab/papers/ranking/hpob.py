"""Runs on HPO-B: one task per search space, test table and method, with all seeds side by side.

The key of a task contains a digest of its table, so that results of other data are not mistaken for its own.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import require_modules
from pellucid_lab.papers.ranking.experiments import deep_ensemble, deep_kernel, few_shot, rank_weighted
from pellucid_lab.papers.ranking.report import Regrets, regret_after
from pellucid_lab.papers.ranking.transfer import HAND_OVER, GaussianProcessEI, RandomOrder, TransferMethod, search
from pellucid_lab.problems.hpob import SPLITS, Split, read_hpob
from pellucid_lab.problems.tabular import Collection, TabularTask


def _ranking(collection: Collection) -> TransferMethod:
    """The ranking surrogate with as many steps of meta-training as earlier studies of that size would get; tables whose
    values are all equal are left out because they have no order."""
    from pellucid.models.ranking.ensemble import RankingEnsemble
    from pellucid.models.ranking.training import Recipe
    from pellucid.study.earlier_studies import EarlierStudies, steps_for
    from pellucid_lab.papers.ranking.ranking import Ranking
    from pellucid_lab.problems.tabular import as_losses

    train, held_out = (
        as_losses(tuple(task for task in tasks if np.ptp(task.y) > 0.0))
        for tasks in (collection.train, collection.validation)
    )
    if not train:
        raise Mistake(
            f"Search space {collection.name}: learning needs a task whose configurations differ in their values, but "
            "the training split has none; leave `ranking` out of --methods."
        )
    recipe = Recipe(steps=steps_for(EarlierStudies(collection.space, tuple(train), {})))
    model = RankingEnsemble(collection.space, recipe=recipe).meta_trained(train, held_out)
    return Ranking(model, hand_over=HAND_OVER)


# Makes a method for a search space, from everything but the values of its test tasks.
METHODS: Mapping[str, Callable[[Collection], TransferMethod]] = {
    "random": lambda _: RandomOrder(),
    "gp": lambda _: GaussianProcessEI(),
    "deep-ensemble": deep_ensemble,
    "dgp": deep_kernel,
    "fsbo": few_shot,
    "rgpe": rank_weighted,
    "ranking": _ranking,
}
# These do not learn from other tasks, so that the large files with those need not be read.
WITHOUT_TRANSFER = frozenset({"random", "gp", "deep-ensemble", "dgp"})
_WITHOUT_TORCH = frozenset({"random", "gp"})


@dataclass(frozen=True)
class HpobTask:
    table: str
    space: str
    task: str
    method: str
    steps: int
    folder: str

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return (self.table, self.space, self.task, self.method, self.steps)

    @property
    def label(self) -> str:
        return f"{self.space}/{self.task} {self.method}"


@dataclass(frozen=True)
class HpobRun:
    """Regret after each step, one row per seed, and the seconds of all seeds together."""

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


def plan(folder: str, spaces: Sequence[str] | None, methods: Sequence[str], steps: int) -> list[HpobTask]:
    """Every task, in an order in which each collection is read and each method built only once. Raises `Mistake` if
    data is damaged."""
    tasks = []
    for collection in read_hpob(folder, spaces, splits_for(methods)):
        others = _digest(part for task in (*collection.train, *collection.validation) for part in (task.X, task.y))
        for method in methods:
            learned = b"" if method in WITHOUT_TRANSFER else others
            tasks += [
                HpobTask(digest(task, collection, learned), collection.name, task.name, method, steps, folder)
                for task in collection.test
            ]
    return tasks


def digest(task: TabularTask, collection: Collection, learned: bytes = b"") -> str:
    """Digest of all data that a result depends on; `learned`: the digest of the tables of other tasks."""
    return _digest((task.X, task.y, collection.seeds[task.name]), learned).hex()[:12]


def _digest(parts: Iterable[np.ndarray[Any, Any]], learned: bytes = b"") -> bytes:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(np.ascontiguousarray(part).tobytes())
    sha.update(learned)
    return sha.digest()


@lru_cache(maxsize=1)
def _collection(folder: str, space: str, splits: tuple[Split, ...]) -> Collection:
    return read_hpob(folder, [space], splits)[0]


@lru_cache(maxsize=1)
def _method(folder: str, space: str, name: str) -> TransferMethod:
    return METHODS[name](_collection(folder, space, splits_for([name])))


def run_hpob_task(task: HpobTask) -> HpobRun:
    collection = _collection(task.folder, task.space, splits_for([task.method]))
    table = next(table for table in collection.test if table.name == task.task)
    starts = collection.seeds[table.name]
    method = _method(task.folder, task.space, task.method)
    before = time.perf_counter()
    (chosen,) = search(method, collection.space, [table], [starts], task.steps)
    seconds = time.perf_counter() - before
    regret = regret_after(table, chosen, starts.shape[1], task.steps)
    return HpobRun(*task.key, regret=tuple(regret.tolist()), seconds=seconds)


def regrets_of(tasks: Sequence[HpobTask], runs: Sequence[HpobRun]) -> Regrets:
    """The regrets of the tasks' runs, in the order of the tasks."""
    by_key = {run.key: run for run in runs}
    ordered = [by_key[task.key] for task in tasks]
    by_method = {
        name: np.concatenate([np.array(run.regret) for run in ordered if run.method == name])
        for name in dict.fromkeys(task.method for task in tasks)
    }
    # Every method has the same tables in the same order, so that the first one names the runs of all.
    first = [run for run in ordered if run.method == tasks[0].method]
    names = tuple(f"{run.space}/{run.task}" for run in first for _ in run.regret)
    return Regrets(by_method, names, tuple(run.space for run in first for _ in run.regret))
