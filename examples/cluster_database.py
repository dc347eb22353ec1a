"""Share one study between several processes, one of which dies in the middle of a trial.

    python examples/cluster_database.py
    python examples/cluster_database.py --storage postgresql+psycopg2://user@host/database
    python examples/cluster_database.py --storage mysql+pymysql://user@host/database

The first command uses SQLite, for processes of one machine. With a server, start the script on as many machines as you
like, with the same URL. Another worker runs the lost trial again: Optuna detects a dead worker when its heartbeat
stops, and the script itself finds those that died before their first one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import optuna
from optuna.storages import BaseStorage, RDBStorage, fail_stale_trials
from optuna.trial import TrialState
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import pellucid

warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # About heartbeats.
optuna.logging.set_verbosity(optuna.logging.ERROR)

try:
    from optuna.storages import RetryHeartbeatStaleTrialCallback

    RETRY = RetryHeartbeatStaleTrialCallback(max_retry=3)
    RETRY_ARGUMENT = {"heartbeat_stale_trial_callback": RETRY}
except ImportError:  # Optuna before 4.9 has other names for both.
    from optuna.storages import RetryFailedTrialCallback

    RETRY = RetryFailedTrialCallback(max_retry=3)
    RETRY_ARGUMENT = {"failed_trial_callback": RETRY}

LONGEST_TRIAL = timedelta(minutes=1)  # A trial takes seconds; one that began before this is lost.


def objective(trial: optuna.Trial, dies_in: int) -> float:
    """Mean accuracy of a three-fold cross-validation on a third of the images."""
    images, labels = (part[:600] for part in load_digits(return_X_y=True))
    C = trial.suggest_float("C", 1e-2, 1e3, log=True)
    gamma = trial.suggest_float("gamma", 1e-4, 1.0, log=True)
    accuracy = cross_val_score(SVC(C=C, gamma=gamma), images / 16, labels, cv=3).mean()
    if trial.number == dies_in:
        print(f"The worker of trial {trial.number} dies.", flush=True)
        os._exit(1)  # At once, as if the machine had failed.
    return float(accuracy)


def study_in(storage: BaseStorage) -> optuna.Study:
    # All workers may have the same seed: each takes the running trials of the others into account.
    sampler = pellucid.BayesianSampler(seed=0)
    return optuna.create_study(
        study_name="workers", storage=storage, sampler=sampler, direction="maximize", load_if_exists=True
    )


def open_study(url: str) -> optuna.Study:
    storage = RDBStorage(
        url,
        # Wait for the lock of a file; notice that a server has been restarted.
        engine_kwargs={"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {"pool_pre_ping": True},
        heartbeat_interval=1,
        grace_period=5,  # Seconds without a heartbeat before a trial is run again.
        **RETRY_ARGUMENT,
    )
    return study_in(storage)


def count(study: optuna.Study, *states: TrialState) -> int:
    return len(study.get_trials(deepcopy=False, states=states))


def retry_lost_trials(study: optuna.Study) -> None:
    """Queue the trials of dead workers again, also of those that died before their first heartbeat."""
    fail_stale_trials(study)
    for trial in study.get_trials(states=(TrialState.RUNNING,)):  # Optuna waits forever for a first heartbeat.
        if trial.datetime_start and datetime.now() - trial.datetime_start > LONGEST_TRIAL:
            study.tell(trial.number, state=TrialState.FAIL)
            RETRY(study, trial)


def work(opened: Callable[[], optuna.Study], n_trials: int, dies_in: int = -1) -> None:
    """Run trials until the study has enough of them, counting those of other workers."""
    study = opened()
    while count(study, TrialState.COMPLETE, TrialState.RUNNING) < n_trials or count(study, TrialState.WAITING):
        study.optimize(lambda trial: objective(trial, dies_in), n_trials=1)


def share(opened: Callable[[], optuna.Study], n_workers: int, n_trials: int, dies_in: int = -1) -> optuna.Study:
    """The study, once processes have run its trials. Each process opens the storage for itself."""
    study = opened()
    task = (opened, n_trials, dies_in)
    workers = [multiprocessing.get_context("spawn").Process(target=work, args=task) for _ in range(n_workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    while count(study, TrialState.RUNNING):  # Trials of dead workers that no other worker has taken over.
        time.sleep(1)
        retry_lost_trials(study)
    work(opened, n_trials)
    return study


def show(study: optuna.Study) -> None:
    print(f"{len(study.trials)} trials, {count(study, TrialState.COMPLETE)} finished.")
    for trial in study.trials:
        lost = RETRY.retried_trial_number(trial)
        if lost is not None:
            print(f"Trial {lost} was lost with its worker; trial {trial.number} ran it again: {trial.state.name}.")
    # By trial number: a trial that is run again has a copy of the receipt of the lost one.
    proposed = {receipt.trial: receipt for receipt in pellucid.receipts(study) if receipt.kind == "model"}
    aware = [receipt for receipt in proposed.values() if receipt.pending]
    print(f"{len(aware)} of {len(proposed)} proposals took into account what other workers were running.\n")
    print("Which configuration is best?", pellucid.recommend(study), "\n")
    print("More trials?", pellucid.stopping_verdict(study))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--storage", default="sqlite:///workers.db", help="URL of the database")
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine")
    parser.add_argument("--trials", type=int, default=40, help="finished trials the study should have in total")
    parser.add_argument("--dies-in", type=int, default=15, help="trial in which a worker dies; -1 for none")
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    opened = partial(open_study, arguments.storage)
    study = share(opened, arguments.workers, arguments.trials, arguments.dies_in)
    show(study)
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
