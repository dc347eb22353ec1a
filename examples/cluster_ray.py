"""Tune a model on a Ray cluster: pellucid proposes, and Ray runs the trials wherever a core is free.

    python examples/cluster_ray.py
    python examples/cluster_ray.py --address auto --trials 200 --at-once 32

Without an address, Ray starts on this machine. Only this script writes to the study's database, so that other machines
need neither the database nor pellucid. Run the script again to go on, also after it was killed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import optuna
import ray
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import TrialState
from ray import tune
from ray.tune.search.optuna import OptunaSearch
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import pellucid

STUDY = "ray"
SPACE = {"C": tune.loguniform(1e-2, 1e3), "gamma": tune.loguniform(1e-4, 1.0)}


def objective(config: dict[str, Any]) -> dict[str, float]:
    """Mean accuracy of a three-fold cross-validation on a third of the images. Ray calls it on any machine."""
    images, labels = (part[:600] for part in load_digits(return_X_y=True))
    model = SVC(C=config["C"], gamma=config["gamma"])
    return {"accuracy": float(cross_val_score(model, images / 16, labels, cv=3).mean())}


def open_study(storage: BaseStorage) -> optuna.Study:
    return optuna.create_study(study_name=STUDY, storage=storage, direction="maximize", load_if_exists=True)


def count(study: optuna.Study, state: TrialState) -> int:
    return len(study.get_trials(deepcopy=False, states=(state,)))


def queue_lost_trials(study: optuna.Study) -> None:
    """Trials that an earlier run left behind would count as running forever: close them, and queue them again."""
    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        print(f"Trial {trial.number} was lost with an earlier run; it is run again.")
        study.tell(trial.number, state=TrialState.FAIL)
        study.enqueue_trial(trial.params)


def run(storage: BaseStorage, n_trials: int, at_once: int, folder: Path) -> None:
    sampler = pellucid.BayesianSampler(seed=0)
    search = OptunaSearch(metric="accuracy", mode="max", sampler=sampler, storage=storage, study_name=STUDY)
    tuner = tune.Tuner(
        objective,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            search_alg=search,
            num_samples=n_trials,
            max_concurrent_trials=at_once,
            reuse_actors=True,  # A process for each trial would take longer to start than a trial to run.
        ),
        run_config=tune.RunConfig(
            storage_path=str(folder.resolve()),
            failure_config=tune.FailureConfig(max_failures=3),  # If a machine is lost, its trials run elsewhere.
            verbose=0,
        ),
    )
    tuner.fit()


def show(study: optuna.Study) -> None:
    print(f"{len(study.trials)} trials, {count(study, TrialState.COMPLETE)} finished.")
    proposed = [receipt for receipt in pellucid.receipts(study) if receipt.kind == "model"]
    aware = [receipt for receipt in proposed if receipt.pending]
    print(f"{len(aware)} of {len(proposed)} proposals took into account which other trials were running.\n")
    print("Which configuration is best?", pellucid.recommend(study), "\n")
    print("More trials?", pellucid.stopping_verdict(study))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="of a Ray cluster, or `auto`; by default Ray starts on this machine")
    parser.add_argument("--storage", default="sqlite:///ray.db", help="URL of the database")
    parser.add_argument("--trials", type=int, default=40, help="finished trials the study should have in total")
    parser.add_argument("--at-once", type=int, default=2, help="trials that run at the same time")
    parser.add_argument("--folder", type=Path, default=Path("ray_results"), help="where Ray keeps its own files")
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ray.init(address=arguments.address, log_to_driver=False, logging_level="ERROR")
    nodes = [node for node in ray.nodes() if node["Alive"]]
    print(f"Ray has {len(nodes)} node{'s' * (len(nodes) > 1)} and {ray.cluster_resources()['CPU']:g} cores.")

    storage = RDBStorage(arguments.storage)
    study = open_study(storage)
    queue_lost_trials(study)
    missing = arguments.trials - count(study, TrialState.COMPLETE)
    if missing > 0:
        run(storage, missing, arguments.at_once, arguments.folder)
    show(study)
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
