"""Tune a model on a Dask cluster: workers share one study, which the scheduler keeps.

    python examples/cluster_dask.py
    python examples/cluster_dask.py --scheduler tcp://scheduler:8786 --trials 200

Without a scheduler, a cluster of two processes starts on this machine. No database is needed. With `--storage
sqlite:///dask.db` the scheduler keeps the study in a file of its own, and a second run goes on.
"""

from __future__ import annotations

import argparse
import os
import warnings
from contextlib import ExitStack
from datetime import datetime, timedelta

import optuna
from dask.distributed import Client, LocalCluster
from optuna.trial import TrialState
from optuna_integration import DaskStorage
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import pellucid

LONGEST_TRIAL = timedelta(minutes=1)  # A trial takes seconds; one that began before this is lost.


def objective(trial: optuna.Trial) -> float:
    """Mean accuracy of a three-fold cross-validation on a third of the images."""
    images, labels = (part[:600] for part in load_digits(return_X_y=True))
    model = SVC(
        C=trial.suggest_float("C", 1e-2, 1e3, log=True),
        gamma=trial.suggest_float("gamma", 1e-4, 1.0, log=True),
    )
    trial.set_user_attr("process", os.getpid())
    return float(cross_val_score(model, images / 16, labels, cv=3).mean())


def work(study: optuna.Study, n_trials: int) -> None:
    """Run trials until the study has enough of them, counting those of other workers.

    If a worker dies, Dask gives its task to another one, which then does what is left.
    """
    quiet()
    while sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False)) < n_trials:
        study.optimize(objective, n_trials=1)


def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # About DaskStorage.


def close_lost_trials(study: optuna.Study) -> None:
    """Trials whose worker has died would count as running forever. Younger ones may still run: workers finish their
    task even if the program that sent it is gone."""
    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        if trial.datetime_start is not None and datetime.now() - trial.datetime_start > LONGEST_TRIAL:
            print(f"Trial {trial.number} was lost with its worker.")
            study.tell(trial.number, state=TrialState.FAIL)


def show(study: optuna.Study) -> None:
    processes = {trial.user_attrs["process"] for trial in study.trials if "process" in trial.user_attrs}
    print(f"{len(study.trials)} trials by {len(processes)} processes.")
    proposed = [receipt for receipt in pellucid.receipts(study) if receipt.kind == "model"]
    aware = [receipt for receipt in proposed if receipt.pending]
    print(f"{len(aware)} of {len(proposed)} proposals took into account what other workers were running.\n")
    print("Which configuration is best?", pellucid.recommend(study), "\n")
    print("More trials?", pellucid.stopping_verdict(study))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scheduler", help="address of a scheduler; by default a cluster starts on this machine")
    parser.add_argument("--storage", help="URL of a database that the scheduler opens; default: its memory")
    parser.add_argument("--trials", type=int, default=40, help="finished trials the study should have in total")
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    quiet()
    with ExitStack() as stack:
        cluster = arguments.scheduler
        if cluster is None:
            cluster = stack.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
        client = stack.enter_context(Client(cluster))
        study = optuna.create_study(
            study_name="dask",
            storage=DaskStorage(arguments.storage, client=client),
            sampler=pellucid.BayesianSampler(seed=0),
            direction="maximize",
            load_if_exists=True,
        )
        close_lost_trials(study)
        slots = sum(client.nthreads().values())
        client.gather([client.submit(work, study, arguments.trials, pure=False) for _ in range(slots)])
        close_lost_trials(study)
        show(study)
        if arguments.report:
            pellucid.report(study, arguments.report)
            print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
