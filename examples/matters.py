"""Tune a small network in two steps, then ask which parameters matter and which ranges to change.

The first trials are random. The questions at the end need only the study, so they work on any random search that you
have in a storage.
"""

from __future__ import annotations

import argparse
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import optuna
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import pellucid
from pellucid import plots


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    images, labels = load_digits(return_X_y=True)
    return images / 16.0, labels


def objective(trial: optuna.Trial) -> float:
    """Accuracy on 600 images after ten passes over 600 others."""
    images, labels = digits()
    network = MLPClassifier(
        hidden_layer_sizes=(trial.suggest_int("n_units", 4, 128),) * trial.suggest_int("n_layers", 1, 4),
        activation=trial.suggest_categorical("activation", ["relu", "logistic", "tanh"]),
        solver=trial.suggest_categorical("solver", ["adam", "sgd"]),
        learning_rate_init=trial.suggest_float("learning_rate", 1e-4, 0.1, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        batch_size=trial.suggest_int("batch_size", 8, 128),
        max_iter=10,
        random_state=0,
    )
    network.fit(images[:600], labels[:600])
    return float(network.score(images[600:1200], labels[600:1200]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=300, help="random trials, which show what matters")
    parser.add_argument("--steps", type=int, default=15, help="trials of each of the two steps")
    parser.add_argument("--figure", type=Path, default=Path("matters.html"), help=".html, or .png (needs Chromium)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = pellucid.TwoStepSampler(
        n_random=arguments.random,
        n_step1=arguments.steps,
        goal="accuracy+speed",
        cheap={"n_units": "low", "n_layers": "low"},
        seed=0,
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=arguments.random + 2 * arguments.steps, show_progress_bar=True)

    importance = pellucid.hsic_importance(study)
    print(importance, "\n")
    for name in ("n_units", "n_layers"):
        print(pellucid.interval_reduction(study, name), "\n")
    ranges = pellucid.parameter_ranges(study)
    print(ranges)
    for advice in ranges.advice:
        print(advice)
    print()
    print(sampler.plan(study), "\n")
    print(pellucid.receipts(study)[-1], "\n")
    best = {"Best trial of the two steps": sampler.best_trial(study), "Best trial of all": study.best_trial}
    for heading, trial in best.items():
        size = f"{trial.params['n_layers']} × {trial.params['n_units']} units"
        print(f"{heading}: trial {trial.number}, accuracy {trial.value:.3f}, {size}.")
    plots.save(importance.plot(), arguments.figure)
    print(f"The figure is in {arguments.figure}.")


if __name__ == "__main__":
    main()
