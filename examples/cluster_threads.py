"""Run several trials at a time in the threads of one process, and see whether that is faster.

    python examples/cluster_threads.py
    python examples/cluster_threads.py --storage postgresql+psycopg2://user@host/database --threads 8

Threads help as far as trials wait, for a GPU, a disk or another program, or compute outside Python, as scikit-learn's
support vector machines do. Python code itself runs in one thread at a time: then processes are faster, as in
cluster_database.py. With a storage, start the second command on as many machines as you like.
"""

from __future__ import annotations

import argparse
import time

import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import pellucid

IMAGES, LABELS = load_digits(return_X_y=True)


def objective(trial: optuna.Trial) -> float:
    """Mean accuracy of a three-fold cross-validation. It shares nothing that another thread could change."""
    model = SVC(
        C=trial.suggest_float("C", 1e-2, 1e3, log=True), gamma=trial.suggest_float("gamma", 1e-4, 1.0, log=True)
    )
    return float(cross_val_score(model, IMAGES / 16, LABELS, cv=3).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--storage", help="URL of a database; without it, studies end with the script")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--trials", type=int, default=20, help="trials of each of the two studies")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    for threads in (1, arguments.threads):
        study = optuna.create_study(
            study_name=f"{threads} at a time",
            storage=arguments.storage,
            sampler=pellucid.BayesianSampler(seed=0),
            direction="maximize",
            load_if_exists=True,
        )
        began = time.perf_counter()
        study.optimize(objective, n_trials=arguments.trials, n_jobs=threads)
        print(f"{arguments.trials} trials, {threads} at a time: {time.perf_counter() - began:.1f} seconds")
    proposed = [receipt for receipt in pellucid.receipts(study) if receipt.kind == "model"]
    aware = [receipt for receipt in proposed if receipt.pending]
    print(f"{len(aware)} of {len(proposed)} proposals took into account what other threads were running.\n")
    print("Which configuration is best?", pellucid.recommend(study))


if __name__ == "__main__":
    main()
