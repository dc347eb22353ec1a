"""Partial dependence as a linear functional of a Gaussian process: exact mean vector and covariance matrix.

Results are in the unit of y (of warp(y) if the process is warped).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution

from pellucid.models.averages.averages import Average, Axis
from pellucid.models.averages.effects import Effects
from pellucid.models.gp import GaussianProcess
from pellucid.numerics import Array, low_discrepancy
from pellucid.space.encoding import Space
from pellucid.words import printable

# Points of a Monte-Carlo average: its error falls with their number, its cost grows with the square.
_N_MONTE_CARLO = 128


@dataclass(frozen=True)
class GaussianVector:
    """A joint normal distribution; `exact` is False if a Monte-Carlo sample replaced an integral."""

    mean: Array
    covariance: Array
    exact: bool = True

    @property
    def sd(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)))


def columns_only(gp: GaussianProcess) -> Space:
    """The space as far as a surrogate knows it: continuous columns, and nominal ones according to the kernel."""
    sizes = gp.kernel.nominal or (0,) * len(gp.hyperparameters.lengthscales)
    kinds: dict[str, BaseDistribution] = {
        str(j): CategoricalDistribution(tuple(map(str, range(size)))) if size else FloatDistribution(0.0, 1.0)
        for j, size in enumerate(sizes)
    }
    return Space.of(kinds)


def partial_dependence(
    gp: GaussianProcess,
    dims: int | Sequence[int],
    grid: Array,
    *,
    method: str = "exact",
    space: Space | None = None,
    axes: Mapping[int, Axis] | None = None,
    n_samples: int = _N_MONTE_CARLO,
) -> GaussianVector:
    """Mean vector and covariance matrix of the partial dependence on columns `dims` at the points of `grid`.

    `dims`: one or two columns. `grid`: encoded, (G,) or (G, len(dims)).
    `method`: "exact" for integrals (product kernels), or "mc" for an average over `n_samples` evenly spread points.
    `space`: the parameters of the columns; without it, columns are continuous, or nominal according to the kernel.
    `axes`: distributions of other columns, for an average over a part of the space.
    """
    if method not in ("exact", "mc"):
        raise ValueError(f"`method` must be 'exact' or 'mc', but got {method!r}.")
    effect = average(gp, dims, grid, space, axes)
    if method == "mc":
        mean, covariance = _monte_carlo(gp, effect, n_samples)
    else:
        stack = Effects(gp, [effect])
        mean, covariance = stack.mean, stack.covariance
    h = gp.hyperparameters
    return GaussianVector(h.y_mean + h.y_scale * mean, h.y_scale**2 * covariance, method == "exact")


def average(
    gp: GaussianProcess,
    dims: int | Sequence[int],
    grid: Array,
    space: Space | None = None,
    axes: Mapping[int, Axis] | None = None,
) -> Average:
    """The average whose posterior is the partial dependence on `dims`."""
    columns = (dims,) if isinstance(dims, (int, np.integer)) else tuple(dims)
    d = len(gp.hyperparameters.lengthscales)
    points = np.asarray(grid, dtype=float)
    points = points[:, None] if points.ndim == 1 else points
    if not columns or len(set(columns)) < len(columns) or not all(0 <= j < d for j in columns):
        raise ValueError(printable(f"`dims` must be different columns between 0 and {d - 1}, but got {dims!r}."))
    if points.ndim != 2 or points.shape[1] != len(columns) or len(points) == 0:
        raise ValueError(f"`grid` needs one column per entry of `dims` ({len(columns)}), but has shape {points.shape}.")
    if not (np.isfinite(points).all() and points.min() >= 0.0 and points.max() <= 1.0):
        raise ValueError("`grid` is in encoded units: its entries must lie between 0 and 1.")
    space = columns_only(gp) if space is None else space
    if len(space) != d:
        raise ValueError(printable(f"`space` must have one parameter per column ({d}), but has {len(space)}."))
    held = {int(j): space.dimensions[j].snap(points[:, i]) for i, j in enumerate(columns)}
    return Average.of(space, held, axes)


def _monte_carlo(gp: GaussianProcess, effect: Average, n_samples: int) -> tuple[Array, Array]:
    """Latent mean and covariance, with an average over evenly spread points in place of the integral."""
    X = monte_carlo_rows(effect, n_samples)
    data, h = gp.data, gp.hyperparameters
    l = np.array(h.lengthscales)
    grid = [gp.kernel.columns(rows, l) for rows in X]
    cross = np.array([np.asarray(gp.kernel.cross(a, data.columns, l), dtype=float).mean(axis=0) for a in grid])
    prior = np.array([[float(gp.kernel.cross(a, b, l).mean()) for b in grid[: i + 1]] + [0.0] * (len(grid) - i - 1)
                      for i, a in enumerate(grid)])  # fmt: skip
    prior = prior + np.tril(prior, -1).T
    half = data.factor.half_solve(cross.T)
    return cross @ data.alpha, h.outputscale * (prior - half.T @ half)


def monte_carlo_rows(effect: Average, n_samples: int) -> Array:
    """(G, n_samples, d): evenly spread configurations of the other parameters, the same at every grid point."""
    space = effect.space
    u = low_discrepancy(0, n_samples, np.full(len(space), 0.5))
    for j, axis in effect.axes.items():
        u[:, j] = axis.quantiles(u[:, j])
    rows = np.repeat(u[None], effect.size, axis=0)
    for j, values in effect.held.items():
        rows[:, :, j] = values[:, None]
    return np.array([space.canonical(part) for part in rows])
