"""Hyperparameters of many rows or columns: starts are compared on few rows, and the best is followed on more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import noisy_problem

from pellucid.models import GaussianProcess, fitting
from pellucid.models.hyperparameters import FitProblem, theta_of
from pellucid.numerics import Array

N = 1600


def objective_of(gp: GaussianProcess, X: Array, y: Array) -> float:
    """What a fit minimises, at the hyperparameters of a process."""
    problem = FitProblem.of(gp.kernel, X, y, None, fitting.UNKNOWN_NOISE)
    return problem.objective_under(gp.hyperparameters.warp)[0].value(theta_of(gp.hyperparameters))


@pytest.mark.parametrize("shape", [(1, 1), (400, 3), (1500, 100)])
def test_a_small_problem_is_fitted_on_the_same_rows_from_every_start(shape: tuple[int, int]) -> None:
    assert fitting.fit_sizes(*shape) == (fitting.MAX_FIT_POINTS, fitting.MAX_FIT_POINTS)


@pytest.mark.parametrize(("shape", "more"), [((1501, 2), (3000, 2)), ((30, 101), (30, 400)), ((10, 400), (10, 9000))])
def test_more_columns_leave_fewer_rows_and_more_rows_leave_as_many(
    shape: tuple[int, int], more: tuple[int, int]
) -> None:
    few, rows = fitting.fit_sizes(*shape)
    assert few < rows <= fitting.MAX_FIT_POINTS
    smaller = fitting.fit_sizes(*more)
    assert smaller == (few, rows) if shape[1] == more[1] else smaller < (few, rows)
    assert min(smaller) > 10


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_optimum_is_that_of_all_starts_on_all_rows(monkeypatch: pytest.MonkeyPatch, noise: float) -> None:
    X, y = noisy_problem(seed=5, n=N, d=3, noise=noise)
    fitted = GaussianProcess().learn(X, y)
    reached = objective_of(fitted, X, y)
    monkeypatch.setattr(fitting, "fit_sizes", lambda n, d: (fitting.MAX_FIT_POINTS, fitting.MAX_FIT_POINTS))
    # One unit of a log posterior: much less than what the trials leave open.
    assert reached == pytest.approx(objective_of(GaussianProcess().learn(X, y), X, y), abs=1.0)


def test_a_warm_start_in_a_poor_optimum_leaves_it_only_with_a_restart() -> None:
    X, y = noisy_problem(seed=5, n=N, d=3, noise=0.3)
    good = GaussianProcess().learn(X, y)
    # Short lengthscales and no noise: all ups and downs are taken for the function's.
    poor = replace(good.hyperparameters, lengthscales=(5e-3,) * 3, noise=1e-8)
    stays, leaves = (GaussianProcess().learn(X, y, start=poor, restart=restart) for restart in (False, True))
    assert objective_of(leaves, X, y) < objective_of(good, X, y) + 1.0
    assert objective_of(stays, X, y) > objective_of(good, X, y) + 10.0


@pytest.mark.parametrize(("n", "d"), [(N, 2), (150, 120)])
@pytest.mark.parametrize("n_known", [1, 100])
def test_known_noise_of_some_rows_is_used_whether_or_not_the_few_rows_have_it(n: int, d: int, n_known: int) -> None:
    X, y = noisy_problem(seed=3, n=n, d=d)
    variance = np.full(n, np.nan)
    variance[np.argsort(y)[-n_known:]] = 0.01
    gp = GaussianProcess(warp="auto").fit(X, y, variance)
    assert np.corrcoef(gp.predict(X)[0], y)[0, 1] > 0.8


def test_losses_that_differ_in_one_row_only_are_fitted() -> None:
    X, y = noisy_problem(seed=3, n=N, d=2)[0], np.zeros(N)
    y[700] = 1.0
    gp = GaussianProcess(warp="auto").fit(X, y)
    assert np.isfinite(gp.predict(X[:20])).all()
