"""Worker processes, or threads, that share a study through a storage."""

from __future__ import annotations

import time
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from pellucid_lab.engines.records import N_PARAMS, SLEEP, EngineTask, Work, configuration
from pellucid_lab.methods.samplers import METHODS

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

STUDY = "shared"
# A worker that is not ready after this many seconds, or has not ended, will never be.
_DEADLINE = 900


@dataclass(frozen=True)
class Address:
    """Where a storage is, in words that can be sent to another process: a URL of SQLAlchemy, or the journal's file, or
    the port of a gRPC proxy."""

    url: str = ""
    journal: str = ""
    port: int = 0

    def open(self) -> BaseStorage:
        from optuna.storages import GrpcStorageProxy, JournalStorage, RDBStorage
        from optuna.storages.journal import JournalFileBackend

        if self.journal:
            return JournalStorage(JournalFileBackend(self.journal))
        if self.port:
            return GrpcStorageProxy(host="127.0.0.1", port=self.port)
        wait = {"connect_args": {"timeout": 120}} if self.url.startswith("sqlite") else {}
        return RDBStorage(self.url, engine_kwargs=wait)


def objective(trial: Trial) -> float:
    values = [trial.suggest_float(f"x{i}", 0.0, 1.0) for i in range(N_PARAMS)]
    time.sleep(SLEEP)
    return float(sum((value - 0.3) ** 2 for value in values))


def sampler_of(task: EngineTask) -> BaseSampler:
    """Every worker has the same seed if the sampler is ours: it looks at what others run. Others would all propose the
    same."""
    seed = 0 if task.sampler == "pellucid" else time.time_ns() % 2**31
    return METHODS[task.sampler].make_sampler(seed, 10, task.trials)


def shared_by_processes(task: EngineTask, address: Address) -> tuple[Work, Study]:
    """Processes begin together, and take trials until the study has enough of them."""
    import optuna

    storage = address.open()
    optuna.create_study(study_name=STUDY, storage=storage)
    context = get_context("forkserver")  # Imports take longer than most studies here.
    context.set_forkserver_preload(["optuna.storages._rdb.storage", "pellucid.samplers.bayesian", __name__])
    left, ready, results = context.Value("i", task.trials), context.Barrier(task.workers + 1), context.Queue()
    processes = [
        context.Process(target=_work, args=(task, address, left, ready, results), daemon=True)
        for _ in range(task.workers)
    ]
    for process in processes:
        process.start()
    try:
        ready.wait(_DEADLINE)
        start = time.monotonic()
        parts = [results.get(timeout=_DEADLINE) for _ in processes]
        for process in processes:
            process.join()
    finally:
        for process in processes:
            process.kill()
    work = Work(
        told=tuple(params for told, _, _ in parts for params in told),
        exceptions=sum(exceptions for _, exceptions, _ in parts),
        seconds=max(end for _, _, end in parts) - start,
    )
    return work, in_memory(storage)


def in_memory(storage: BaseStorage) -> Study:
    """The study as it is now: its storage may soon be gone."""
    import optuna

    memory = optuna.storages.InMemoryStorage()
    optuna.copy_study(from_study_name=STUDY, from_storage=storage, to_storage=memory)
    return optuna.load_study(study_name=STUDY, storage=memory)


def shared_by_threads(task: EngineTask) -> tuple[Work, Study]:
    """Threads of one process, as `Study.optimize(n_jobs=...)` starts them, in memory."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(study_name=STUDY, sampler=sampler_of(task))
    told: list[str] = []
    raised = 0

    def note(_study: Study, trial: FrozenTrial) -> None:
        told.append(configuration(trial.params))

    start = time.monotonic()
    try:
        study.optimize(objective, n_trials=task.trials, n_jobs=task.workers, callbacks=[note])
    except Exception:  # It is counted: what reaches a user's call is what this is about.
        raised += 1
    return Work(tuple(told), raised, time.monotonic() - start), study


def _work(task: EngineTask, address: Address, left: Any, ready: Any, results: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name=STUDY, storage=address.open(), sampler=sampler_of(task))
    ready.wait(_DEADLINE)
    told, raised = [], 0
    while _take(left):
        params = told_trial(study)
        if params is None:
            raised += 1
        else:
            told.append(params)
    results.put((told, raised, time.monotonic()))


def told_trial(study: Study) -> str | None:
    """Run a trial: its configuration; None if an exception reached us."""
    try:
        trial = study.ask()
        study.tell(trial, objective(trial))
    except Exception:  # It is counted: what reaches a user's call is what this is about.
        return None
    return configuration(trial.params)


def _take(left: Any) -> bool:
    with left.get_lock():
        left.value -= 1
        return bool(left.value >= 0)
