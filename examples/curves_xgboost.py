"""Tune XGBoost, and stop trials whose learning curve promises too little. Every stop has a reason.

    python examples/curves_xgboost.py --trials 40

The callback of Optuna's integration reports the loss after every round and asks the pruner; it needs no change.
"""

from __future__ import annotations

import argparse

import optuna
import xgboost
from optuna.trial import TrialState
from optuna_integration import XGBoostPruningCallback
from sklearn.datasets import make_hastie_10_2
from sklearn.model_selection import train_test_split

import pellucid

ROUNDS = 60
features, signs = make_hastie_10_2(n_samples=1500, random_state=0)
train_x, valid_x, train_y, valid_y = train_test_split(features, signs > 0, test_size=0.4, random_state=0)
train, valid = xgboost.DMatrix(train_x, train_y, nthread=1), xgboost.DMatrix(valid_x, valid_y, nthread=1)


def objective(trial: optuna.Trial) -> float:
    """Logarithmic loss on the validation set after the last round."""
    settings = {
        "objective": "binary:logistic",
        "eval_metric": "logloss",
        "learning_rate": trial.suggest_float("learning_rate", 1e-3, 1.0, log=True),
        "max_depth": trial.suggest_int("max_depth", 1, 8),
        "min_child_weight": trial.suggest_float("min_child_weight", 0.1, 50.0, log=True),
        "subsample": trial.suggest_float("subsample", 0.3, 1.0),
        "nthread": 1,
        "seed": 0,
    }
    history: dict[str, dict[str, list[float]]] = {}
    callback = XGBoostPruningCallback(trial, "valid-logloss")
    xgboost.train(
        settings,
        train,
        num_boost_round=ROUNDS,
        evals=[(valid, "valid")],
        evals_result=history,
        verbose_eval=False,
        callbacks=[callback],
    )
    return history["valid"]["logloss"][-1]


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
