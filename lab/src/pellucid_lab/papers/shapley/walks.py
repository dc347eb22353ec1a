"""The paper's estimator of Shapley values (its Algorithm 2), for comparison."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pellucid.answers.proposals.games import Game
from pellucid.numerics import Array

# Rows that are evaluated at once: bounds the memory.
_ROWS_AT_ONCE = 4096


def single_walks(game: Game, n_samples: int, rng: np.random.Generator) -> Iterator[Array]:
    """For each parameter, (n_samples, t): what it adds to the t terms, each time with a new random order and row."""
    d = len(game.x)
    Z = game.space.canonical(rng.random((1000 * d, d)))
    for j in game.players:
        z = Z[rng.integers(len(Z), size=n_samples)]
        place = np.argsort(np.argsort(rng.random((n_samples, d)), axis=1), axis=1)
        own = place[:, [j]]
        after, before = np.where(place <= own, game.x, z), np.where(place < own, game.x, z)
        yield np.concatenate(
            [
                game.terms(after[i : i + _ROWS_AT_ONCE]) - game.terms(before[i : i + _ROWS_AT_ONCE])
                for i in range(0, n_samples, _ROWS_AT_ONCE)
            ]
        )
