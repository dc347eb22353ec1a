"""Shapley values of a Gaussian process's mean in closed form: any dimension, mixed and conditional, no sampling.

Notation
    m(x) = sum_i alpha_i prod_j k_j(x_j, X_ij)    latent mean of a product kernel
    M(t)                                          the multilinear extension at (t, ..., t): the average of m when every
                                                  player sits at its value with probability t and is drawn otherwise
    phi_j = integral over t in [0, 1] of dM/dp_j  (Owen); a polynomial in t of degree < p, so Gauss-Legendre with p / 2
                                                  nodes has no error
Per observation, M is a product over parameters, and over trees of parameters where some switch others (see
`models.averages`): the mixture (1 - t) average + t value is taken node by node, and so are its derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Average, Axis, Factors
from pellucid.numerics import Array
from pellucid.space.encoding import Space
from pellucid.threads import cached_property


@dataclass(frozen=True)
class MeanShares:
    """Shapley values (p,) of the latent mean, and its average over the background."""

    values: Array
    average: float


def mean_shapley(
    gp: GaussianProcess, x: Array, space: Space, players: Sequence[int], axes: Mapping[int, Axis] | None = None
) -> MeanShares:
    """Contributions of `players` (columns) to the latent mean at x (d,), against a background of independent axes.

    `axes`: distributions of columns that are not drawn from their own sampling distribution. A parameter
    that a coalition leaves out is drawn; one that is switched off by what was drawn sits at 1/2, as everywhere.
    """
    trees = _Trees(gp, x, space, tuple(players), dict(axes or {}))
    return trees.shares()


@dataclass(frozen=True)
class _Trees:
    gp: GaussianProcess
    x: Array
    space: Space
    players: tuple[int, ...]
    axes: dict[int, Axis]

    @cached_property
    def drawn(self) -> Average:
        return Average(self.space, {}, self.axes)

    @cached_property
    def held(self) -> Average:
        return Average(self.space, {j: self.x[j : j + 1] for j in self.players}, self.axes)

    @cached_property
    def factors(self) -> Factors:
        return Factors(self.gp.kernel, np.array(self.gp.hyperparameters.lengthscales))

    @cached_property
    def nodes(self) -> tuple[Array, Array]:
        """Nodes (Q, 1) and weights (Q,) on [0, 1]."""
        t, w = np.polynomial.legendre.leggauss(max(1, -(-len(self.players) // 2)))
        return 0.5 * (t[:, None] + 1.0), 0.5 * w

    def shares(self) -> MeanShares:
        alpha, X = self.gp.data.alpha, self.gp.data.X
        t, w = self.nodes
        branches = [self._branch(root, True, t) for root in self.drawn.roots]
        whole = [value for value, _ in branches]
        before, after = _cumulative(whole), _cumulative(whole[::-1])[::-1]
        slopes: dict[int, float] = {}
        for i, (_, derivatives) in enumerate(branches):
            rest = before[i] * after[i]
            slopes.update({k: float(w @ ((rest * slope) @ alpha)) for k, slope in derivatives.items()})
        no_player = np.zeros((1, 1))
        average = np.ones((1, len(X)))
        for root in self.drawn.roots:
            average = average * self._branch(root, True, no_player)[0]
        return MeanShares(np.array([slopes.get(k, 0.0) for k in self.players]), float((average @ alpha)[0]))

    def _branch(self, j: int, on: bool, t: Array) -> tuple[Array, dict[int, Array]]:
        """Factor of the tree under j, (Q, n), and its derivatives by player."""
        free, free_slopes = self._mixture(self.drawn, j, on, t)
        if not on or j not in self.players:
            return free, free_slopes
        fixed, fixed_slopes = self._mixture(self.held, j, on, t)
        slopes = {j: fixed - free}
        for k in {*free_slopes, *fixed_slopes}:
            slopes[k] = (1.0 - t) * free_slopes.get(k, 0.0) + t * fixed_slopes.get(k, 0.0)
        return free + t * (fixed - free), slopes

    def _mixture(self, how: Average, j: int, on: bool, t: Array) -> tuple[Array, dict[int, Array]]:
        """The same with j itself drawn, or held: a sum over its pieces, each of which switches the children."""
        total: Array = np.zeros((1, 1))
        slopes: dict[int, Array] = {}
        for piece in how.pieces(j, on):
            own = self.factors.mean(j, piece, self.gp.data.X[:, j])
            below = [self._branch(c, c_on, t) for c, c_on in zip(how.children[j], piece.on, strict=True)]
            values = [value for value, _ in below]
            before, after = _cumulative(values), _cumulative(values[::-1])[::-1]
            total = total + own * _product(values)
            for i, (_, derivatives) in enumerate(below):
                for k, slope in derivatives.items():
                    slopes[k] = slopes.get(k, 0.0) + own * before[i] * after[i] * slope
        return total, slopes


def _product(values: Sequence[Array]) -> Array:
    out: Array = np.ones((1, 1))
    for value in values:
        out = out * value
    return out


def _cumulative(values: Sequence[Array]) -> list[Array]:
    """Products of all values before each one."""
    out: list[Array] = [np.ones((1, 1))]
    for value in values[:-1]:
        out.append(out[-1] * value)
    return out[: len(values)]
