"""The paper's tuning example with our sampler and our explanations; a forest predicts the error of the networks.

Also its small example with an interaction (Table 2), and the cost and accuracy of Shapley values.
"""

from __future__ import annotations

import csv as csv_files
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.study import Study
from optuna.trial import Trial

from pellucid.answers.compare import ablation_path
from pellucid.answers.proposals.background import rows_of
from pellucid.answers.proposals.cases import case_of
from pellucid.answers.proposals.games import Game, estimated
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.answers.shapley import shapley_values
from pellucid.numerics import Array, one_thread
from pellucid.samplers.bayesian import BayesianSampler
from pellucid.search.acquisition import LCB
from pellucid.study.view import StudyView
from pellucid_lab.papers.shapley.tables import source_file
from pellucid_lab.papers.shapley.walks import single_walks

COLUMNS = ("batch_size", "max_dropout", "max_units", "num_layers", "learning_rate", "momentum", "weight_decay")
# The paper's protocol: trials that cover the space, all trials, its acquisition, samples of its estimator, its forest.
N_INIT, N_TRIALS = 28, 140
LAMBDA = 1.0
K_SOURCE = 20_000
N_TREES = 500
# Background rows and replicates of the reference to which estimates are compared: far more than ours.
_REFERENCE_ROWS, _REFERENCE_REPLICATES = 1024, 16


def objective(data: str | None) -> Callable[[Trial], float]:
    """The validation error that a random forest predicts from the paper's 2000 networks."""
    with source_file("lcbench2000.csv", data).open(encoding="utf-8") as file:
        rows = list(csv_files.DictReader(file))
    # One column of the file has "True" in place of 1.
    X = np.array([[1.0 if row[name] == "True" else float(row[name]) for name in COLUMNS] for row in rows])
    y = 1.0 - np.array([float(row["final_val_accuracy"]) for row in rows]) / 100.0
    forest = _forest(X, y, 0)

    def error(trial: Trial) -> float:
        x = [
            2.0 ** trial.suggest_float("log2_batch_size", 4, 9),
            trial.suggest_float("max_dropout", 0, 1),
            2.0 ** trial.suggest_float("log2_max_units", 6, 10),
            trial.suggest_int("num_layers", 1, 5),
            trial.suggest_float("learning_rate", 0, 0.01),
            trial.suggest_float("momentum", 0.1, 1),
            trial.suggest_float("weight_decay", 0, 0.1),
        ]
        return float(forest.predict(np.array([x]))[0])

    return error


def _forest(X: Array, y: Array, seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(N_TREES, random_state=seed, n_jobs=1).fit(X, y)


def open_study(path: Path) -> Study:
    path.parent.mkdir(parents=True, exist_ok=True)
    sampler = BayesianSampler(seed=0, acquisition=LCB(LAMBDA), n_startup_trials=N_INIT)
    return optuna.create_study(
        storage=f"sqlite:///{path}", study_name="forest", sampler=sampler, load_if_exists=True, direction="minimize"
    )


def game_of(study: Study, trial: int) -> Game:
    """The cooperative game that explains a proposal."""
    return case_of(StudyView.of(study, "This experiment"), trial).game


# ---------------------------------------------------------------------- cost and accuracy


@dataclass(frozen=True)
class ShapleyCost:
    """Seconds for one proposal, and root mean square errors as shares of the largest contribution: of the mean, of the
    uncertainty, of their sum; for our estimator and for the paper's with K samples."""

    n_observed: int
    seconds: float
    source_seconds: float
    errors: tuple[float, float, float]
    source_errors: tuple[float, float, float]
    rows: int


def cost(study: Study, trial: int) -> ShapleyCost:
    with one_thread:
        game = game_of(study, trial)
        reference = _reference(game, -mean_shapley(game.gp, game.x, game.space, game.players).values)
        started = time.perf_counter()
        exact = mean_shapley(game.gp, game.x, game.space, game.players)
        estimate = estimated(game, [{}], 0.95, {0: (-exact.values, -exact.average)})
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        theirs = np.array([gains.mean(axis=0) for gains in single_walks(game, K_SOURCE, np.random.default_rng(0))])
        source_seconds = time.perf_counter() - started
    scale = np.abs(reference).max(axis=0)

    def errors(values: Array) -> tuple[float, float, float]:
        a, b, c = np.sqrt(np.mean((values - reference) ** 2, axis=0)) / scale
        return float(a), float(b), float(c)

    return ShapleyCost(
        game.gp.n_observed,
        seconds,
        source_seconds,
        errors(estimate.values),
        errors(game.with_total(theirs)),
        estimate.n_samples,
    )


def _reference(game: Game, exact: Array) -> Array:
    """Contributions from far more rows than an explanation uses."""
    parts = [
        game.shares(rows_of({}, game.space, 0, _REFERENCE_ROWS, 1000 + r), r)[0] for r in range(_REFERENCE_REPLICATES)
    ]
    values = np.mean(parts, axis=0)
    values[:, 0] = exact
    return game.with_total(values)


# ---------------------------------------------------------------------- the example with an interaction


@dataclass(frozen=True)
class Interaction:
    """Table 2, by parameter: gains in the first round of the ablation, and shares of the payout."""

    first_round: Array
    ablation: Array
    shapley: Array
    exact_values: Array


def interaction_example(seed: int = 0) -> dict[str, Interaction]:
    """u = theta_1 + theta_2 theta_3, minimised, at (0, 0, 0): exact, and a forest fitted to 10,000 noisy values."""
    rng = np.random.default_rng(seed)
    X = rng.random((10_000, 3))
    forest = _forest(X, _example(X) + 0.05 * rng.standard_normal(len(X)), seed)
    grid = np.array([[a, b, c] for a in (0.25, 0.75) for b in (0.25, 0.75) for c in (0.25, 0.75)])
    out = {}
    for name, fn, background in (
        ("the function", lambda R: -_example(R), grid),
        ("a random forest", lambda R: -forest.predict(R), rng.random((1000, 3))),
    ):
        path = ablation_path(fn, np.full(3, 0.5), np.zeros(3))
        values = shapley_values(fn, np.zeros(3), background, "exact")
        out[name] = Interaction(
            path.first_round, path.gains / path.gains.sum(), values.values / values.payout, np.asarray(values.values)
        )
    return out


def _example(X: Array) -> Array:
    return np.asarray(X[:, 0] + X[:, 1] * X[:, 2])
