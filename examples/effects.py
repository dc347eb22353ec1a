"""Ask what the parameters do in a study that TPE ran, in sentences and in a figure of the learning rate.

Everything before `profile_effect` is plain Optuna. For a study that you already have, copy the end of `main`.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import optuna
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import pellucid
from pellucid import plots

features, labels = load_digits(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(features / 16, labels, test_size=0.4, random_state=0)


def objective(trial: optuna.Trial) -> float:
    """Accuracy of a small network after ten epochs."""
    solver = trial.suggest_categorical("solver", ["adam", "sgd"])
    network = MLPClassifier(
        hidden_layer_sizes=(trial.suggest_int("units", 8, 128, log=True),),
        learning_rate_init=trial.suggest_float("learning_rate", 1e-4, 1.0, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        solver=solver,
        momentum=trial.suggest_float("momentum", 0.0, 0.99) if solver == "sgd" else 0.9,
        max_iter=10,
        random_state=0,
    )
    return float(network.fit(train_x, train_y).score(valid_x, valid_y))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--figure", type=Path, default=Path("effect.html"), help=".html, or .png (needs Chromium)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=arguments.trials, show_progress_bar=True)

    for name in ("learning_rate", "units", "alpha", "solver", "momentum"):
        print(pellucid.profile_effect(study, name))
        print(pellucid.partial_dependence(study, name), "\n")
    plots.save(pellucid.partial_dependence(study, "learning_rate").plot(), arguments.figure)
    print(f"The figure is in {arguments.figure}.")


if __name__ == "__main__":
    main()
