"""A chain of regressions through the kept positions of learning curves, in closed form.

Notation (latent units; K kept positions, the last of them the value that trials return)
    V (n, K)     latent losses of n curves; NaN from the first position on that a curve has not reached
    F (n, q)     features of the parameters, each with mean 0 and variance 1 over the space
    g_k (p_k,)   (1, F, v_{k-1}, v_{k-1} - v_{k-2}, v_{k-2} - v_{k-3}) of a curve, as far as there are such positions
    v_k          = v_{k-1} + beta_k' g_k + e_k,  e_k ~ N(0, sigma_k^2 tau);  v_{-1} = 0
    beta_k       ~ N(0, sigma_k^2 B_k),  sigma_k^2 ~ IG(a_0, a_0 s_k): each regression has the conjugate prior
    tau          of a curve, ~ IG(nu/2, nu/2): how restless it is; the curve is multivariate Student t
    r_k          residual of position k, in units of its predictive sd
    m            positions that a curve has reached

A curve that was stopped lacks only its end. The likelihood then factors into one regression for each position, from
all curves that reached it: complete and stopped ones teach the chain together, without imputation, and whatever
stopped a curve does no harm if it looked only at reports and parameters. Cost is linear in n.

The posteriors of the regressions are independent, so mean and covariance of the positions ahead follow one after the
other, uncertainty of beta included:
    E v_k = E v_{k-1} + b_k' E g_k
    Var v_k = Var(v_{k-1} + b_k' g_k) + E[g_k' S_k g_k] + s2_k,     Cov(v_k, v_j) = Cov(v_{k-1} + b_k' g_k, v_j)
`neighbours` correct b_k' g_k and s2_k by the errors of complete curves with similar parameters.
tau given r_0, ..., r_{m-1} is IG((nu + m)/2, (nu + sum r^2)/2): a curve that surprised so far is predicted less surely.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pellucid.models.curves.neighbours import Neighbours
from pellucid.numerics import Array, Integers, cholesky

# Chosen on lcbench (design tasks 3945, 7593, 167161, 167168, 168908, 126026; 10 to 80 curves). Prior variances of
# coefficients: of the level and of the last changes (absolute, since both sides are losses), and of the parameters
# together (a share of the mean square change). Fixed ones predicted as well as a choice by evidence among nine.
_LEVEL_VARIANCE, _CHANGE_VARIANCE, _PARAMETER_SHARE, _INTERCEPT_SHARE = 0.3, 0.9, 0.1, 4.0
# Changes of a curve that its next one depends on: 6 overfit, and 1 is too sure of itself with noisy reports.
_CHANGES = 2
# Prior of the residual variance: a_0, and the share of the mean square change that is left unexplained.
_PRIOR_SHAPE, _UNEXPLAINED = 1.5, 0.3
# nu, where 3 to 8 differ little, and the largest r^2 that one position counts with, so that one report alone cannot
# make a curve worthless or its prediction infinitely wide. On the design tasks, 25, 100 and no limit do the same.
_RESTLESSNESS, _LARGEST_SQUARE = 5.0, 25.0
# Smallest mean square change, and smallest 1 - leverage.
_SMALLEST_SQUARE, _SMALLEST_REST = 1e-8, 0.05


@dataclass(frozen=True)
class Between:
    """A last report between the last position that a curve has reached and the next one (m,); all latent.

    report     NaN if there is none;  share  how much of the next change it is expected to have;  variance  of the rest
    """

    report: Array
    share: Array
    variance: Array


@dataclass(frozen=True)
class Regression:
    """Posterior of one position.

    b (p,), S (p, p)   mean and covariance of beta_k;  variance, freedom  of the residual
    slopes (c,)        d v_k / d v_j for the last c positions before;  spread (c, c)  covariance of their errors
    """

    b: Array
    S: Array
    variance: float
    freedom: float
    slopes: Array
    spread: Array


@dataclass(frozen=True)
class Chain:
    """`neighbours`: what complete curves of similar parameters add."""

    regressions: tuple[Regression, ...]
    neighbours: Neighbours

    def ends(self, V: Array, F: Array, between: Between | None = None) -> tuple[Array, Array, Array]:
        """Latent mean, scale and degrees of freedom of the last position (m,), a Student t distribution each.

        Curves are known up to their first NaN; the end of one without NaN is certain.
        """
        mean, scale, freedom = self.paths(V, F, between)
        return mean[:, -1], scale[:, -1], freedom

    def paths(self, V: Array, F: Array, between: Between | None = None) -> tuple[Array, Array, Array]:
        """Latent mean and scale of all positions (m, K), and degrees of freedom (m,)."""
        reached = _reached(V)
        mean, covariance, squares = self._moments(V, F, reached)
        counted = reached.astype(float)
        variance = np.einsum("nii->ni", covariance)
        if between is not None:
            mean, variance, square, weight = _updated(mean, covariance, reached, between)
            squares, counted = squares + square, counted + weight
        tau = (_RESTLESSNESS + squares) / (_RESTLESSNESS + counted)
        freedom = np.minimum(self.regressions[-1].freedom, _RESTLESSNESS + counted)
        return mean, np.sqrt(np.maximum(variance, 0.0) * tau[:, None]), freedom

    def _moments(self, V: Array, F: Array, reached: Integers) -> tuple[Array, Array, Array]:
        """Mean (m, K) and covariance (m, K, K) of all positions given those reached, and the sum of r^2 over those."""
        count, size = V.shape
        mean, covariance, squares = np.zeros((count, size)), np.zeros((count, size, size)), np.zeros(count)
        errors, terms, left = self.neighbours.corrections(F)
        for k, regression in enumerate(self.regressions):
            known = reached > k
            g = _terms(mean[:, :k], F)
            expected = g @ regression.b + errors[:, k] + (mean[:, k - 1] if k else 0.0)
            g = g - terms[:, k, : g.shape[1]]
            own = regression.variance * left + np.einsum("ij,ij->i", g @ regression.S, g)
            if known.any():
                r = np.where(known, V[:, k] - expected, 0.0) / np.sqrt(own)
                squares += np.minimum(r * r, _LARGEST_SQUARE)
            mean[:, k] = np.where(known, V[:, k], expected)
            if known.all():
                continue
            recent = slice(k - len(regression.slopes), k)
            cross = covariance[:, :k, recent] @ regression.slopes
            ahead = own + cross[:, recent] @ regression.slopes
            ahead += np.einsum("nij,ij->n", covariance[:, recent, recent], regression.spread)
            covariance[:, k, :k] = covariance[:, :k, k] = np.where(known[:, None], 0.0, cross)
            covariance[:, k, k] = np.where(known, 0.0, ahead)
        return mean, covariance, squares


def fit_chain(V: Array, F: Array) -> Chain:
    """The chain of these curves; at least one must be complete.

    A first fit gives all curves the same weight, the second each its 1 / tau: one restless curve should not widen the
    predictions of all others.
    """
    reached, size, q = _reached(V), V.shape[1], F.shape[1]
    known = np.arange(size) < reached[:, None]
    levels = np.where(known, V, 0.0)
    changes = np.where(known, np.diff(levels, axis=1, prepend=0.0), 0.0)
    Z = np.hstack([np.ones((len(V), 1)), F, levels, changes])
    columns = [_columns(k, q, size) for k in range(size)]
    counts = known.sum(axis=0)

    def fit(weights: Array) -> tuple[Regression, ...]:
        grams = _grams(Z, weights, reached, size)
        return tuple([_regression(grams[k], columns[k], int(counts[k]), k, q) for k in range(size)])

    equal = np.ones(len(V))
    r = np.column_stack([_residuals(Z, equal, *first) for first in zip(columns, fit(equal), strict=True)])
    squares = np.where(known, np.minimum(r * r, _LARGEST_SQUARE), 0.0).sum(axis=1)
    regressions = fit((_RESTLESSNESS + reached) / (_RESTLESSNESS + squares))
    return Chain(regressions, _neighbours(regressions, columns, Z[reached == size], q))


def _columns(k: int, q: int, size: int) -> list[int]:
    """Columns of Z = (1, F, levels, changes) with g_k, and last the one with v_k - v_{k-1}."""
    changes = [1 + q + size + j for j in range(k - 1, max(k - 1 - _CHANGES, 0), -1)]
    return [*range(1 + q), *([q + k] if k else []), *changes, 1 + q + size + k]


def _grams(Z: Array, weights: Array, reached: Integers, size: int) -> list[Array]:
    """Z' diag(weights) Z of the curves that reached each of the positions: all that its regression needs of them."""
    grams: list[Array] = []
    total = np.zeros((Z.shape[1], Z.shape[1]))
    for k in reversed(range(size)):
        rows = reached == k + 1
        if rows.any():
            total = total + (Z[rows] * weights[rows, None]).T @ Z[rows]
        grams.append(total)
    return grams[::-1]


def _regression(gram: Array, columns: list[int], n: int, k: int, q: int) -> Regression:
    """The posterior of position k from the products of n curves, weights included."""
    products = gram[np.ix_(columns, columns)]
    p = len(columns) - 1
    square = max(float(products[p, p] / products[0, 0]), _SMALLEST_SQUARE)
    prior = _UNEXPLAINED * square
    variances = np.full(p, _CHANGE_VARIANCE)
    variances[0], variances[1 : 1 + q] = square * _INTERCEPT_SHARE, square * _PARAMETER_SHARE / max(q, 1)
    variances[1 + q : 2 + q] = _LEVEL_VARIANCE
    factor = cholesky(products[:p, :p] + np.diag(prior / variances))
    b = factor.solve(products[:p, p])
    shape = _PRIOR_SHAPE + 0.5 * n
    rate = _PRIOR_SHAPE * prior + 0.5 * max(float(products[p, p] - b @ products[:p, p]), 0.0)
    variance = rate / (shape - 1.0)
    S = variance * factor.solve(np.eye(p))
    A = _dependence(min(k, _CHANGES + 1))
    slopes = A.T @ b[1 + q :]
    slopes[-1:] += 1.0
    return Regression(b, S, variance, 2.0 * shape, slopes, A.T @ S[1 + q :, 1 + q :] @ A)


def _residuals(Z: Array, weights: Array, columns: list[int], regression: Regression) -> Array:
    """r_k (n,) of each curve by the regression without it; of no meaning for curves that did not reach the position."""
    g = Z[:, columns[:-1]]
    left = Z[:, columns[-1]] - g @ regression.b
    leverage = weights * np.einsum("ij,ij->i", g @ regression.S, g) / regression.variance
    return np.asarray(left / np.sqrt(regression.variance * np.maximum(1.0 - leverage, _SMALLEST_REST)))


def _neighbours(regressions: tuple[Regression, ...], columns: list[list[int]], Z: Array, q: int) -> Neighbours:
    """Z: rows of the complete curves."""
    size, most = len(columns), max(len(columns_k) - 1 for columns_k in columns)
    E, G = np.zeros((len(Z), size)), np.zeros((len(Z), size, most))
    for k, (*terms, change) in enumerate(columns):
        G[:, k, : len(terms)] = Z[:, terms]
        E[:, k] = Z[:, change] - Z[:, terms] @ regressions[k].b
    sd = np.sqrt([regression.variance for regression in regressions])
    return Neighbours.of(Z[:, 1 : 1 + q], E, G, sd)


@lru_cache(maxsize=8)
def _dependence(count: int) -> Array:
    """A (terms, count): the terms of g_k after the features, from the last positions before k."""
    return np.asarray(_terms(np.eye(count), np.empty((count, 0)))[:, 1:].T)


def _terms(v: Array, F: Array) -> Array:
    """g_k (n, p) from the k positions before (n, k) and the features (n, q)."""
    k = v.shape[1]
    changes = [v[:, [k - j]] - v[:, [k - j - 1]] for j in range(1, min(_CHANGES, k - 1) + 1)]
    return np.hstack([np.ones((len(v), 1)), F, v[:, k - 1 : k] if k else v, *changes])


def _reached(V: Array) -> Integers:
    """How many positions each curve has reached before its first NaN."""
    unknown = np.isnan(V)
    return np.asarray(np.where(unknown.any(axis=1), unknown.argmax(axis=1), V.shape[1]))


def _updated(mean: Array, covariance: Array, reached: Integers, between: Between) -> tuple[Array, Array, Array, Array]:
    """Mean and variance of all positions (m, K) given a report between two of them, and what it adds to sum r^2 and m.

    report = (1 - share) v_{m-1} + share v_m + noise: exact conditioning of a Gaussian on one number.
    """
    rows, size = np.arange(len(mean)), mean.shape[1]
    used = ~np.isnan(between.report) & (reached > 0) & (reached < size - 1)
    here, ahead = np.maximum(reached - 1, 0), np.minimum(reached, size - 1)
    share = np.where(used, between.share, 0.0)
    expected = (1.0 - share) * mean[rows, here] + share * mean[rows, ahead]
    variance = share**2 * covariance[rows, ahead, ahead] + between.variance
    variance = np.where(used & (variance > 0.0), variance, 1.0)
    surprise = np.where(used, between.report - expected, 0.0)
    gain = (share / variance)[:, None] * covariance[rows, :, ahead]
    square = np.minimum(surprise**2 / variance, _LARGEST_SQUARE)
    weight = np.clip(share, 0.0, 1.0)
    left = np.einsum("nii->ni", covariance) - gain**2 * variance[:, None]
    return mean + gain * surprise[:, None], left, weight * square, weight
