"""Tune a small network on new data, starting from what studies on other data have shown.

The earlier studies are random searches here, but any studies of the same parameters work, whichever sampler ran them.
The command line does the same: `pellucid meta-train --storage URL --studies 'net-*' --out network.ranker`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pellucid

Data = tuple[np.ndarray, np.ndarray]


def data_sets() -> dict[str, Data]:
    """Seven classification problems. The last one is the new data."""
    images, labels = load_digits(return_X_y=True)

    def shuffled(data: Data) -> Data:
        order = np.random.default_rng(0).permutation(len(data[1]))[:240]
        return data[0][order], data[1][order]

    def digits(*kept: int) -> Data:
        rows = np.isin(labels, kept)
        return shuffled((images[rows], labels[rows]))

    return {
        "net-cancer": shuffled(load_breast_cancer(return_X_y=True)),
        "net-wine": shuffled(load_wine(return_X_y=True)),
        "net-3-8-9": digits(3, 8, 9),
        "net-1-7-4": digits(1, 7, 4),
        "net-2-5": digits(2, 5),
        "net-0-6-8": digits(0, 6, 8),
        "net-all-digits": shuffled((images, labels)),
    }


def objective_on(data: Data) -> Callable[[optuna.Trial], float]:
    def objective(trial: optuna.Trial) -> float:
        """Error rate of a network after twelve passes over two thirds of the data."""
        network = MLPClassifier(
            hidden_layer_sizes=(trial.suggest_int("n_units", 2, 64, log=True),) * trial.suggest_int("n_layers", 1, 3),
            activation=trial.suggest_categorical("activation", ["logistic", "tanh", "relu"]),
            solver=trial.suggest_categorical("solver", ["sgd", "adam"]),
            learning_rate_init=trial.suggest_float("learning_rate", 1e-5, 1.0, log=True),
            alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
            batch_size=trial.suggest_int("batch_size", 4, 64, log=True),
            max_iter=12,
            random_state=0,
        )
        third = len(data[1]) // 3
        model = make_pipeline(StandardScaler(), network).fit(data[0][third:], data[1][third:])
        return 1.0 - float(model.score(data[0][:third], data[1][:third]))

    return objective


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--earlier", type=int, default=40, help="trials of each earlier study")
    parser.add_argument("--trials", type=int, default=12, help="trials on the new data")
    parser.add_argument("--storage", default="sqlite:///earlier_studies.db", help="URL of the storage for all studies")
    parser.add_argument("--model", type=Path, default=Path("network.ranker"), help="file to save the trained model to")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", ConvergenceWarning)
    *earlier, (new, new_data) = data_sets().items()
    for k, (name, data) in enumerate(earlier):
        random = optuna.samplers.RandomSampler(seed=k)
        study = optuna.create_study(storage=arguments.storage, study_name=name, sampler=random, load_if_exists=True)
        study.optimize(objective_on(data), n_trials=max(0, arguments.earlier - len(study.trials)))

    sampler = pellucid.RankingSampler.from_studies(arguments.storage, [name for name, _ in earlier], seed=0)
    sampler.save(arguments.model)
    samplers = {"With earlier studies": sampler, "Without them": pellucid.BayesianSampler(seed=0)}
    for heading, tested in samplers.items():
        study = optuna.create_study(study_name=f"{new}: {heading}", sampler=tested)
        study.optimize(objective_on(new_data), n_trials=arguments.trials)
        errors = [trial.value for trial in study.trials if trial.value is not None]
        best = f"best of 5 trials {min(errors[:5]):.1%}, best of {len(errors)} {min(errors):.1%}"
        print(f"{heading}: error rate of the first trial {errors[0]:.1%}, {best}.")
        if tested is sampler:
            print(pellucid.explain_proposal(study, 0))


if __name__ == "__main__":
    main()
