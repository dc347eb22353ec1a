"""What complete curves of similar parameters add to a chain of regressions.

Notation (c complete curves, j of them near a trial)
    F (c, q)     features of the parameters, each with mean 0 and variance 1 over the space
    d            |F_a - F_b| / sqrt(2 q): 1 in the root mean square for two random trials
    rho          (1 - eta) Matern-3/2(d / l), and 1 of a curve with itself: correlation of the errors of a regression
    eta          noise: the share of an error that no other curve has, however similar its parameters
    E (c, K)     errors of the regressions at the K positions;  G (c, K, p)  their terms, 0 beyond those of a position
    w (j,)       = R^{-1} r: R the correlations of the j curves, r theirs with the trial;  left = 1 - w' r

The regressions know parameters by a parabola each. What they miss is much the same for two trials that are nearly the
same, as most proposals of an optimiser are. So the error at position k is expected to be w' E[:, k], with `left` of its
variance, and what coefficients do not know counts by the difference of terms g - w' G[:, k]: universal kriging, from
the nearest curves alone, so that cost is linear in the number of trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.numerics import Array

# Chosen on 30 studies of the design tasks, with and without noise added to their curves: 6 to 20 neighbours, lengths of
# 0.3 to 0.6, and also those of curves that were stopped, did about the same.
_NEAREST, _LENGTH = 8, 0.4
# Values of eta, the careful ones first: they win a tie. It is chosen by how well the last complete curves, so many at
# most, are predicted from each other.
_NOISES = (0.9, 0.6, 0.3, 0.1, 0.02)
_MOST_COMPARED = 40
# Errors count up to this many of their sd, in the choice of eta as in a Student t distribution of this freedom.
_LARGEST_ERROR, _FREEDOM = 5.0, 4.0
# Positions with errors below this share of the largest have none to speak of: trials that return their last report.
_NO_ERROR = 1e-6
# Distances that are computed at once: 32 megabytes, and enough for 2,000 trials.
_MOST_DISTANCES = 4_000_000
# Of a squared distance that are not rounding errors.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Neighbours:
    """F, E, G and eta, as above."""

    F: Array
    E: Array
    G: Array
    noise: float

    @staticmethod
    def of(F: Array, E: Array, G: Array, sd: Array) -> Neighbours:
        """`sd` (K,): of the errors, as the regressions know it."""
        E = np.clip(E, -_LARGEST_ERROR * sd, _LARGEST_ERROR * sd)
        return Neighbours(F, E, G, _noise(F[-_MOST_COMPARED:], E[-_MOST_COMPARED:]))

    def corrections(self, F: Array) -> tuple[Array, Array, Array]:
        """For trials with features F (m, q): w' E (m, K), w' G (m, K, p) and `left` (m,)."""
        count = max(1, _MOST_DISTANCES // len(self.F))
        if len(F) <= count:
            return self._corrections(F)
        parts = [self._corrections(F[start : start + count]) for start in range(0, len(F), count)]
        errors, terms, left = (np.concatenate(each) for each in zip(*parts, strict=True))
        return errors, terms, left

    def _corrections(self, F: Array) -> tuple[Array, Array, Array]:
        """The same, with all distances at once."""
        distances = _distances(F, self.F)
        count = min(_NEAREST, len(self.F))
        # Rounded, so that of trials that are equally near the same ones are chosen, however many are asked about.
        near = np.argpartition(np.round(distances**2, _DIGITS), count - 1, axis=1)[:, :count]
        r = (1.0 - self.noise) * _matern(np.take_along_axis(distances, near, axis=1))
        R = _correlations(self.F[near], self.noise)
        w = np.linalg.solve(R, r[:, :, None])[:, :, 0]
        left = np.clip(1.0 - (w * r).sum(axis=1), 0.0, 1.0)
        return np.einsum("mj,mjk->mk", w, self.E[near]), np.einsum("mj,mjkp->mkp", w, self.G[near]), left


def _noise(F: Array, E: Array) -> float:
    """The eta by which each curve is best predicted from the others."""
    sd = np.sqrt(np.mean(E * E, axis=0))
    differ = sd > _NO_ERROR * sd.max(initial=0.0)
    Z = E[:, differ] / sd[differ]
    return max(_NOISES, key=lambda noise: _left_out_score(_correlations(F, noise), Z))


def _left_out_score(R: Array, Z: Array) -> float:
    """Log density of each error given the others, with tails of a Student t, for correlations R."""
    inverse = np.linalg.inv(R)
    precision = np.diag(inverse)[:, None]
    squares = (inverse @ Z) ** 2 / precision
    return float(np.sum(0.5 * np.log(precision) - 0.5 * (_FREEDOM + 1.0) * np.log1p(squares / _FREEDOM)))


def _correlations(F: Array, noise: float) -> Array:
    """The correlations (..., j, j) of curves with features (..., j, q)."""
    R = (1.0 - noise) * _matern(_distances(F, F))
    return np.asarray(R + (1.0 - R) * np.eye(F.shape[-2]))


def _matern(distances: Array) -> Array:
    r = np.sqrt(3.0) / _LENGTH * distances
    return np.asarray((1.0 + r) * np.exp(-r))


def _distances(A: Array, B: Array) -> Array:
    """d of the rows of A (..., m, q) and B (..., c, q)."""
    squares = (A * A).sum(axis=-1)[..., :, None] + (B * B).sum(axis=-1)[..., None, :]
    products = A @ np.swapaxes(B, -1, -2)
    return np.asarray(np.sqrt(np.maximum(squares - 2.0 * products, 0.0) / max(2 * A.shape[-1], 1)))
