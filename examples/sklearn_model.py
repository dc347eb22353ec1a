"""Choose between a support vector machine and a forest, each with its own parameters, in a scikit-learn pipeline.

    python examples/sklearn_model.py --trials 50

This is plain Optuna except for the sampler, which learns from the trials which parameter belongs to which model.
"""

from __future__ import annotations

import argparse

import optuna
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import pellucid

features, labels = load_breast_cancer(return_X_y=True)
folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)


def build(trial: optuna.Trial) -> ClassifierMixin:
    if trial.suggest_categorical("model", ["svc", "forest"]) == "svc":
        return SVC(
            C=trial.suggest_float("C", 1e-2, 1e3, log=True),
            gamma=trial.suggest_float("gamma", 1e-5, 1.0, log=True),
        )
    return RandomForestClassifier(
        n_estimators=30,
        max_depth=trial.suggest_int("max_depth", 1, 12),
        max_features=trial.suggest_float("max_features", 0.05, 1.0),
        random_state=0,
    )


def objective(trial: optuna.Trial) -> float:
    """Mean accuracy of a five-fold cross-validation."""
    pipeline = make_pipeline(StandardScaler(), build(trial))
    return float(cross_val_score(pipeline, features, labels, cv=folds).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=pellucid.BayesianSampler(seed=0))
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    print("Which configuration is best?", pellucid.recommend(study), "\n")
    print("More trials?", pellucid.stopping_verdict(study), "\n")
    print("What matters?", pellucid.importance(study))
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
