"""Ranks of an ensemble: averages, the expected best, and their scale."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from tests.surrogates.ranking.bowls import bowl

from pellucid.models.ranking.ensemble import RankingEnsemble, RankScale, average_ranks, expected_best, rank_posterior
from pellucid.numerics import Array


def test_average_ranks_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for shape in [(1,), (7,), (3, 20), (2, 3, 50)]:
        for scores in (rng.standard_normal(shape), rng.integers(0, 4, shape).astype(float), np.zeros(shape)):
            assert average_ranks(scores) == pytest.approx(rankdata(-scores, method="average", axis=-1))
    assert average_ranks(np.empty((3, 0))).shape == (3, 0)


def test_the_posterior_of_ranks_is_over_members() -> None:
    mean, sd = rank_posterior(np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]]))
    assert mean.tolist() == [1.0, 2.5, 2.5]
    assert sd.tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 10])
def test_the_expected_best_of_a_draw_is_that_of_all_draws(k: int) -> None:
    values = np.sort(np.random.default_rng(k).standard_normal(6).round(1))
    every = [max(draw) for draw in combinations(values.tolist(), min(k, 6))]
    assert expected_best(values, k) == pytest.approx(np.mean(every), abs=1e-12)


def test_the_expected_best_of_large_tables_is_finite() -> None:
    values = np.arange(100_000.0)
    assert expected_best(values, 10) == pytest.approx(10 / 11 * 100_001 - 1, rel=1e-6)


class Rounded:
    """Two members whose scores often tie."""

    def scores(self, X: Array) -> Array:
        return np.stack([X[:, 0].round(1), -X[:, 1].round(1)])


def test_a_scale_counts_better_configurations_and_half_of_equal_ones() -> None:
    rng = np.random.default_rng(0)
    fitted: Any = Rounded()
    reference, X = rng.random((40, 2)), rng.random((15, 2))
    mean, sd = RankScale.of(fitted, reference)(X)
    reference_scores, scores = fitted.scores(reference), fitted.scores(X)
    better, level = (
        reference_scores[:, None, :] > scores[:, :, None],
        reference_scores[:, None, :] == scores[:, :, None],
    )
    ranks = 1.0 + better.sum(axis=2) + 0.5 * level.sum(axis=2)
    assert level.any()
    assert mean == pytest.approx(ranks.mean(axis=0), abs=1e-12)
    assert sd == pytest.approx(ranks.std(axis=0), abs=1e-12)


def test_a_scale_does_not_depend_on_the_other_queries(trained: RankingEnsemble) -> None:
    scale = RankScale.of(trained.fit(*bowl(7, 12)[1:]), np.random.default_rng(1).random((64, 2)))
    X = np.random.default_rng(2).random((10, 2))
    assert scale(X)[0][:3] == pytest.approx(scale(X[:3])[0], abs=0.51)
