"""Hybrids from the factors of the kernel: coalitions and walks have the values of the acquisition itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.trial import Trial

import pellucid
from pellucid.explain import shapley
from pellucid.explain.proposals.background import rows_of
from pellucid.explain.proposals.cases import case_of
from pellucid.explain.proposals.games import Game
from pellucid.study.view import StudyView


def mixed(trial: Trial) -> float:
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    depth = trial.suggest_int("depth", 1, 8)
    return sum((trial.suggest_float(f"x{i}", 0, 1) - 0.3) ** 2 for i in range(6)) + 0.1 * depth + (kind == "b")


@pytest.fixture(scope="module")
def game() -> Game:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=8))
    study.optimize(mixed, n_trials=24)
    return case_of(StudyView.of(study, "test"), 23).game


# All parameters, and some: the others keep the values of the background.
@pytest.mark.parametrize("first", [0, 3])
# A count that no number of rows in memory at once divides.
@pytest.mark.parametrize("rows", [1, 97])
def test_values_of_coalitions(game: Game, first: int, rows: int) -> None:
    some = replace(game, players=game.players[first:])
    Z = rows_of({}, game.space, 0, 1024, 0)[:rows]
    expected = shapley.coalition_values(some.terms, some.x, Z, players=some.players)
    np.testing.assert_allclose(some.coalition_values(Z), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("rows", [1, 600])
def test_gains_of_walks(game: Game, first: int, rows: int) -> None:
    some = replace(game, players=game.players[first:])
    Z = rows_of({}, game.space, 0, 1024, 0)[:rows]
    orders = np.argsort(np.random.default_rng(rows).random((rows, len(some.players))), axis=1)
    expected = shapley.gains_of_walks(some.terms, some.x, Z, some.players, orders)
    np.testing.assert_allclose(some.gains_of_walks(Z, orders), expected, rtol=1e-9, atol=1e-11)
