"""Tune LightGBM, and stop trials whose learning curve promises too little. Every stop has a reason.

    python examples/curves_lightgbm.py --trials 40

The callback of Optuna's integration reports the loss after every round and asks the pruner; it needs no change.
"""

from __future__ import annotations

import argparse

import lightgbm
import optuna
from optuna.trial import TrialState
from optuna_integration import LightGBMPruningCallback
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import pellucid

ROUNDS = 60
features, labels = load_breast_cancer(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(features, labels, test_size=0.4, stratify=labels, random_state=0)


def objective(trial: optuna.Trial) -> float:
    """Logarithmic loss on the validation set after the last round."""
    settings = {
        "objective": "binary",
        "metric": "binary_logloss",
        "learning_rate": trial.suggest_float("learning_rate", 1e-3, 1.0, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 2, 32, log=True),
        "min_data_in_leaf": trial.suggest_int("min_data_in_leaf", 1, 50, log=True),
        "feature_fraction": trial.suggest_float("feature_fraction", 0.1, 1.0),
        "num_threads": 1,
        "deterministic": True,
        "seed": 0,
        "verbosity": -1,
    }
    train = lightgbm.Dataset(train_x, train_y)
    valid = lightgbm.Dataset(valid_x, valid_y, reference=train)
    callback = LightGBMPruningCallback(trial, "binary_logloss")
    model = lightgbm.train(settings, train, num_boost_round=ROUNDS, valid_sets=[valid], callbacks=[callback])
    return float(model.best_score["valid_0"]["binary_logloss"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="minimize", sampler=pellucid.BayesianSampler(seed=0), pruner=pellucid.CurvePruner()
    )
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    stopped = study.get_trials(deepcopy=False, states=(TrialState.PRUNED,))
    for trial in stopped:
        print(f"Trial {trial.number}: {trial.user_attrs['pellucid:pruned']}")
    if stopped:
        soonest = min(stopped, key=lambda trial: trial.last_step).number
        print(f"\nWhy was trial {soonest} stopped so soon?", pellucid.explain_pruning(study, soonest))
        print("\nWhat did stopping save?", pellucid.pruning_record(study))
    print("\nWhich configuration is best?", pellucid.recommend(study))
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
