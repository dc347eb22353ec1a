"""Averages of a conditioned Gaussian process, stacked: their posterior, its calibration, and their covariances with f.

Notation
    phi (P,)       averages stacked: one entry per grid point of every effect; latent scale throughout
    C, alpha, s    of the surrogate: C = R + eta I, alpha = C^-1 z, s the outputscale (see `gp`)
    K_phi (P, n)   Cov(phi, f(X)) / s;  Pi (P, P)  Cov(phi, phi) / s a priori
    mean           K_phi alpha;  covariance  s (Pi - K_phi C^-1 K_phi')
    w (P, n)       weights of the observations in the mean once a constant mean is integrated out (w z = phi)
    r (n,)         leave-one-out residuals; dropping observation i moves phi by exactly w_i r_i
    J (P,)         sum_i w_i^2 r_i^2, the jackknife variance of phi
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pellucid.models.averages import integrals
from pellucid.models.averages.averages import Average, Factors
from pellucid.models.gp import GaussianProcess
from pellucid.numerics import Array
from pellucid.threads import cached_property

# Share of the jackknife variance that is added to the posterior variance: more of it makes bands wider. Half had the
# best calibration (lab/results/bobax).
JACKKNIFE_SHARE = 0.5
# `surprise` is shrunk towards 1 with the weight of this many trials, and widens no sd by more than a factor of two.
_PRIOR_TRIALS, _MOST_SURPRISE = 10, 4.0
# Parameters with at most this many values are searched value by value, so no slope along them is computed.
FEW_CELLS = 48
# Smallest divisors: a factor that has underflowed, and the curvature at an observation that no other one predicts.
_TINY, _NOT_PREDICTED = 1e-300, 1e-13
Gradient = Callable[[Array], Array]


@dataclass(frozen=True)
class Band:
    """Averages with their calibrated sd, the raw posterior sd and the jackknife sd, on the latent scale."""

    mean: Array
    sd: Array
    raw_sd: Array
    jackknife_sd: Array


class Effects:
    """Several averages of one conditioned surrogate."""

    def __init__(self, gp: GaussianProcess, effects: Sequence[Average]) -> None:
        self.gp, self.effects = gp, tuple(effects)
        self.factors = Factors(gp.kernel, np.array(gp.hyperparameters.lengthscales))
        flat = not self.effects[0].space.conditions and all(len(e.held) == 1 and not e.axes for e in self.effects)
        self._parts: _Flat | _Trees = (_Flat if flat else _Trees)(self.factors, self.effects)

    @cached_property
    def cross_observed(self) -> Array:
        """K_phi"""
        return self.cross(self.gp.data.X)

    @cached_property
    def weights(self) -> Array:
        """C^-1 K_phi', (n, P)"""
        return self.gp.data.factor.solve(self.cross_observed.T)

    @cached_property
    def mean(self) -> Array:
        return np.asarray(self.cross_observed @ self.gp.data.alpha)

    @cached_property
    def prior(self) -> Array:
        return np.block([[a.prior(self.factors, b) for b in self.effects] for a in self.effects])

    @cached_property
    def covariance(self) -> Array:
        half = self.gp.data.factor.half_solve(self.cross_observed.T)
        covariance = self.gp.hyperparameters.outputscale * (self.prior - half.T @ half)
        return np.asarray(0.5 * (covariance + covariance.T))

    @cached_property
    def variance(self) -> Array:
        """Diagonal of the covariance, without the work for the rest of it."""
        reduced = self._parts.prior_variance() - (self.cross_observed.T * self.weights).sum(axis=0)
        return np.asarray(self.gp.hyperparameters.outputscale * np.maximum(reduced, 0.0))

    def cross(self, T: Array) -> Array:
        """Cov(phi, f(T)) / s a priori, (P, n)."""
        return self._parts.cross(T)

    def cross_with_gradient(self, T: Array) -> tuple[Array, Gradient]:
        """`cross`, and a function: weights (P, n) -> gradient (n, d) in T of sum_p weights[p] cross[p]."""
        return self._parts.cross_with_gradient(T)

    @cached_property
    def _linear(self) -> tuple[Array, Array, Array]:
        """w (P, n), r (n,), and the sd that an unknown constant mean adds to phi (P,)."""
        data = self.gp.data
        ones = data.factor.solve(np.ones(len(data.z)))
        total = float(ones.sum())
        gap = 1.0 - self.weights.sum(axis=0)
        w = self.weights.T + np.outer(gap / total, ones)
        return w, leave_one_out_residuals(self.gp)[0], gap * np.sqrt(self.gp.hyperparameters.outputscale / total)

    @cached_property
    def band(self) -> Band:
        """Mean and calibrated sd: a constant mean is integrated out and half of the jackknife variance added."""
        w, residual, constant = self._linear
        jackknife = np.asarray((w * w) @ (residual * residual))
        raw = self.variance + constant * constant
        return Band(
            mean=np.asarray(w @ self.gp.data.z),
            sd=np.sqrt(raw + JACKKNIFE_SHARE * jackknife),
            raw_sd=np.sqrt(raw),
            jackknife_sd=np.sqrt(jackknife),
        )

    @cached_property
    def joint_covariance(self) -> Array:
        """The covariance (P, P) with a constant mean integrated out: its diagonal is `band.raw_sd` squared."""
        constant = self._linear[2]
        return np.asarray(self.covariance + np.outer(constant, constant))

    @cached_property
    def jackknife_covariance(self) -> Array:
        """w diag(r^2) w', (P, P)"""
        w, residual, _ = self._linear
        return np.asarray((w * residual) @ (w * residual).T)


def leave_one_out_residuals(gp: GaussianProcess) -> tuple[Array, Array]:
    """r (n,), with a constant mean integrated out, and the variances (n,) that the model expects of it.

    Both are 0 for a single observation, and for one that no other predicts.
    """
    data = gp.data
    n = len(data.z)
    ones = data.factor.solve(np.ones(n))
    total = float(ones.sum())
    curvature = data.factor.inverse_diagonal - ones * ones / total
    alpha = data.alpha - ones * (float(data.alpha.sum()) / total)
    predicted = curvature > _NOT_PREDICTED
    curvature = np.maximum(curvature, _NOT_PREDICTED)
    return np.where(predicted, alpha, 0.0) / curvature, np.where(
        predicted, gp.hyperparameters.outputscale, 0.0
    ) / curvature


def surprise(gp: GaussianProcess) -> float:
    """By how much posterior variances are widened, between 1 and `_MOST_SURPRISE`: squared leave-one-out residuals in
    units of what the model expects of them, sum r^2 / sum of variances.

    Trials far from all others dominate both sums, so this says how well the model extrapolates.
    """
    residual, expected = leave_one_out_residuals(gp)
    n = len(residual)
    ratio = float(residual @ residual) / max(float(expected.sum()), 1e-300)
    return min(max((n * ratio + _PRIOR_TRIALS) / (n + _PRIOR_TRIALS), 1.0), _MOST_SURPRISE)


# ---------------------------------------------------------------------- covariances with single configurations


class _Trees:
    """Any effects: tree by tree; the factor of a tree in which an effect holds nothing is shared between effects."""

    def __init__(self, factors: Factors, effects: Sequence[Average]) -> None:
        self.factors, self.effects = factors, effects
        self.plain = Average(effects[0].space, {})

    def prior_variance(self) -> Array:
        return np.concatenate([np.diagonal(effect.prior(self.factors, effect)) for effect in self.effects])

    def cross(self, T: Array) -> Array:
        roots = [r for r in self.plain.roots if any(r not in effect.touched for effect in self.effects)]
        shared = {r: self.plain.tree_cross(self.factors, r, T) for r in roots}
        rows = []
        for effect in self.effects:
            out = np.ones((effect.size, len(T)))
            for r in effect.roots:
                out *= effect.tree_cross(self.factors, r, T) if r in effect.touched else shared[r]
            rows.append(out)
        return np.vstack(rows)

    def cross_with_gradient(self, T: Array) -> tuple[Array, Gradient]:
        cross = self.cross(T)
        return cross, lambda weights: self._gradient(T, weights * cross)

    def _gradient(self, T: Array, weighted: Array) -> Array:
        ends = np.cumsum([0, *(effect.size for effect in self.effects)])
        blocks = [weighted[a:b] for a, b in pairwise(ends)]
        out = np.zeros(T.shape)
        for r in self.plain.roots:
            untouched = [block for block, effect in zip(blocks, self.effects, strict=True) if r not in effect.touched]
            ways = [(effect, block) for block, effect in zip(blocks, self.effects, strict=True) if r in effect.touched]
            if untouched:
                ways.append((self.plain, np.vstack(untouched).sum(axis=0, keepdims=True)))
            for average, block in ways:
                value = np.maximum(average.tree_cross(self.factors, r, T), _TINY)
                for j in self.plain.tree(r):
                    if not 0 < self.plain.space.dimensions[j].cells <= FEW_CELLS:
                        slope = average.tree_cross(self.factors, r, T, slope=j)
                        out[:, j] += (block * (slope / value)).sum(axis=0)
        return out


class _Flat:
    """One parameter per effect and no conditions, the usual case: all continuous parameters in one expression."""

    def __init__(self, factors: Factors, effects: Sequence[Average]) -> None:
        self.factors = factors
        self.held = [next(iter(effect.held.items())) for effect in effects]
        self.space = effects[0].space
        l = factors.lengthscales
        cells = [dimension.cells for dimension in self.space.dimensions]
        self.smooth = [j for j, count in enumerate(cells) if not count]
        self.discrete = [j for j, count in enumerate(cells) if count]
        self.scale = l[self.smooth, None]
        plain = Average(self.space, {}) if self.discrete else None
        self.pieces = {j: plain.pieces(j, True)[0] for j in self.discrete} if plain is not None else {}
        self.grids = {j: effect.pieces(j, True)[0] for (j, _), effect in zip(self.held, effects, strict=True)}
        self.ends = np.cumsum([0, *(len(grid) for _, grid in self.held)])
        # Continuous parameters on grids of one size are held in one expression.
        sizes = {len(grid) for j, grid in self.held if not cells[j]}
        self.together = [i for i, (j, _) in enumerate(self.held) if not cells[j] and len(sizes) == 1]
        self.alone = [i for i in range(len(self.held)) if i not in self.together]
        if self.together:
            self.columns = [self.held[i][0] for i in self.together]
            self.grid = np.array([self.held[i][1] for i in self.together])[:, :, None]
            self.held_scale = l[self.columns, None, None]
            self.places = np.concatenate([np.arange(self.ends[i], self.ends[i + 1]) for i in self.together])

    def prior_variance(self) -> Array:
        """The held factor is 1 with itself, so the variance is the product of the other parameters' averages."""
        own = np.empty(len(self.space))
        own[self.smooth] = integrals.unit_double_mean(self.factors.kernel.name, self.scale[:, 0])
        for j, piece in self.pieces.items():
            own[j] = self.factors.double_mean(j, piece, piece)[0, 0]
        return np.concatenate([np.full(len(grid), np.delete(own, j).prod()) for j, grid in self.held])

    def _averages(self, T: Array) -> tuple[Array, Array, Array]:
        """Average factors (d, n), their slopes (d, n), and for each column the product of all other averages (d, n)."""
        name = self.factors.kernel.name
        if not self.discrete:
            average, slopes = integrals.unit_mean_with_slope(name, T.T, self.scale)
        else:
            average, slopes = np.empty(T.T.shape), np.zeros(T.T.shape)
            smooth = integrals.unit_mean_with_slope(name, T.T[self.smooth], self.scale)
            average[self.smooth], slopes[self.smooth] = smooth
            for j in self.discrete:
                average[j] = self.factors.mean(j, self.pieces[j], T[:, j])[0]
                if self.space.dimensions[j].cells > FEW_CELLS:
                    slopes[j] = self.factors.mean(j, self.pieces[j], T[:, j], slope=True)[0]
        others = np.ones_like(average)
        np.multiply.accumulate(average[:-1], axis=0, out=others[1:])
        others[:-1] *= np.multiply.accumulate(average[:0:-1], axis=0)[::-1]
        return average, slopes, others

    def cross(self, T: Array) -> Array:
        others = self._averages(T)[2]
        out = np.empty((self.ends[-1], len(T)))
        for i, (j, _) in enumerate(self.held):
            # One effect at a time, so that the work on each stays in the cache.
            out[self.ends[i] : self.ends[i + 1]] = self.factors.mean(j, self.grids[j], T[:, j]) * others[j]
        return out

    def cross_with_gradient(self, T: Array) -> tuple[Array, Gradient]:
        average, average_slopes, others = self._averages(T)
        n = len(T)
        cross, slopes = np.empty((self.ends[-1], n)), np.empty((self.ends[-1], n))
        if self.together:
            t = T.T[self.columns][:, None, :]
            value, slope = integrals.factor_with_slope(self.factors.kernel.name, self.grid, t, self.held_scale)
            rest = others[self.columns][:, None, :]
            value *= rest
            slope *= rest
            if not self.alone:
                cross, slopes = value.reshape(-1, n), slope.reshape(-1, n)
            else:
                cross[self.places], slopes[self.places] = value.reshape(-1, n), slope.reshape(-1, n)
        for i in self.alone:
            j, rows = self.held[i][0], slice(self.ends[i], self.ends[i + 1])
            cross[rows] = self.factors.mean(j, self.grids[j], T[:, j]) * others[j]
            slopes[rows] = self.factors.mean(j, self.grids[j], T[:, j], slope=True) * others[j]
        relative = average_slopes / np.maximum(average, _TINY)
        held = [j for j, _ in self.held]

        def gradient(weights: Array) -> Array:
            share = np.add.reduceat(weights * cross, self.ends[:-1], axis=0)
            own = np.add.reduceat(weights * slopes, self.ends[:-1], axis=0)
            out = share.sum(axis=0) * relative
            own -= share * relative[held]
            if len(set(held)) == len(held):
                out[held] += own
            else:
                np.add.at(out, held, own)
            return np.asarray(out.T)

        return cross, gradient
