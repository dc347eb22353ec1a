"""What a worker process does: `STORAGE OBJECTIVE N_TRIALS [options]`, see `tests.helpers.start_worker`."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import Trial, TrialState
from tests.helpers import OBJECTIVES, RECEIPT_KEY, STUDY, without_waiting_for_the_disk
from tests.trainings import training

import pellucid
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.cli.storage.studies import open_storage


class DiesWhileWriting(RDBStorage):
    """A storage whose process is gone after the first part of the receipt of trial `at`."""

    at = -1

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        super().set_trial_system_attr(trial_id, key, value)
        if key == f"{RECEIPT_KEY}:0" and self.get_trial(trial_id).number == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def storage_at(url: str, kind: type[RDBStorage] = RDBStorage) -> BaseStorage:
    """The storage at the URL of a database or of a gRPC proxy, or at the path of a journal."""
    if url.startswith("grpc://") or "://" not in url:
        return open_storage(place_of(url))
    # SQLite writers take turns; with all cores busy a turn may take a while.
    wait = {"connect_args": {"timeout": 120}} if url.startswith("sqlite") else {}
    return kind(url, engine_kwargs=wait)


def logged(arguments: Sequence[str], log: str) -> None:
    """Run the worker; what it prints goes to a file."""
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    main(arguments)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("storage")
    parser.add_argument("objective", choices=[*OBJECTIVES, "training"], help="`training` is pruned by its curve")
    parser.add_argument("n_trials", type=int)
    parser.add_argument("--study", default=STUDY)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--startup", type=int, default=5)
    parser.add_argument("--model", help="file of a ranking model, for a ranking sampler")
    parser.add_argument("--sleep", type=float, default=0.0, help="seconds that every trial takes at least")
    parser.add_argument(
        "--together", type=int, default=0, help="workers that start together; a trial ends only beside another one"
    )
    parser.add_argument("--hang-at", type=int, default=-1, help="trial that never ends; a training hangs at step 6")
    parser.add_argument("--marker", type=Path, help="file that the hanging trial creates")
    parser.add_argument(
        "--die-writing",
        type=int,
        default=-1,
        help="trial whose receipt is half written when the process ends",
    )
    options = parser.parse_args(arguments)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", without_waiting_for_the_disk)

    def hang(trial: Trial, step: int = 6) -> None:
        if trial.number == options.hang_at and step == 6:
            options.marker.touch()
            time.sleep(3600)

    function = training(after=hang) if options.objective == "training" else OBJECTIVES[options.objective]

    def objective(trial: Trial) -> float:
        value = function(trial)
        trial.set_user_attr("worker", os.getpid())
        time.sleep(options.sleep)
        wait_for_company(study, trial, options.together)
        hang(trial)
        return value

    sampler: optuna.samplers.BaseSampler = pellucid.BayesianSampler(seed=options.seed, n_startup_trials=options.startup)
    if options.model is not None:
        sampler = pellucid.RankingSampler(model=options.model, seed=options.seed)
    DiesWhileWriting.at = options.die_writing
    study = optuna.create_study(
        study_name=options.study,
        storage=storage_at(options.storage, DiesWhileWriting if options.die_writing >= 0 else RDBStorage),
        load_if_exists=True,
        sampler=sampler,
        pruner=pellucid.CurvePruner(),
    )
    wait_for_others(study, options.together)
    study.optimize(objective, n_trials=options.n_trials, n_jobs=options.threads)
    study.set_user_attr(f"done {os.getpid()}", True)


def wait_for_others(study: optuna.Study, n_workers: int) -> None:
    """Begin when so many workers are ready: on a busy machine, one may take seconds longer to start."""
    if n_workers > 0:
        study.set_user_attr(f"ready {os.getpid()}", True)
        wait_until(lambda: len(study.user_attrs) >= n_workers)


def wait_for_company(study: optuna.Study, trial: Trial, n_workers: int) -> None:
    """Hold a trial until another worker has proposed one beside it, or has none left: on a busy machine, one worker
    might otherwise do its work while the other waits for the storage."""

    def in_company() -> bool:
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return any("worker" in other.user_attrs and other.number != trial.number for other in running)

    def is_last() -> bool:
        return sum(name.startswith("done") for name in study.user_attrs) >= n_workers - 1

    if n_workers > 0:
        wait_until(lambda: in_company() or is_last())


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
