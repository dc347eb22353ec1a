"""Repeated, constant, extreme and meaningless data; changes of unit and order."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from tests.problems import noisy_problem
from tests.surrogates.processes import skewed, somewhere

from pellucid.models import GaussianProcess
from pellucid.models.kernels import KERNELS
from pellucid.numerics import Array

# -------------------------------------------------------------------------------------------- bad data


LINE = np.linspace(0, 1, 9)[:, None] * np.array([[1.0, 0.6]])


BAD: dict[str, tuple[Array, Array]] = {
    "one point": (LINE[:1], np.array([3.0])),
    "two points": (LINE[:2], np.array([3.0, 4.0])),
    "one point twice": (LINE[[0, 0]], np.array([3.0, 3.0])),
    "two identical rows with different y": (LINE[[0, 0]], np.array([3.0, 4.0])),
    "identical rows with different y among others": (LINE[[0, 1, 2, 3, 3, 3, 8]], np.array([1.0, 2, 3, 4, -4, 9, 0])),
    "all rows identical": (LINE[[4] * 9], np.arange(9.0)),
    "every row twice": (np.repeat(LINE, 2, axis=0), np.repeat(np.sin(np.arange(9.0)), 2)),
    "every row five times": (np.repeat(LINE, 5, axis=0), np.repeat(np.sin(np.arange(9.0)), 5)),
    "nearly identical rows": (LINE[[4] * 9] + 1e-13 * np.arange(9)[:, None], np.arange(9.0)),
    "constant": (LINE, np.full(9, 7.25)),
    "constant zero": (LINE, np.zeros(9)),
    "constant huge": (LINE, np.full(9, -1e300)),
    "constant up to rounding": (LINE, 1.0 + 1e-16 * np.arange(9)),
    "nearly constant": (LINE, 1e6 + 1e-9 * np.arange(9)),
    "two values": (LINE, np.array([0.0, 1, 0, 1, 0, 1, 1, 0, 1])),
    "one outlier": (LINE, np.array([0.1, 0.3, 0.2, 0.5, 1e9, 0.4, 0.3, 0.2, 0.6])),
    "one huge outlier": (LINE, np.array([0.1, 0.3, 0.2, 0.5, 1e200, 0.4, 0.3, 0.2, 0.6])),
    "one huge negative outlier": (LINE, np.array([0.1, 0.3, 0.2, 0.5, -1e200, 0.4, 0.3, 0.2, 0.6])),
    "huge": (LINE, 1e200 * np.exp(np.sin(3.0 * np.arange(9)))),
    "both ends of what a study hands over": (LINE, 1e306 * np.array([-1, 1, 0, 0.1, 0.2, -0.3, -0.5, 0.8, 0.9])),
    "both ends of the number line": (LINE, np.array([-1.7e308, 1.7e308, 0, 1, 2, 3, -5, 8, 1e300])),
    "tiny": (LINE, 1e-250 * np.arange(9.0) ** 2),
    "subnormal": (LINE, 5e-324 * np.arange(9)),
    "at the corners": (np.round(LINE), np.arange(9.0)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("choice", [None, "auto"], ids=["plain", "warped"])
@pytest.mark.parametrize("deterministic", [False, True], ids=["noisy", "deterministic"])
def test_any_data_set_gives_finite_predictions(case: str, choice: str | None, deterministic: bool) -> None:
    X, y = BAD[case]
    gp = GaussianProcess(warp=choice, deterministic=deterministic).fit(X, y)
    points = np.vstack([somewhere(5, 2), X[:1]])
    assert np.isfinite(gp.log_marginal_likelihood())
    for model in (gp, gp.believe(X[:1]), gp.believe(points), gp.update(points[:1], y[:1])):
        for values in (*model.predict(points), *model.latent_with_gradient(points), *model.screen(points)):
            assert np.isfinite(values).all()
        assert (model.predict(points)[1] > 0).all()
    assert np.isfinite(gp.sample(points, 5, np.random.default_rng(0))).all()
    assert np.isfinite(gp.quantile(points, 0.05)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "case", ["every row five times", "nearly identical rows", "two identical rows with different y"]
)
def test_repeated_rows_give_finite_predictions_with_any_kernel(kernel: str, case: str) -> None:
    X, y = BAD[case]
    gp = GaussianProcess(kernel, deterministic=True).fit(X, y)
    mean, sd = gp.predict(somewhere(20, 2))
    assert np.isfinite(mean).all()
    assert (sd > 0).all()


def test_hardly_any_noise_on_many_repeated_rows_needs_jitter_and_gets_it() -> None:
    X, y = BAD["every row five times"]
    h = replace(GaussianProcess("rbf-radial").fit(X, y).hyperparameters, lengthscales=(50.0, 50.0), noise=1e-30)
    gp = GaussianProcess.from_hyperparameters(h).condition(X, y)
    assert gp.data.factor.jitter > 0
    assert np.isfinite(np.stack(gp.predict(somewhere(20, 2)))).all()


def test_constant_data_predict_their_constant() -> None:
    for constant in (7.25, -3.0, 0.0):
        mean, sd = GaussianProcess(warp="auto").fit(LINE, np.full(9, constant)).predict(somewhere(5, 2))
        np.testing.assert_allclose(mean, constant, atol=1e-12)
        assert (sd > 0).all()


def test_a_process_without_data_predicts_its_prior() -> None:
    gp = GaussianProcess().fit(np.empty((0, 2)), np.empty(0))
    mean, sd = gp.latent(somewhere(4, 2))
    np.testing.assert_allclose(mean, 0.0)
    np.testing.assert_allclose(sd, np.sqrt(gp.hyperparameters.outputscale))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((3, 2)), np.zeros(2), "same number of rows, but got 3 and 2"),
        (np.array([[0.0], [np.nan]]), np.zeros(2), "must be finite"),
        (np.zeros((2, 1)), np.array([0.0, np.inf]), "must be finite"),
    ],
)
def test_meaningless_data_are_refused(X: Array, y: Array, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianProcess().fit(X, y)


def test_using_a_process_before_fitting_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"call `\.fit"):
        GaussianProcess().predict(np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"call `\.fit"):
        _ = GaussianProcess().hyperparameters
    fitted = GaussianProcess().fit(LINE, np.arange(9.0))
    with pytest.raises(ValueError, match="must have 2 columns"):
        GaussianProcess.from_hyperparameters(fitted.hyperparameters).condition(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="'auto'"):
        GaussianProcess(warp="log")
    with pytest.raises(ValueError, match="`kernel` must be one of"):
        GaussianProcess("cubic")


# ---------------------------------------------------------------------------------------- equivariance


@pytest.mark.parametrize("choice", [None, "auto"], ids=["plain", "warped"])
@pytest.mark.parametrize(("a", "b"), [(1.0, 100.0), (1e-6, 0.0), (1e6, -5e5), (0.37, -2.1), (1e-3, 3.0)])
@pytest.mark.parametrize("kernel", ["matern32", "rbf-radial"])
def test_predictions_follow_a_change_of_the_unit_of_y(choice: str | None, a: float, b: float, kernel: str) -> None:
    X, y = skewed(17, 25, 2)
    points = somewhere(20, 2)
    mean, sd = GaussianProcess(kernel, warp=choice).fit(X, y).predict(points)
    changed = GaussianProcess(kernel, warp=choice).fit(X, a * y + b)
    assert (changed.hyperparameters.warp is None) == (choice is None)
    new_mean, new_sd = changed.predict(points)
    np.testing.assert_allclose(new_mean, a * mean + b, rtol=1e-6, atol=1e-6 * a * float(y.std()))
    np.testing.assert_allclose(new_sd, a * sd, rtol=1e-6, atol=1e-6 * a * float(y.std()))


def test_predictions_do_not_depend_on_the_order_of_rows() -> None:
    X, y = noisy_problem(18, 30, 3)
    shuffled = np.random.default_rng(0).permutation(30)
    first = GaussianProcess(warp="auto").fit(X, y).predict(somewhere(10, 3))
    second = GaussianProcess(warp="auto").fit(X[shuffled], y[shuffled]).predict(somewhere(10, 3))
    for actual, expected in zip(first, second, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


# -------------------------------------------------------------------------------- losses that diverged


@pytest.mark.parametrize("warp", ["auto", None])
@pytest.mark.parametrize("row", [3, 611, 999])
def test_one_loss_that_diverged_does_not_wreck_a_large_model(warp: Literal["auto"] | None, row: int) -> None:
    """Hyperparameters of large data come from a part of it; a loss of ten million must be in that part."""
    rng = np.random.default_rng(0)
    X = rng.random((1000, 4))
    y = 1e-3 + ((X - 0.4) ** 2).sum(axis=1) ** 2
    y[row] = 1e7
    gp = GaussianProcess(warp=warp).fit(X, y)
    assert np.abs(gp.data.z).max() < 50.0
    if warp == "auto":
        fresh = rng.random((500, 4))
        far = np.abs(fresh - X[row]).max(axis=1) > 0.3
        truth = 1e-3 + ((fresh - 0.4) ** 2).sum(axis=1) ** 2
        mean = gp.quantile(fresh, 0.5)
        assert np.median(np.abs(mean - truth)[far]) < 0.05
        assert (mean > -0.1).all()
