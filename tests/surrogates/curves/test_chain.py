"""The chain of regressions: its closed forms against brute force and simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pellucid.models.curves import chain as module
from pellucid.models.curves.chain import Between, Chain, Regression, fit_chain
from pellucid.models.curves.neighbours import Neighbours
from pellucid.numerics import Array


def walks(count: int, size: int, seed: int = 0) -> tuple[Array, Array]:
    """Curves that slow down, and two features of which the first matters."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(count, 2))
    V = np.zeros((count, size))
    V[:, 0] = rng.normal(size=count) + 0.5 * F[:, 0]
    for k in range(1, size):
        V[:, k] = 0.9 * V[:, k - 1] + 0.2 * F[:, 0] + rng.normal(size=count) / (1 + k)
    return V, F


def alone(chain: Chain) -> Chain:
    """The same chain without its neighbours: with noise alone, no curve tells anything about another."""
    return replace(chain, neighbours=replace(chain.neighbours, noise=1.0))


def sharp(chain: Chain) -> Chain:
    """The same chain alone, with coefficients that are known."""
    known = [Regression(r.b, 0.0 * r.S, r.variance, r.freedom, r.slopes, 0.0 * r.spread) for r in chain.regressions]
    return replace(alone(chain), regressions=tuple(known))


def weights_of_all(neighbours: Neighbours, f: Array) -> tuple[Array, float]:
    """Weights of all complete curves, 0 for those that are not among the nearest, and what is left of the variance."""
    unit = replace(neighbours, E=np.eye(len(neighbours.F)))
    w, _, left = unit.corrections(f[None])
    return w[0], float(left[0])


def joint(chain: Chain, F: Array) -> tuple[Array, Array]:
    """Mean and covariance of a curve with these features, from the equations of a sharp chain, written out."""
    size = len(chain.regressions)
    offset, B = np.zeros(size), np.zeros((size, size))
    for k, regression in enumerate(chain.regressions):
        zero = np.zeros((1, k))
        offset[k] = module._terms(zero, F[None])[0] @ regression.b
        for j in range(k):
            unit = zero.copy()
            unit[0, j] = 1.0
            B[k, j] = module._terms(unit, F[None])[0] @ regression.b - offset[k] + (j == k - 1)
    inverse = np.linalg.inv(np.eye(size) - B)
    noise = np.diag([regression.variance for regression in chain.regressions])
    return inverse @ offset, inverse @ noise @ inverse.T


@pytest.mark.parametrize("reached", [0, 1, 3, 5])
def test_ends_of_a_known_chain_are_the_conditionals_of_a_multivariate_t(reached: int) -> None:
    V, F = walks(60, 6)
    chain = sharp(fit_chain(V, F))
    partial = V[:1].copy()
    partial[0, reached:] = np.nan
    mean, scale, freedom = chain.ends(partial, F[:1])
    m, C = joint(chain, F[0])
    past, nu = slice(0, reached), module._RESTLESSNESS
    gain = np.linalg.solve(C[past, past], C[past, -1]) if reached else np.zeros(0)
    gap = V[0, past] - m[past]
    distance = gap @ np.linalg.solve(C[past, past], gap) if reached else 0.0
    variance = C[-1, -1] - gain @ C[past, -1]
    np.testing.assert_allclose(mean[0], m[-1] + gain @ gap, rtol=1e-9)
    np.testing.assert_allclose(scale[0] ** 2, variance * (nu + distance) / (nu + reached), rtol=1e-9)
    assert freedom[0] == min(nu + reached, chain.regressions[-1].freedom)


def test_a_report_between_two_positions_is_conditioned_on_exactly() -> None:
    V, F = walks(60, 6)
    chain = sharp(fit_chain(V, F))
    partial = V[:1].copy()
    partial[0, 3:] = np.nan
    share, noise, report = 0.3, 0.01, float(V[0, 2] + 0.1)
    between = Between(np.array([report]), np.array([share]), np.array([noise]))
    mean, scale, freedom = chain.ends(partial, F[:1], between)
    # The same, with the report as a position of its own in the joint distribution of the curve.
    m, C = joint(chain, F[0])
    H = np.zeros((4, 6))
    H[[0, 1, 2], [0, 1, 2]] = 1.0
    H[3, [2, 3]] = 1.0 - share, share
    S = H @ C @ H.T + np.diag([0.0, 0.0, 0.0, noise])
    gap = np.append(V[0, :3], report) - H @ m
    gain = np.linalg.solve(S, H @ C[:, -1])
    np.testing.assert_allclose(mean[0], m[-1] + gain @ gap, rtol=1e-9)
    nu, r = module._RESTLESSNESS, gap[:3] @ np.linalg.solve(S[:3, :3], gap[:3])
    r4 = gap @ np.linalg.solve(S, gap) - r
    tau = (nu + r + share * r4) / (nu + 3 + share)
    np.testing.assert_allclose(scale[0] ** 2, (C[-1, -1] - gain @ H @ C[:, -1]) * tau, rtol=1e-9)
    assert freedom[0] == nu + 3 + share


@pytest.mark.parametrize("noise", [1.0, 0.3])
def test_moments_with_uncertain_coefficients_are_those_of_simulated_curves(noise: float) -> None:
    V, F = walks(13, 5)
    fitted = fit_chain(V[1:], F[1:])
    chain = replace(fitted, neighbours=replace(fitted.neighbours, noise=noise))
    rng, draws = np.random.default_rng(1), 200_000
    partial = V[:1].copy()
    partial[0, 2:] = np.nan
    mean, covariance, _ = chain._moments(partial, F[:1], np.array([2]))
    w, left = weights_of_all(chain.neighbours, F[0])
    assert (left < 0.9) == (noise < 1.0)
    v = np.zeros((draws, 5))
    v[:, :2] = V[0, :2]
    for k in range(2, 5):
        regression = chain.regressions[k]
        b = rng.multivariate_normal(regression.b, regression.S, draws)
        g = module._terms(v[:, :k], np.repeat(F[:1], draws, axis=0))
        # The errors of the other curves change with the coefficients that they are errors of.
        others = w @ (V[1:, k] - V[1:, k - 1]) - b @ (w @ module._terms(V[1:, :k], F[1:]))
        v[:, k] = v[:, k - 1] + (b * g).sum(axis=1) + others
        v[:, k] += rng.normal(size=draws) * np.sqrt(left * regression.variance)
    # Four standard errors of the simulation.
    np.testing.assert_allclose(v.mean(axis=0), mean[0], atol=4 * v.std(axis=0).max() / np.sqrt(draws))
    np.testing.assert_allclose(np.cov(v.T), covariance[0], atol=4 * 2 * v.var(axis=0).max() / np.sqrt(draws))


def test_a_regression_is_the_posterior_of_the_conjugate_prior() -> None:
    V, F = walks(40, 4)
    Z = np.hstack([np.ones((40, 1)), F, V, np.diff(V, axis=1, prepend=0.0)])
    regression = module._regression(Z.T @ Z, module._columns(3, 2, 4), 40, 3, 2)
    y = V[:, 3] - V[:, 2]
    g = np.column_stack([np.ones(40), F, V[:, 2], V[:, 2] - V[:, 1], V[:, 1] - V[:, 0]])
    square = np.mean(y**2)
    variances = [4.0 * square, 0.05 * square, 0.05 * square, 0.3, 0.9, 0.9]
    # Marginal covariance of y, in units of the prior's sigma^2 = 0.3 * square.
    B = np.diag(variances) / (0.3 * square)
    C = g @ B @ g.T + np.eye(40)
    np.testing.assert_allclose(regression.b, B @ g.T @ np.linalg.solve(C, y), rtol=1e-8)
    rate = 1.5 * 0.3 * square + 0.5 * y @ np.linalg.solve(C, y)
    np.testing.assert_allclose(regression.variance, rate / (1.5 + 20.0 - 1.0), rtol=1e-8)
    posterior = B - B @ g.T @ np.linalg.solve(C, g @ B)
    np.testing.assert_allclose(regression.S, regression.variance * posterior, rtol=1e-6, atol=1e-12)
    assert regression.freedom == 43.0


def test_residuals_are_those_of_a_fit_without_the_curve() -> None:
    V, F = walks(30, 3)
    Z = np.hstack([np.ones((30, 1)), F, V, np.diff(V, axis=1, prepend=0.0)])
    columns = module._columns(2, 2, 3)
    full = module._regression(Z.T @ Z, columns, 30, 2, 2)
    r = module._residuals(Z, np.ones(30), columns, full)
    g, y = module._terms(V[:, :2], F), V[:, 2] - V[:, 1]
    precision = full.variance * np.linalg.inv(full.S)  # Of beta, prior included, in units of the residual variance.
    for i in range(30):
        without = precision - np.outer(g[i], g[i])
        b = np.linalg.solve(without, precision @ full.b - g[i] * y[i])
        variance = full.variance * (1.0 + g[i] @ np.linalg.solve(without, g[i]))
        np.testing.assert_allclose(r[i], (y[i] - g[i] @ b) / np.sqrt(variance), rtol=1e-8)


def test_stopped_curves_teach_the_positions_that_they_reached_and_no_others() -> None:
    V, F = walks(80, 6)
    stopped = V.copy()
    stopped[20:, 3:] = np.nan
    whole, part, few = fit_chain(V, F), fit_chain(stopped, F), fit_chain(V[:20], F[:20])
    for k in range(3):  # Only the weights of restless curves differ, which look at the whole curve.
        np.testing.assert_allclose(part.regressions[k].slopes, whole.regressions[k].slopes, atol=0.1)
        assert part.regressions[k].freedom == whole.regressions[k].freedom
    for k in range(3, 6):
        assert part.regressions[k].freedom == few.regressions[k].freedom


def test_stopping_the_worse_half_does_not_bias_the_ends() -> None:
    V, F = walks(4_000, 6)
    stopped = V.copy()
    stopped[V[:, 1] > np.median(V[:, 1]), 2:] = np.nan
    partial = V.copy()
    partial[:, 2:] = np.nan
    mean = fit_chain(stopped, F).ends(partial, F)[0]
    left = V[:, -1] - mean
    worse = V[:, 1] > np.median(V[:, 1])
    # Four standard errors, and as much again for coefficients that were learned from the better half alone.
    assert abs(left[worse].mean()) < 8 * left.std() / np.sqrt(worse.sum())


def test_a_diverged_curve_neither_moves_the_others_nor_is_predicted_surely() -> None:
    V, F = walks(40, 6)
    bad = np.vstack([V, V[:1]])
    bad[-1, 2:] += 50.0
    partial = V[:5].copy()
    partial[:, 4:] = np.nan
    clean, spoilt = fit_chain(V, F), fit_chain(bad, np.vstack([F, F[:1]]))
    scale = clean.ends(partial, F[:5])[1]
    # Without weights a residual of 50 among 40 of about 0.3 would widen the predictions by an order of magnitude.
    assert np.all(spoilt.ends(partial, F[:5])[1] < 5.0 * scale)
    odd = partial.copy()
    odd[:, 2:4] += 50.0
    assert np.all(clean.ends(odd, F[:5])[1] > 1.5 * scale)


def test_a_known_end_is_certain() -> None:
    V, F = walks(20, 4)
    mean, scale, _ = fit_chain(V, F).ends(V, F)
    np.testing.assert_array_equal(mean, V[:, -1])
    np.testing.assert_array_equal(scale, 0.0)
