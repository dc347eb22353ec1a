"""Hybrids from the factors of the kernel: coalitions and walks have the values of the acquisition itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.trial import Trial

import pellucid
from pellucid.answers import shapley
from pellucid.answers.proposals import games
from pellucid.answers.proposals.background import rows_of
from pellucid.answers.proposals.cases import case_of
from pellucid.answers.proposals.games import Game
from pellucid.models.posterior import Posterior
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


# ---------------------------------------------------------------------- several models


def measured(trial: Trial) -> tuple[float, float]:
    """Two objectives and a constraint; every second row shares the kind of a proposal, and some its depth."""
    kind = trial.suggest_categorical("kind", ["a", "b"])
    depth, x, y = trial.suggest_int("depth", 1, 6), trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.set_constraint("memory", x + y - 1.4)
    return (x - 0.3) ** 2 + 0.1 * (kind == "b") + 0.02 * depth, (y - 0.8) ** 2 + 0.5 * x


@pytest.fixture(scope="module")
def several() -> Game:
    study = optuna.create_study(
        directions=["minimize", "minimize"], sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=12)
    )
    study.optimize(measured, n_trials=30)
    return case_of(StudyView.whole(study), 29).game


def evaluated(game: Game, X: np.ndarray) -> np.ndarray:
    """The terms of every configuration, one by one and with the sds of all models."""
    terms = game.function.terms(game.space.canonical(X))
    return np.maximum(np.stack([terms[name] for name in game.names], axis=1), game._floor)


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("rows", [1, 97])
def test_coalitions_of_several_models_have_the_values_of_their_configurations(
    several: Game, first: int, rows: int
) -> None:
    some = replace(several, players=several.players[first:])
    Z = rows_of({}, some.space, 0, 1024, 0)[:rows]
    Z[0] = some.x  # With every player, and without any.
    expected = shapley.coalition_values(lambda X: evaluated(some, X), some.x, Z, players=some.players)
    assert (expected > some._floor + 1.0).any()
    np.testing.assert_allclose(some.coalition_values(Z), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(some.terms(Z), evaluated(some, Z), rtol=1e-9, atol=1e-9)


def test_walks_of_several_models_have_the_values_of_their_configurations(several: Game) -> None:
    Z = rows_of({}, several.space, 0, 64, 0)
    orders = np.argsort(np.random.default_rng(0).random((64, len(several.players))), axis=1)
    expected = shapley.gains_of_walks(lambda X: evaluated(several, X), several.x, Z, several.players, orders)
    np.testing.assert_allclose(several.gains_of_walks(Z, orders), expected, rtol=1e-9, atol=1e-9)


def test_a_configuration_is_evaluated_once_and_exactly_only_where_it_matters(
    several: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, exact = [], []
    at_most, where = Posterior.sd_at_most, Posterior.sd_where
    monkeypatch.setattr(Posterior, "sd_at_most", lambda self: asked.append(len(self.mean)) or at_most(self))
    monkeypatch.setattr(Posterior, "sd_where", lambda self, points: exact.append(points.sum()) or where(self, points))
    Z = rows_of({}, several.space, 0, 64, 0)
    several.coalition_values(Z)
    different = (Z[:, several.players] != several.x[list(several.players)]).sum(axis=1)
    assert sum(asked) == len(several.function.models) * int((2**different).sum())
    assert sum(asked) < 0.75 * len(several.function.models) * len(Z) * 2 ** len(several.players)
    assert sum(exact) < 0.75 * sum(asked)


def test_the_limit_on_the_work_counts_every_model(several: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much work as 64 rows in every replicate, which was three times as much with three models."""
    work = games._REPLICATES * several.evaluations * sum(model.n_observed**2 for model in several.function.models)
    assert len(several.function.models) == 3
    monkeypatch.setattr(games, "_MOST_OPERATIONS", 64 * work)
    assert games._row_counts(several) == (64, 64)
