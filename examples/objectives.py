"""Two objectives: how accurate a forest is, and how large it becomes.

    python examples/objectives.py --trials 50

A trial returns both values; the search follows the front, on which neither can improve without the other getting worse.
"""

from __future__ import annotations

import argparse
import warnings

import optuna
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_validate

import pellucid

digits = load_digits(n_class=10)
features, labels = digits.data[:600], digits.target[:600]
folds = StratifiedKFold(n_splits=3, shuffle=True, random_state=0)


def objective(trial: optuna.Trial) -> tuple[float, float]:
    """Mean accuracy of a three-fold cross-validation, and thousands of nodes of all trees."""
    model = RandomForestClassifier(
        n_estimators=trial.suggest_int("trees", 5, 120, log=True),
        max_depth=trial.suggest_int("depth", 2, 14),
        min_samples_leaf=trial.suggest_int("leaf", 1, 20, log=True),
        max_features=trial.suggest_float("features", 0.05, 1.0),
        random_state=0,
    )
    fits = cross_validate(model, features, labels, cv=folds, return_estimator=True)
    nodes = [sum(tree.tree_.node_count for tree in forest.estimators_) for forest in fits["estimator"]]
    return float(fits["test_score"].mean()), max(nodes) / 1000.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # Names of metrics are new in Optuna.
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=pellucid.BayesianSampler(seed=0))
    study.set_metric_names(["accuracy", "kilonodes"])
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    print("What are the best compromises?", pellucid.recommend(study), "\n")
    print("And if accuracy counts twice?", pellucid.recommend(study, prefer={"accuracy": 2, "kilonodes": 1}), "\n")
    print("And with 2,000 nodes at most?", pellucid.recommend(study, limits={"kilonodes": "<= 2"}), "\n")
    print("What does one cost in the other?", pellucid.tradeoff(study), "\n")
    print("What makes a forest large?", pellucid.importance(study, objective="kilonodes"), "\n")
    print("More trials?", pellucid.stopping_verdict(study), "\n")
    print("Why the last configuration?", pellucid.receipt(study, arguments.trials - 1))
    if arguments.report:
        pellucid.report(study, arguments.report)


if __name__ == "__main__":
    main()
