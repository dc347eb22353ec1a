"""Several processes in place of one: hyperparameters drawn from their posterior, given the warp of a fitted process.

One fit says how uncertain the function is if its lengthscales, noise, scale and mean are right. With some dozen trials
they are not known well, and answers that people act on must include that.

Notation
    theta    log lengthscales and log noise ratio (and log s with known noise), as in `fitting`;  U(theta) its objective
    q        multivariate t around the fitted theta with the curvature of U, from which theta is proposed
    w        importance weights exp(-U) / q, truncated;  s, b  scale and mean given theta, drawn exactly
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pellucid.models import fitting
from pellucid.models.gp import GaussianProcess
from pellucid.models.hyperparameters import FitProblem, theta_of, vary
from pellucid.numerics import Array, stream

# Proposals that are weighted, and the degrees of freedom of their distribution: heavy tails, because the posterior of a
# lengthscale often has one.
_N_PROPOSED, _FREEDOM = 96, 6.0
# Rows that proposals are weighted with: the cost of one grows with their cube.
_MOST_ROWS = 200
# Step of the differences behind the curvature, in log units, and the smallest curvature: about that of the priors.
_STEP, _SMALLEST_CURVATURE = 0.05, 0.1


def plausible(
    gp: GaussianProcess,
    X: Array,
    y: Array,
    noise_variance: Array | None = None,
    *,
    count: int,
    seed: int = 0,
    about: tuple[str, ...] = (),
) -> tuple[GaussianProcess, ...]:
    """`count` processes of equal weight, conditioned on the data that `gp` was fitted to. `about`: draws of different
    subjects are independent of each other."""
    noise = fitting.NO_NOISE if gp.deterministic else fitting.UNKNOWN_NOISE
    if not vary(y):
        return (gp,) * count
    rows = fitting.subset(y, _MOST_ROWS)
    problem = FitProblem.of_rows(rows, gp.kernel, X, y, noise_variance, noise)
    objective, y_mean, y_scale = problem.objective_under(gp.hyperparameters.warp)
    rng = stream(seed, "plausible hyperparameters", len(y), *about)
    thetas = _drawn(objective, theta_of(gp.hyperparameters), count, rng)
    return tuple(_conditioned(gp, objective, theta, y_mean, y_scale, X, y, noise_variance, rng) for theta in thetas)


def _drawn(objective: fitting.Objective, theta: Array, count: int, rng: np.random.Generator) -> Array:
    """`count` draws from the posterior of theta, by importance resampling."""
    mode = np.clip(theta if len(objective.low) == len(theta) else np.append(theta, 0.0), objective.low, objective.high)
    values, vectors = np.linalg.eigh(_curvature(objective, mode))
    values = np.maximum(values, _SMALLEST_CURVATURE)
    d = len(mode)
    steps = rng.standard_normal((_N_PROPOSED, d))
    lengths = np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, size=_N_PROPOSED))
    proposals = np.clip(mode + (steps * lengths[:, None] / np.sqrt(values)) @ vectors.T, objective.low, objective.high)
    log_q = -0.5 * (_FREEDOM + d) * np.log1p(((steps * lengths[:, None]) ** 2).sum(axis=1) / _FREEDOM)
    log_w = np.array([-objective.value(proposal) for proposal in proposals]) - log_q
    weights = np.exp(log_w - log_w.max())
    weights = np.minimum(weights, weights.mean() * np.sqrt(len(weights)))
    ends = np.cumsum(weights) / weights.sum()
    chosen = np.searchsorted(ends, (np.arange(count) + rng.random()) / count)
    return np.asarray(proposals[np.minimum(chosen, len(proposals) - 1)])


def _curvature(objective: fitting.Objective, theta: Array) -> Array:
    """Second derivatives at theta, from differences of the gradient; one-sided at a bound."""
    columns = []
    for j in range(len(theta)):
        ends = np.array([theta, theta])
        ends[0, j] = max(theta[j] - _STEP, objective.low[j])
        ends[1, j] = min(theta[j] + _STEP, objective.high[j])
        down, up = objective(ends[0])[1], objective(ends[1])[1]
        columns.append((up - down) / (ends[1, j] - ends[0, j]))
    curvature = np.array(columns)
    return np.asarray(0.5 * (curvature + curvature.T))


def _conditioned(
    gp: GaussianProcess,
    objective: fitting.Objective,
    theta: Array,
    y_mean: float,
    y_scale: float,
    X: Array,
    y: Array,
    noise_variance: Array | None,
    rng: np.random.Generator,
) -> GaussianProcess:
    """The process with theta, and with a scale and a mean drawn from their posterior given theta."""
    d = len(gp.hyperparameters.lengthscales)
    mean, scale = objective.moments[theta.tobytes()]
    if len(theta) == d + 1:  # Otherwise the scale is part of theta.
        weight = objective.pairs.n + fitting.SCALE_WEIGHT
        scale *= 0.5 * weight / float(rng.gamma(0.5 * weight - 1.0))
    drawn = replace(
        gp.hyperparameters,
        lengthscales=tuple(float(l) for l in np.exp(theta[:d])),
        outputscale=scale,
        noise=scale * float(np.exp(theta[d])),
        y_mean=y_mean + y_scale * mean,
        y_scale=y_scale,
    )
    fitted = GaussianProcess.from_hyperparameters(drawn).condition(X, y, noise_variance)
    precision = float(fitted.data.factor.solve(np.ones(len(y))).sum())
    shift = float(rng.standard_normal()) * np.sqrt(scale / max(precision, 1e-12))
    moved = replace(drawn, y_mean=drawn.y_mean + y_scale * shift)
    return GaussianProcess.from_hyperparameters(moved).condition(X, y, noise_variance)
