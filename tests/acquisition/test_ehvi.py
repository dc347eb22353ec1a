"""EHVI as an acquisition: gradients by finite differences, screening beside the score, and one objective refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from tests.problems import central_difference

from pellucid.models import GaussianProcess
from pellucid.numerics import Array
from pellucid.pareto import front, volume
from pellucid.search.acquisition.base import AcquisitionFunction, Outcomes, Pool, Situation, latent_rows
from pellucid.search.acquisition.ehvi import EHVI
from pellucid.search.acquisition.feasible import Feasible
from pellucid.search.acquisition.hypervolume import log_ehvi
from pellucid.space.encoding import Space

SPACE = Space.of({name: FloatDistribution(0, 1) for name in "abc"})


def slopes(function: AcquisitionFunction, X: Array) -> Array:
    return np.array([central_difference(lambda x: function.score(x[None])[0], x, 1e-4) for x in X])


def outcomes(k: int) -> Outcomes:
    rng = np.random.default_rng(k)
    X = rng.random((14, 3))
    Y = np.stack([((X - rng.random(3)) ** 2).sum(axis=1) for _ in range(k)], axis=1)
    models = tuple(GaussianProcess().fit(X, y) for y in Y.T)
    latent = latent_rows(models, X)
    return Outcomes(models, latent[front(latent)], latent.max(axis=0) + 0.2)


def situation(of: Outcomes) -> Situation:
    return Situation(of.volume, 14, 3, (), of)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_gradients_and_screening_agree_with_the_score(k: int) -> None:
    of = replace(outcomes(k), width=0.5)
    function = EHVI().bind(of.models[0], situation(of), SPACE)
    X = np.random.default_rng(0).random((6, 3))
    score, slope = function.score_with_gradient(X)
    np.testing.assert_allclose(score, function.score(X), atol=1e-9)
    np.testing.assert_allclose(slope, slopes(function, X), rtol=1e-4, atol=1e-4)
    pool = Pool(X, *of.models[0].screen_with_correlations(X))
    np.testing.assert_allclose(function.screen_pool(pool), score, atol=0.05)
    np.testing.assert_allclose(function(X), score, atol=1e-9)


@pytest.mark.parametrize(("k", "width"), [(2, 1.0), (3, 0.5)])
def test_the_score_is_the_expected_growth_of_the_volume(k: int, width: float) -> None:
    of = replace(outcomes(k), width=width)
    x = np.array([[0.35, 0.6, 0.45]])
    rng = np.random.default_rng(1)
    m, s = (np.array(part)[:, 0] for part in zip(*(model.latent(x) for model in of.models), strict=True))
    draws = m + width * s * rng.standard_normal((20_000, k))
    dominated = (of.front[None] <= draws[:, None]).all(axis=2).any(axis=1)  # Such a draw adds nothing.
    gains = [
        0.0 if adds_nothing else volume(np.vstack([of.front, draw]), of.reference) - of.volume
        for draw, adds_nothing in zip(draws, dominated, strict=True)
    ]
    expected = np.exp(EHVI().bind(of.models[0], situation(of), SPACE).score(x)[0])
    assert abs(np.mean(gains) - expected) < 4.5 * np.std(gains) / np.sqrt(len(gains))


@pytest.mark.parametrize("k", [2, 4])
def test_a_tolerance_leaves_out_what_is_hardly_better_than_the_front(k: int) -> None:
    of = replace(outcomes(k), tolerance=0.1)
    moved = replace(of, front=of.front - 0.1 * np.ptp(of.front, axis=0), tolerance=0.0)
    X = np.random.default_rng(2).random((50, 3))
    score, unmoved = (EHVI().bind(of.models[0], situation(each), SPACE).score(X) for each in (of, outcomes(k)))
    assert (score <= unmoved + 1e-12).all()
    assert (score < unmoved).any()
    np.testing.assert_array_equal(score, EHVI().bind(of.models[0], situation(moved), SPACE).score(X))


def test_a_ranking_leaves_out_far_candidates_only_if_enough_others_are_near() -> None:
    boxes = outcomes(2).boxes
    m = np.vstack([np.zeros((10, 2)), np.full((5, 2), 40.0)])
    s = np.full(m.shape, 0.5)
    every = log_ehvi(m, s, boxes)
    assert np.isfinite(every).all()
    assert every[10:].max() < every[:10].min()
    np.testing.assert_array_equal(log_ehvi(m, s, boxes, enough=11), every)
    ranked = log_ehvi(m, s, boxes, enough=10)
    np.testing.assert_array_equal(ranked[:10], every[:10])
    assert (ranked[10:] == -np.inf).all()


def test_a_chance_multiplies_it() -> None:
    of = outcomes(2)
    function = Feasible(EHVI(), 12, 2, (1.0, 1.0, 1.0)).bind(of.models[0], situation(of), SPACE)
    X = np.random.default_rng(0).random((4, 3))
    np.testing.assert_allclose(function.score_with_gradient(X)[1], slopes(function, X), atol=1e-3)
    again = Feasible.from_settings(Feasible(EHVI(), 12, 2, (1.0, 1.0, 1.0)).settings())
    assert again == Feasible(EHVI(), 12, 2, (1.0, 1.0, 1.0))


def test_one_objective_is_refused() -> None:
    of = outcomes(2)
    with pytest.raises(ValueError, match=r"needs several objectives.*use EI\(\) instead"):
        EHVI().bind(of.models[0], Situation(0.0, 14, 3), SPACE)


def test_receipts_find_it_without_a_sampler() -> None:
    ask = "from pellucid.search.acquisition.base import from_name; print(from_name('EHVI', {}))"
    assert subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout == "EHVI()\n"


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("floor", [-np.inf, -4.0, 100.0])
def test_the_gain_is_exact_above_a_floor(k: int, floor: float) -> None:
    of = outcomes(k)
    function = EHVI().bind(of.models[0], situation(of), SPACE)
    X = np.random.default_rng(3).random((200, 3))
    exact = function.score(X)
    terms = function.terms_from([model.posterior_at(X) for model in function.models], {"gain": floor})
    np.testing.assert_allclose(np.maximum(terms["gain"], floor), np.maximum(exact, floor), rtol=1e-9, atol=1e-9)
