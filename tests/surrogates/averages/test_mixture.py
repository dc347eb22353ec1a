"""Effects under several models: the laws of total mean and covariance, contrasts, and how surprising trials widen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pellucid.models import GaussianProcess
from pellucid.models.averages.effects import JACKKNIFE_SHARE, Effects, leave_one_out_residuals, surprise
from pellucid.models.averages.functionals import average
from pellucid.models.averages.mixture import contrasts, mixture

GRID = np.linspace(0.0, 1.0, 7)


@pytest.fixture(scope="module")
def models() -> list[GaussianProcess]:
    rng = np.random.default_rng(0)
    X = rng.random((20, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    fitted = GaussianProcess().fit(X, y)
    h = fitted.hyperparameters
    others = [
        replace(h, lengthscales=tuple(0.7 * l for l in h.lengthscales), outputscale=1.3 * h.outputscale),
        replace(h, y_mean=h.y_mean + 0.3, y_scale=2.0 * h.y_scale, outputscale=h.outputscale / 4, noise=h.noise / 4),
    ]
    return [fitted, *(GaussianProcess.from_hyperparameters(o).condition(X, y) for o in others)]


def test_a_single_model_is_its_own_mixture(models: list[GaussianProcess]) -> None:
    gp = models[0]
    effect = mixture(gp, [gp], average(gp, 0, GRID))
    phi = Effects(gp, [average(gp, 0, GRID)])
    np.testing.assert_allclose(effect.mean, phi.band.mean, rtol=1e-12)
    np.testing.assert_allclose(np.diagonal(effect.covariance), phi.band.sd**2, rtol=1e-7)
    assert (effect.sd >= phi.band.sd).all()


def test_the_scale_and_the_mean_of_a_model_do_not_matter(models: list[GaussianProcess]) -> None:
    """The third model is the first in another unit: its effects, mapped back, are the same."""
    gp, _, same = models
    a, b = (mixture(gp, [model], average(gp, 0, GRID)) for model in (gp, same))
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-9)
    np.testing.assert_allclose(a.covariance, b.covariance, atol=1e-9)


def test_the_variance_is_that_within_models_and_between_them(models: list[GaussianProcess]) -> None:
    gp, other, _ = models
    effect = mixture(gp, [gp, other], average(gp, 0, GRID))
    phis = [Effects(model, [average(model, 0, GRID)]) for model in (gp, other)]
    within = np.mean([p.joint_covariance + JACKKNIFE_SHARE * p.jackknife_covariance for p in phis], axis=0)
    half = 0.5 * (phis[0].band.mean - phis[1].band.mean)
    np.testing.assert_allclose(effect.covariance, within + np.outer(half, half), atol=1e-10)
    np.testing.assert_allclose(effect.mean, 0.5 * (phis[0].band.mean + phis[1].band.mean), atol=1e-12)


def test_contrasts_against_draws() -> None:
    rng = np.random.default_rng(1)
    root = rng.standard_normal((4, 4))
    mean, covariance = rng.standard_normal(4), root @ root.T
    differences, sd = contrasts(mean, covariance)
    draws = mean + rng.standard_normal((200_000, 4)) @ root.T
    for i, j in ((0, 1), (2, 3), (1, 3)):
        assert differences[i, j] == pytest.approx(mean[i] - mean[j])
        assert sd[i, j] == pytest.approx((draws[:, i] - draws[:, j]).std(), rel=0.01)
    assert (sd > 0).all()


def test_residuals_are_those_of_refits_without_the_trial(models: list[GaussianProcess]) -> None:
    """With a constant mean integrated out: a constant kernel of huge variance."""
    gp = models[0]
    data, h = gp.data, gp.hyperparameters
    l = np.array(h.lengthscales)
    C = np.asarray(gp.kernel.cross(data.columns, data.columns, l)) + np.diag(data.noise_ratio) + 1e7
    residual, expected = leave_one_out_residuals(gp)
    for i in (0, 7):
        rest = np.delete(np.arange(20), i)
        weights = np.linalg.solve(C[np.ix_(rest, rest)], C[rest, i])
        assert residual[i] == pytest.approx(data.z[i] - weights @ data.z[rest], abs=1e-4)
        assert expected[i] == pytest.approx(h.outputscale * (C[i, i] - weights @ C[rest, i]), rel=1e-3)


def test_trials_that_the_model_did_not_expect_widen_the_band_up_to_a_limit(models: list[GaussianProcess]) -> None:
    gp = models[0]
    h = gp.hyperparameters
    sure = replace(h, outputscale=1e-3 * h.outputscale, noise=1e-3 * h.noise)
    rng = np.random.default_rng(0)
    X = rng.random((20, 2))
    doubtful = GaussianProcess.from_hyperparameters(sure).condition(X, np.sin(5 * X[:, 0]) + X[:, 1])
    assert 1.0 <= surprise(gp) <= surprise(doubtful) == 4.0


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_observations_are_enough(n: int) -> None:
    gp = GaussianProcess().fit(np.full((n, 2), 0.3), np.linspace(1.0, 2.0, n))
    effect = mixture(gp, [gp, gp], average(gp, 0, GRID))
    assert np.isfinite([effect.mean, effect.sd, effect.raw_sd, effect.jackknife_sd]).all()
    assert np.isfinite(surprise(gp))
