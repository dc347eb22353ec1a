"""Which tried configurations are on the front: joint draws of their true outcomes.

Notation
    F (s, m, k)      joint draws of outcomes, as losses; infinite where infeasible
    tolerance (k,)   differences up to this do not count, in any objective
    i is behind j    if j is nowhere worse than i, and better in some objective: each by more than the tolerance

Without a tolerance, two configurations that agree in one objective would take turns in being on the front, because
draws differ in the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.acquisition.fronts import front
from pellucid.explain.fronts.draws import Draws, front_draws
from pellucid.explain.outcomes import objective_models, observed_outcomes
from pellucid.numerics import Array, Indices, Mask
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

# The tolerance as a share of the spread of the front: what nobody would choose by.
TOLERANCE = 0.01
# Configurations that are drawn together: those that come closest to the front of the means, in units of their sd.
_MOST_DRAWN = 250


def on_front(F: Array, tolerance: Array) -> Mask:
    """Which configurations (s, m) are feasible and behind no other, in every draw."""
    out = np.empty(F.shape[:2], dtype=bool)
    for draw, mask in zip(F, out, strict=True):
        ahead = np.asarray((draw[:, None] <= draw[None] + tolerance).all(axis=2))
        ahead &= (draw[:, None] < draw[None] - tolerance).any(axis=2)
        mask[:] = ~ahead.any(axis=0) & np.isfinite(draw).all(axis=1)
    return out


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

    Y (n, k)     outcomes as returned, as losses
    rows (m,)    the observations that were drawn: feasible ones, without the worst possible value if there are others
    spread (k,)  of the front that was observed
    """

    data: Arrays
    Y: Array
    rows: Indices
    draws: Draws
    spread: Array

    @staticmethod
    def of(view: StudyView, data: Arrays) -> Tried:
        Y = observed_outcomes(view, data)
        options = usable(view, data)
        rows = near_front(objective_models(view, data), data.X, options, _MOST_DRAWN)
        draws = front_draws(view, data, data.X[rows])
        return Tried(data, Y, rows, draws, spread_of(Y[options]))

    @property
    def tolerance(self) -> Array:
        """An objective that is the same everywhere does not count: draws differ in its last digits."""
        return np.asarray(np.where(self.spread > 0.0, TOLERANCE * self.spread, 0.25 * np.finfo(float).max))

    def chances(self) -> Array:
        """Of every observation (n,) to be on the front; 0 for those that were not drawn."""
        chances: Array = np.zeros(len(self.Y))
        chances[self.rows] = on_front(self.draws.kept, self.tolerance).mean(axis=0)
        return chances


def usable(view: StudyView, data: Arrays) -> Mask:
    """Which observations (n,) are known to be feasible and have no worst possible value, unless all have."""
    feasible = data.observations.feasible
    raw = np.stack([data.about(about.observations).observations.raw for about in view.each], axis=1)
    finite = feasible & (raw < np.inf).all(axis=1)
    return np.asarray(finite if finite.any() else feasible)


def near_front(models: tuple[GaussianProcess, ...], X: Array, options: Mask, most: int) -> Indices:
    """The rows of X that may be on the front: all options, or those that are the least behind the front of the means,
    in units of their sd."""
    rows = np.flatnonzero(options)
    if len(rows) <= most:
        return rows
    latent = [gp.latent(X[rows]) for gp in models]
    mean, sd = (np.stack(parts, axis=1) for parts in zip(*latent, strict=True))
    ahead = mean[front(mean)]
    behind = np.full(len(rows), -np.inf)
    for member in ahead:
        behind = np.maximum(behind, ((mean - member) / sd).min(axis=1))
    return np.sort(rows[np.argsort(behind, kind="stable")[:most]])
