"""Candidates at every value of a parameter, and joint draws of the best of them."""

from __future__ import annotations

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.answers.effects.best_draws import candidates, drawn_best
from pellucid.models import GaussianProcess
from pellucid.numerics import low_discrepancy
from pellucid.space.encoding import Condition, Space

SPACE = Space.of(
    {
        "model": CategoricalDistribution(("a", "b", "c")),
        "x": FloatDistribution(0.0, 1.0),
        "depth": IntDistribution(1, 5),
        "rate": FloatDistribution(0.0, 1.0),
    },
    {"depth": Condition("model", (1,)), "rate": Condition("model", (1, 2))},
)


def loss(X: np.ndarray) -> np.ndarray:
    return (X[:, 1] - 0.4) ** 2 + (X[:, 3] - 0.2) ** 2 + 0.2 * (SPACE.dimensions[0].code(X[:, 0]) == 0)


@pytest.fixture(scope="module")
def gp() -> GaussianProcess:
    X = SPACE.canonical(low_discrepancy(0, 60, np.full(4, 0.3)))
    return GaussianProcess(nominal=SPACE.nominal).fit(X, loss(X))


@pytest.mark.parametrize("column", range(4))
def test_candidates_have_the_value_and_exist(gp: GaussianProcess, column: int) -> None:
    dimension = SPACE.dimensions[column]
    grid = dimension.midpoint(np.arange(dimension.cells)) if dimension.cells else np.linspace(0.0, 1.0, 6)
    X = candidates(gp, SPACE, column, grid)
    assert X.shape[0] == len(grid)
    np.testing.assert_array_equal(X[:, :, column], np.repeat(grid[:, None], X.shape[1], axis=1))
    for rows in X:
        np.testing.assert_array_equal(rows, SPACE.canonical(rows))
        assert SPACE.active(rows)[:, column].all()
    assert X.shape[0] * X.shape[1] <= 480


def test_the_best_candidate_is_close_to_the_optimum(gp: GaussianProcess) -> None:
    """Against a fine lattice of the posterior mean."""
    grid = np.array([0.1, 0.4, 0.9])
    found = [gp.latent_mean(rows).min() for rows in candidates(gp, SPACE, 1, grid)]
    for value, best in zip(grid, found, strict=True):
        lattice = low_discrepancy(0, 20_000, np.full(4, 0.5))
        lattice[:, 1] = value
        truth = gp.latent_mean(SPACE.canonical(lattice))
        assert best <= truth.min() + 0.01 * np.ptp(truth)


def test_draws_of_the_best_are_never_above_those_of_one_candidate(gp: GaussianProcess) -> None:
    draws = drawn_best(gp, [gp, gp], candidates(gp, SPACE, 0, SPACE.dimensions[0].midpoint(np.arange(3))))
    assert draws.best.shape == draws.sure.shape == (192, 3)
    assert (draws.best <= draws.sure + 1e-9).all()
    assert draws.mean.argmin() in (1, 2)
    np.testing.assert_allclose(np.median(draws.sure, axis=0), draws.mean, atol=0.02)


def test_repeated_calls_agree(gp: GaussianProcess) -> None:
    grid = np.linspace(0.0, 1.0, 5)
    first, second = (drawn_best(gp, [gp], candidates(gp, SPACE, 1, grid)) for _ in range(2))
    np.testing.assert_array_equal(first.best, second.best)


def test_values_of_a_parameter_without_effect_reach_the_same() -> None:
    """The best of the others is on a kink, which a search of its own at each value finds more or less well."""
    rng = np.random.default_rng(0)
    space = Space.of({name: FloatDistribution(0.0, 1.0) for name in ("kink", "a", "b", "idle")})
    X = rng.random((100, 4))
    y = 1.5 * np.abs(X[:, 0] - 0.62) + 0.1 * (X[:, 1] - 0.4) ** 2 + 0.05 * X[:, 2]
    gp = GaussianProcess().fit(X, y)
    rows = candidates(gp, space, 3, np.linspace(0.0, 1.0, 24))
    best = np.array([gp.latent_mean(part).min() for part in rows])
    assert np.ptp(best) < 0.005 * np.ptp(gp.data.z)
    draws = drawn_best(gp, [gp], rows)
    assert np.ptp(np.median(draws.best, axis=0)) < 0.005 * np.ptp(y)
