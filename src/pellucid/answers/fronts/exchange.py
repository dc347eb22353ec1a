"""What one objective costs in another along the front: exchange rates, and where the front bends.

Notation
    F (s, m, 2)   joint draws of two objectives A and B at candidates, as losses; infinite where infeasible
    phi(a)        the front as a function: the best B among candidates whose A is at most a; per draw
    levels (l,)   values of A between the ends of the front
    rates         (phi(a) - phi(a')) / (a' - a) between neighbouring levels: what B gains per unit of A; never negative
    below         how far the front is below the straight line between its ends, both objectives in units of their
                  distance between the ends; it bends where it is farthest
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.numerics import Array, stream

# Levels between which rates are given, and levels that the front is computed at.
# The levels stay away from the ends, where one candidate more or less changes the rate.
_PLACES, _N_FINE = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), 101
# Where the front falls more steeply than this, in units of its distances, it counts as only this long: a jump is not
# cut into levels that are next to each other.
_STEEPEST = 3.0
# The first level is one that some candidate reaches in this share of the draws.
_REACHED = 0.95


def best_second(F: Array, levels: Array) -> Array:
    """phi (s, l). A draw that does not reach a level counts with the end of its front."""
    order = np.argsort(F[:, :, 0], axis=1, kind="stable")
    A = np.take_along_axis(F[:, :, 0], order, axis=1)
    B = np.minimum.accumulate(np.take_along_axis(F[:, :, 1], order, axis=1), axis=1)
    out = np.empty((len(F), len(levels)))
    for i, (a, b) in enumerate(zip(A, B, strict=True)):
        at = np.maximum(np.searchsorted(a, levels, side="right") - 1, 0)
        out[i] = b[at]
    return out


def _reaching(F: Array) -> Array:
    """The draws in which some candidate is feasible."""
    return F[np.isfinite(F[:, :, 0]).any(axis=1)]


@dataclass(frozen=True, eq=False)
class FrontCurve:
    """The front as a function: fine levels (f,) of A from one end to the other, and phi (s, f)."""

    levels: Array
    phi: Array

    @staticmethod
    def of(F: Array) -> FrontCurve | None:
        """None if the ends of the front are the same point, or if hardly any draw has a feasible candidate."""
        F = _reaching(F)
        if not len(F):
            return None
        A, B = F[:, :, 0], F[:, :, 1]
        first = float(np.quantile(A, _REACHED, axis=0, method="inverted_cdf").min())
        # Where B is at its best: of several candidates that share it, the one with the best A.
        ends = np.where(B.min(axis=1, keepdims=True) >= B, A, np.inf).min(axis=1)
        last = float(np.median(ends))
        if not (np.isfinite(first) and np.isfinite(last)) or last <= first:
            return None
        levels = np.linspace(first, last, _N_FINE)
        return FrontCurve(levels, best_second(F, levels))

    @property
    def middle(self) -> Array:
        """(f,)"""
        return np.asarray(np.median(self.phi, axis=0))

    def coarse(self) -> Array:
        """Levels (l,), evenly spaced along the front if both objectives count in units of their distance."""
        b = self.middle
        fall = -np.diff(b) / max(b[0] - b[-1], np.finfo(float).tiny) * (_N_FINE - 1)
        steps = np.hypot(1.0, np.minimum(fall, _STEEPEST))
        return np.asarray(np.interp(_PLACES, np.r_[0.0, np.cumsum(steps)] / steps.sum(), self.levels))

    def below(self) -> Array:
        """How far the front of every draw is below the straight line between its ends (s, f), as a share of its
        length."""
        a, fall = self.levels, self.phi[:, :1] - self.phi[:, -1:]
        share = (self.phi - self.phi[:, -1:]) / np.where(fall > 0.0, fall, 1.0)
        return np.asarray(np.where(fall > 0.0, 1.0 - (a - a[0]) / (a[-1] - a[0]) - share, 0.0))


def exchange_rates(F: Array, levels: Array, shared: int) -> Array:
    """(s, l - 1). `shared`: how many of the candidates, from the first on, are trials."""
    F = _reaching(F)
    phi = best_second(F, levels)
    phi = phi - _unseen(F, levels, shared, phi)
    phi = np.minimum.accumulate(phi, axis=1)
    return np.asarray((phi[:, :-1] - phi[:, 1:]) / np.diff(levels))


def _unseen(F: Array, levels: Array, shared: int, phi: Array) -> Array:
    """What candidates between the candidates would gain (s, l): each draw has its own guess.

    With half of the candidates, the front of a draw is worse by some gap. If the gap falls with their number, it is
    about what is left to gain with all of them: between nothing and twice that.
    """
    trials = np.arange(shared)
    halves = [np.r_[trials, np.arange(shared + first, F.shape[1], 2)] for first in (0, 1)]
    gaps = [np.nan_to_num(best_second(F[:, half], levels) - phi, nan=0.0, posinf=0.0) for half in halves]
    shares = stream(0, "unseen candidates", len(levels)).uniform(0.0, 2.0, phi.shape)
    return np.asarray(shares * np.maximum(np.mean(gaps, axis=0), 0.0))
