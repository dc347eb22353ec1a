"""Explain a study that Optuna's TPE ran, without pellucid, and stored in an SQLite file.

    python examples/existing_study.py --file existing.db

The first run creates the file. For your own study you need only `main`, with your storage and the name of your study.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import optuna
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import pellucid

STUDY = "diabetes"


def objective(trial: optuna.Trial) -> float:
    """Mean absolute error of a support vector regression, in units of disease progression."""
    features, progression = load_diabetes(return_X_y=True)
    kernel = trial.suggest_categorical("kernel", ["rbf", "poly"])
    model = SVR(
        kernel=kernel,
        C=trial.suggest_float("C", 1e-1, 1e3, log=True),
        epsilon=trial.suggest_float("epsilon", 1e-1, 1e2, log=True),
        gamma=trial.suggest_float("gamma", 1e-4, 1e-1, log=True),
        degree=trial.suggest_int("degree", 2, 4) if kernel == "poly" else 3,
    )
    folds = KFold(n_splits=3, shuffle=True, random_state=0)
    scores = cross_val_score(
        make_pipeline(StandardScaler(), model), features, progression, cv=folds, scoring="neg_mean_absolute_error"
    )
    return float(-scores.mean())


def run_with_tpe(storage: str, n_trials: int) -> None:
    """Plain Optuna: nothing here uses pellucid."""
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(study_name=STUDY, storage=storage, sampler=sampler, direction="minimize")
    study.optimize(objective, n_trials=n_trials)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=Path("existing.db"), help="SQLite file with the study")
    parser.add_argument("--trials", type=int, default=100, help="trials for TPE to run if the file does not exist")
    parser.add_argument("--trial", type=int, help="trial to explain; default: the best")
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = f"sqlite:///{arguments.file}"
    if not arguments.file.exists():
        run_with_tpe(storage, arguments.trials)

    study = optuna.load_study(study_name=STUDY, storage=storage)
    trial = study.best_trial.number if arguments.trial is None else arguments.trial
    print(f"{len(study.trials)} trials, {len(pellucid.receipts(study))} of them proposed by pellucid.\n")
    print("What matters?", pellucid.importance(study), "\n")
    for name in ("kernel", "C"):
        print(f"What does `{name}` do?", pellucid.partial_dependence(study, name), "\n")
    print("Why this configuration?", pellucid.explain_proposal(study, trial), "\n")
    print("More trials?", pellucid.stopping_verdict(study))
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
