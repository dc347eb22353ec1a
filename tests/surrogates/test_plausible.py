"""Plausible hyperparameters are draws from the posterior of a fit."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.models import GaussianProcess, fitting
from pellucid.models.hyperparameters import FitProblem, theta_of
from pellucid.models.plausible import plausible


def noisy_wave(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(n)


def thetas(processes: tuple[GaussianProcess, ...]) -> np.ndarray:
    return np.array([theta_of(process.hyperparameters) for process in processes])


def test_draws_have_the_mean_and_spread_of_a_long_markov_chain() -> None:
    X, y = noisy_wave(50, 2)
    gp = GaussianProcess().fit(X, y)
    drawn = np.vstack([thetas(plausible(gp, X, y, count=24, seed=seed)) for seed in range(8)])
    objective, _, _ = FitProblem.of(gp.kernel, X, y, None, fitting.UNKNOWN_NOISE).objective_under(None)
    rng = np.random.default_rng(0)
    theta = theta_of(gp.hyperparameters)
    value, chain = objective(theta)[0], []
    for _ in range(6000):
        step = theta + 0.3 * rng.standard_normal(len(theta))
        inside = (step > objective.low).all() and (step < objective.high).all()
        new = objective(step)[0] if inside else np.inf
        if np.log(rng.random()) < value - new:
            theta, value = step, new
        chain.append(theta)
    expected = np.array(chain[500:])
    assert drawn.mean(axis=0) == pytest.approx(expected.mean(axis=0), abs=0.35)
    assert np.all(drawn.std(axis=0) > 0.5 * expected.std(axis=0))
    assert np.all(drawn.std(axis=0) < 1.6 * expected.std(axis=0))


def test_the_same_seed_gives_the_same_processes_and_the_count_is_kept() -> None:
    X, y = noisy_wave(30, 3)
    gp = GaussianProcess(warp="auto").fit(X, y)
    first, again = plausible(gp, X, y, count=7), plausible(gp, X, y, count=7)
    assert len(first) == 7
    assert [p.hyperparameters for p in first] == [p.hyperparameters for p in again]


def test_every_process_is_conditioned_on_all_the_data_under_the_same_warp() -> None:
    X, y = noisy_wave(320, 2)
    gp = GaussianProcess(warp="auto").fit(X, y)
    for process in plausible(gp, X, y, count=3):
        assert process.n_observed == 320
        assert process.hyperparameters.warp == gp.hyperparameters.warp
        assert np.corrcoef(process.predict(X)[0], y)[0, 1] > 0.9


def test_known_noise_and_deterministic_objectives_are_respected() -> None:
    X, y = noisy_wave(40, 2)
    known = np.full(40, 0.04)
    for process in plausible(GaussianProcess().fit(X, y, known), X, y, known, count=4):
        assert np.isfinite(process.latent_at_observed()).all()
    smooth = np.sin(5.0 * X[:, 0])
    exact = GaussianProcess(deterministic=True).fit(X, smooth)
    for process in plausible(exact, X, smooth, count=4):
        assert process.hyperparameters.noise < 1e-4


@pytest.mark.parametrize("y", [np.zeros(5), np.full(3, 1e300), np.array([2.0])], ids=["zeros", "huge", "one"])
def test_values_that_say_nothing_leave_the_process_as_it_is(y: np.ndarray) -> None:
    X = np.random.default_rng(0).random((len(y), 2))
    gp = GaussianProcess().fit(X, y)
    assert plausible(gp, X, y, count=3) == (gp, gp, gp)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_units_give_finite_processes(scale: float) -> None:
    X, y = noisy_wave(25, 2)
    gp = GaussianProcess(warp="auto").fit(X, scale * y)
    for process in plausible(gp, X, scale * y, count=3):
        assert np.isfinite(process.latent(X)[1]).all()
