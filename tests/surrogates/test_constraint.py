"""The chance that a constraint is satisfied: against draws, finite differences, and far in the tails."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel, limit_of, targets, zero_of
from pellucid.numerics import Array


def model(warp: str | None = None) -> ConstraintModel:
    rng = np.random.default_rng(0)
    X = rng.random((25, 3))
    y = np.exp(2.0 * X[:, 0] + np.sin(4.0 * X[:, 1])) - 3.0 + 0.3 * rng.standard_normal(25)
    gp = GaussianProcess(warp="auto" if warp else None).fit(X, y)
    return ConstraintModel("c", gp, 0.0)


@pytest.mark.parametrize("warp", [None, "auto"])
def test_the_chance_is_that_of_draws_of_the_function(warp: str | None) -> None:
    fitted = model(warp)
    Z = np.random.default_rng(1).random((12, 3))
    draws = fitted.gp.sample(Z, 40_000, np.random.default_rng(2))
    share = (draws <= 0.0).mean(axis=0)
    chance = fitted.probability(Z)
    error = np.sqrt(chance * (1.0 - chance) / len(draws))
    assert (np.abs(share - chance) <= 4.5 * error + 1e-6).all()
    np.testing.assert_allclose(np.exp(fitted.log_probability(Z)), chance, rtol=1e-10)


def test_gradients_agree_with_finite_differences() -> None:
    fitted, h = model("auto"), 1e-6
    Z = 0.05 + 0.9 * np.random.default_rng(3).random((20, 3))
    value, gradient = fitted.log_probability_with_gradient(Z)
    np.testing.assert_allclose(value, fitted.log_probability(Z), rtol=1e-9)
    for j in range(3):
        step = h * np.eye(3)[j]
        slope = (fitted.log_probability(Z + step) - fitted.log_probability(Z - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=2e-4, atol=1e-5 * np.abs(slope).max())


def test_far_outside_everything_stays_finite_and_points_back() -> None:
    X = np.linspace(0.0, 1.0, 30)[:, None]
    fitted = ConstraintModel("c", GaussianProcess(deterministic=True).fit(X, 1e3 * X[:, 0] - 1.0), 0.0)
    Z = np.array([[0.05], [0.5], [0.999]])
    value, gradient = fitted.log_probability_with_gradient(Z)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    assert (np.diff(value) < 0.0).all()
    assert (gradient < 0.0).all()
    assert np.isfinite(fitted.screened(Z)).all()


@pytest.mark.parametrize(
    ("values", "zero", "limit"),
    [
        ([-2.0, 1.0, 3.0], 0.0, 0.0),
        ([0.0, 1.0, 0.0], -1.0, 0.0),  # 0 or 1
        ([-2.0, -1.0, 0.0, 1.0], 0.0, 0.5),  # Counts.
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], -2.0, 0.0),  # Cut off below 0.
        ([0.0, -4.0], 0.0, 2.0),
        ([0.0, 0.0], -1.0, 0.0),
        ([1.0, 2.0], 0.0, 0.0),
    ],
)
def test_zeros_lie_clearly_on_the_feasible_side(values: list[float], zero: float, limit: float) -> None:
    observed = np.array(values)
    assert zero_of(observed) == zero
    assert limit_of(targets(observed, zero)) == limit


def test_a_constraint_of_zeros_and_ones_is_sure_of_its_trials() -> None:
    X: Array = np.random.default_rng(5).random((40, 2))
    y = (X[:, 0] > 0.6).astype(float)
    z = targets(y, zero_of(y))
    fitted = ConstraintModel("fits", GaussianProcess().fit(X, z), limit_of(z))
    chance = fitted.probability(X)
    assert (chance[y == 0.0] > 0.7).mean() > 0.85
    assert (chance[y == 1.0] < 0.3).mean() > 0.85


def test_belief_in_running_trials_does_not_move_the_mean() -> None:
    fitted = model()
    Z = np.random.default_rng(6).random((4, 3))
    believed = fitted.believe(Z)
    np.testing.assert_allclose(believed.gp.latent(Z)[0], fitted.gp.latent(Z)[0], atol=1e-9)
    assert (believed.gp.latent(Z)[1] <= fitted.gp.latent(Z)[1]).all()
