"""One worker process: `python -m tests.end_to_end.worker STORAGE OBJECTIVE N_TRIALS [options]`."""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import Trial
from tests.helpers import OBJECTIVES, RECEIPT_KEY, STUDY, without_waiting_for_the_disk

import pellucid


class DiesWhileWriting(RDBStorage):
    """A storage whose process is gone after the first part of the receipt of trial `at`."""

    at = -1

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        super().set_trial_system_attr(trial_id, key, value)
        if key == f"{RECEIPT_KEY}:0" and self.get_trial(trial_id).number == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def storage_at(url: str, kind: type[RDBStorage] = RDBStorage) -> BaseStorage:
    # SQLite writers take turns; with all cores busy a turn may take a while.
    wait = {"connect_args": {"timeout": 120}} if url.startswith("sqlite") else {}
    return kind(url, engine_kwargs=wait)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("storage")
    parser.add_argument("objective", choices=OBJECTIVES)
    parser.add_argument("n_trials", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--startup", type=int, default=5)
    parser.add_argument("--model", help="file of a ranking model, for a ranking sampler")
    parser.add_argument("--sleep", type=float, default=0.0, help="seconds that every trial takes at least")
    parser.add_argument("--together", type=int, default=0, help="workers that must be ready before the first trial")
    parser.add_argument("--hang-at", type=int, default=-1, help="trial that never ends")
    parser.add_argument("--marker", type=Path, help="file that the hanging trial creates")
    parser.add_argument(
        "--die-writing",
        type=int,
        default=-1,
        help="trial whose receipt is half written when the process ends",
    )
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", without_waiting_for_the_disk)

    def objective(trial: Trial) -> float:
        value = OBJECTIVES[options.objective](trial)
        trial.set_user_attr("worker", os.getpid())
        time.sleep(options.sleep)
        if trial.number == options.hang_at:
            options.marker.touch()
            time.sleep(3600)
        return value

    sampler: optuna.samplers.BaseSampler = pellucid.BayesianSampler(seed=options.seed, n_startup_trials=options.startup)
    if options.model is not None:
        sampler = pellucid.RankingSampler(model=options.model, seed=options.seed)
    DiesWhileWriting.at = options.die_writing
    study = optuna.create_study(
        study_name=STUDY,
        storage=storage_at(options.storage, DiesWhileWriting if options.die_writing >= 0 else RDBStorage),
        load_if_exists=True,
        sampler=sampler,
    )
    wait_for_others(study, options.together)
    study.optimize(objective, n_trials=options.n_trials)


def wait_for_others(study: optuna.Study, n_workers: int) -> None:
    """Begin when so many workers are ready: on a busy machine, one may take seconds longer to start."""
    if n_workers == 0:
        return
    study.set_user_attr(f"ready {os.getpid()}", True)
    for _ in range(600):
        if len(study.user_attrs) >= n_workers:
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main()
