"""Which tried configurations are on the front: joint draws of their true outcomes, or what they returned.

Notation
    F (s, m, k)   joint draws of outcomes, as losses; infinite where infeasible
    Y (n, k)      outcomes as returned, as losses
    i is behind j    if j is nowhere worse than i, and better in some objective

No difference is too small to count here. A rule that forgives small losses is not transitive: on a dense front every
trial would be behind its neighbour. Trials that are nearly equal are thinned out afterwards (`distinct`).

An objective without noise needs no draws: its true outcomes are those that were returned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.beliefs import Beliefs
from pellucid.beliefs.front_draws import Draws, front_draws
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Indices, Mask
from pellucid.pareto import apart, front
from pellucid.study.arrays import Arrays
from pellucid.threads import cached_property

# Trials that differ by less than this in every objective are nearly equal, as a share of the spread of the front: what
# nobody would choose by.
TOLERANCE = 0.01
# Noise with an sd of at most this share of the spread is none: a tenth of what nobody would choose by. Where a convex
# front is flat, noise of 1% hides its last tenth, and of 0.1% its last 3%.
_NO_NOISE = 0.001
# Configurations that are drawn together, and once more the ends of the front.
MOST_DRAWN = 250
# Configurations so many sds behind the front of the means may be on the front.
_LIKELY = 1.0


def on_front(F: Array) -> Mask:
    """Which configurations (s, m) are feasible and behind no other, in every draw: equal ones together."""
    out = np.empty(F.shape[:2], dtype=bool)
    for draw, mask in zip(F, out, strict=True):
        no_worse = np.logical_and.reduce([column[:, None] <= column for column in draw.T])
        mask[:] = ~(no_worse & ~no_worse.T).any(axis=0) & np.isfinite(draw).all(axis=1)
    return out


def behind_none(Y: Array) -> Mask:
    """`on_front` of one draw (n, k), also of many thousand rows."""
    rows, inverse = np.unique(Y, axis=0, return_inverse=True)
    return np.asarray(front(rows)[inverse.ravel()] & np.isfinite(Y).all(axis=1))


def spread_of(Y: Array) -> Array:
    """How far the front of outcomes (n, k) reaches in every objective; 0 where everything is the same.

    Where the front is a single point, all outcomes count.
    """
    Y = Y[np.isfinite(Y).all(axis=1)]
    if not len(Y):
        return np.zeros(Y.shape[1])
    spread = np.ptp(Y[front(Y)], axis=0)
    return np.asarray(np.where(spread > 0.0, spread, np.ptp(Y, axis=0)))


@dataclass(frozen=True, eq=False)
class Tried:
    """The configurations that were tried, and joint draws of the true outcomes of those that may be on the front.

    Y (n, k)       outcomes as returned, as losses
    options (n,)   feasible ones, without the worst possible value if there are others
    spread (k,)    of the front that was observed
    noiseless (k,) objectives whose noise is negligible
    expected (n, k) the best guess at the true outcomes: as returned if noiseless, otherwise the mean of the best fit
    """

    beliefs: Beliefs
    data: Arrays
    Y: Array
    options: Mask
    spread: Array
    noiseless: Mask
    expected: Array

    @staticmethod
    def of(beliefs: Beliefs, data: Arrays) -> Tried:
        Y, options = data.observations.values, usable(data)
        spread, fits = spread_of(Y[options]), _fits(beliefs, data)
        ahead = np.flatnonzero(options)[front(Y[options])]
        noise = np.array([_noise(gp, Y[:, k], ahead) for k, gp in enumerate(fits)])
        noiseless = noise <= _NO_NOISE * spread
        means = np.stack([gp.losses(gp.latent_at_observed()) for gp in fits], axis=1)
        return Tried(beliefs, data, Y, options, spread, noiseless, np.where(noiseless, Y, means))

    @cached_property
    def rows(self) -> Indices:
        """The observations that were drawn (m,)."""
        return near_front(_fits(self.beliefs, self.data), self.data.X, self.options, MOST_DRAWN)

    @cached_property
    def draws(self) -> Draws:
        return front_draws(self.beliefs, self.data, self.data.X[self.rows])

    @property
    def exact(self) -> bool:
        """Whether what was returned is what is true."""
        return bool(self.noiseless.all()) and not self.beliefs.view.constrained

    def skipped(self) -> int:
        """How many trials are on the front of the best guesses, but were not drawn because there are too many."""
        drawn = self.options if self.exact else np.isin(np.arange(len(self.Y)), self.rows)
        return int(behind_none(np.where(self.options[:, None], self.expected, np.inf))[~drawn].sum())

    def chances(self) -> Array:
        """The chance (n,) of every observation to be on the front; 0 for those that were not drawn."""
        chances: Array = np.zeros(len(self.Y))
        if self.exact:
            chances[self.options] = behind_none(self.Y[self.options])
        else:
            known = np.where(self.noiseless, self.Y[self.rows], self.draws.outcomes)
            kept = np.where(self.draws.feasible[:, :, None], known, np.inf)
            chances[self.rows] = on_front(kept).mean(axis=0)
        return chances


def _fits(beliefs: Beliefs, data: Arrays) -> tuple[GaussianProcess, ...]:
    return tuple(model.gp for model in beliefs.objective_models(data))


def _noise(gp: GaussianProcess, losses: Array, rows: Indices) -> float:
    """The largest sd of an objective's noise at these rows; 0 if the objective is the same everywhere."""
    if np.ptp(losses) == 0.0:
        return 0.0
    sd = np.sqrt(gp.data.noise_ratio * gp.hyperparameters.outputscale)
    return float(gp.from_latent(gp.latent_at_observed(), sd)[1][rows].max())


def ends_of(Y: Array) -> Indices:
    """The best and the worst row of every objective: of rows that share it the best in the others."""
    order = np.lexsort(Y.T[::-1])
    return np.asarray(order[np.r_[Y[order].argmin(axis=0), Y[order].argmax(axis=0)]])


def distinct(Y: Array, chances: Array, within: Array, most: int) -> Indices:
    """The rows of Y (n, k) that are left if of rows that differ by at most `within` (k,) in every objective the one
    with the best chance stays; if that leaves more than `most`, those that are far from each other. The best and the
    worst row of every objective always stay."""
    ends = ends_of(Y)
    kept, left = [], np.r_[ends, np.lexsort((*Y.T[::-1], -chances))]
    while len(left):
        kept.append(left[0])
        left = left[(np.abs(Y[left] - Y[left[0]]) > within).any(axis=1)]
    return np.union1d(np.array(kept)[apart(Y[kept], most)], ends)


def usable(data: Arrays) -> Mask:
    """Which observations (n,) are known to be feasible and have no worst possible value, unless all have."""
    feasible = data.observations.feasible
    finite = feasible & (data.observations.raw < np.inf).all(axis=1)
    return np.asarray(finite if finite.any() else feasible)


def near_front(models: tuple[GaussianProcess, ...], X: Array, options: Mask, most: int) -> Indices:
    """The rows of X that may be on the front: all options, or those that are the least behind the front of the means,
    in units of their sd. Of too many that may well be on it, those that are far from each other, and the ends."""
    rows = np.flatnonzero(options)
    if len(rows) <= most:
        return rows
    latent = [gp.latent(X[rows]) for gp in models]
    mean, sd = (np.stack(parts, axis=1) for parts in zip(*latent, strict=True))
    ahead = mean[front(mean)]
    behind = np.full(len(rows), -np.inf)
    for member in ahead:
        behind = np.maximum(behind, ((mean - member) / sd).min(axis=1))
    likely = np.flatnonzero(behind <= _LIKELY)
    if len(likely) > most:
        return np.asarray(rows[likely[np.union1d(apart(mean[likely], most), ends_of(mean[likely]))]])
    return np.sort(rows[np.argsort(behind, kind="stable")[:most]])
