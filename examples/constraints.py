"""Tune a forest that has to fit into a small device: a limit that only a trained model shows, and a known rule.

    python examples/constraints.py --trials 50

`trial.set_constraint` reports by how much a trial exceeds the limit; at most 0 is feasible.
"""

from __future__ import annotations

import argparse
from typing import Any

import optuna
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import KFold, cross_validate

import pellucid

features, targets = load_diabetes(return_X_y=True)
folds = KFold(n_splits=5, shuffle=True, random_state=0)
# Nodes of all trees that fit on the device.
MOST_NODES = 1000


def quick(params: dict[str, Any]) -> bool:
    """A prediction must not visit more than 300 nodes: known before anything is trained."""
    return bool(params["trees"] * params["depth"] <= 300)


def objective(trial: optuna.Trial) -> float:
    """Mean R^2 of a five-fold cross-validation, with the size of the forest as a constraint."""
    model = ExtraTreesRegressor(
        n_estimators=trial.suggest_int("trees", 5, 200, log=True),
        max_depth=trial.suggest_int("depth", 2, 16),
        min_samples_leaf=trial.suggest_int("leaf", 1, 40, log=True),
        max_features=trial.suggest_float("features", 0.1, 1.0),
        random_state=0,
    )
    fits = cross_validate(model, features, targets, cv=folds, return_estimator=True)
    nodes = [sum(tree.tree_.node_count for tree in forest.estimators_) for forest in fits["estimator"]]
    trial.set_constraint("nodes", max(nodes) - MOST_NODES)
    return float(fits["test_score"].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = pellucid.BayesianSampler(seed=0, allowed=quick)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    print("Which configuration is best?", pellucid.recommend(study), "\n")
    print("How did the search go?", pellucid.history(study), "\n")
    print("What makes a forest too large?", pellucid.importance(study, objective="nodes"), "\n")
    print("Why the last configuration?", pellucid.receipt(study, arguments.trials - 1))
    if arguments.report:
        pellucid.report(study, arguments.report)


if __name__ == "__main__":
    main()
