"""Tune LightGBM with early stopping and with Optuna's pruning.

    python examples/lightgbm_model.py --trials 60

Pruned trials are not wasted: the sampler learns from the last loss that each of them reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import lightgbm
import optuna
from lightgbm.callback import CallbackEnv
from optuna.trial import TrialState
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import pellucid

features, labels = load_breast_cancer(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(features, labels, test_size=0.4, stratify=labels, random_state=0)


def prune(trial: optuna.Trial) -> Callable[[CallbackEnv], None]:
    """A callback that reports the loss of every round and ends the trial if Optuna's pruner says so."""

    def after_round(round_: CallbackEnv) -> None:
        _, _, loss, _ = round_.evaluation_result_list[0]
        trial.report(loss, step=round_.iteration)
        if trial.should_prune():
            raise optuna.TrialPruned

    return after_round


def objective(trial: optuna.Trial) -> float:
    """Lowest logarithmic loss on the validation set over all rounds."""
    settings = {
        "objective": "binary",
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.5, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 2, 64, log=True),
        "min_data_in_leaf": trial.suggest_int("min_data_in_leaf", 1, 50, log=True),
        "feature_fraction": trial.suggest_float("feature_fraction", 0.1, 1.0),
        "lambda_l2": trial.suggest_float("lambda_l2", 1e-3, 100.0, log=True),
        "num_threads": 1,
        "deterministic": True,
        "seed": 0,
        "verbosity": -1,
    }
    train = lightgbm.Dataset(train_x, train_y)
    valid = lightgbm.Dataset(valid_x, valid_y, reference=train)
    callbacks = [prune(trial), lightgbm.early_stopping(20, verbose=False)]
    model = lightgbm.train(settings, train, num_boost_round=300, valid_sets=[valid], callbacks=callbacks)
    trial.set_user_attr("rounds", model.best_iteration)
    return float(model.best_score["valid_0"]["binary_logloss"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--report", help="write a report to this .html file")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="minimize",
        sampler=pellucid.BayesianSampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=20),
    )
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    pruned = study.get_trials(deepcopy=False, states=(TrialState.PRUNED,))
    print(f"{len(pruned)} of {len(study.trials)} trials were pruned.\n")
    recommendation = pellucid.recommend(study)
    print("Which configuration is best?", recommendation)
    print(f"It needs {study.trials[recommendation.trial].user_attrs['rounds']} rounds.\n")
    print("More trials?", pellucid.stopping_verdict(study, regret_below=0.01), "\n")
    # The best of the trials that the model proposed: the first ones only cover the space.
    proposed = [receipt.trial for receipt in pellucid.receipts(study) if receipt.proposed]
    best = min(proposed, key=lambda number: study.trials[number].value or float("inf"))
    print("Why this configuration?", pellucid.explain_proposal(study, best))
    if arguments.report:
        pellucid.report(study, arguments.report)
        print(f"\nReport: {arguments.report}")


if __name__ == "__main__":
    main()
