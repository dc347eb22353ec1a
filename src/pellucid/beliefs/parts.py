"""What joint draws of the model say about a part of a space: the chance that it holds something better.

Notation
    Z (m, d)      encoded candidates, canonical
    F (s, m)      joint draws of the function at all of them, as losses; an equal number from each plausible model.
                  Infinite where a draw of a constraint is above its limit
    inside (m,)   which candidates lie in the part that is judged
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Mask
from pellucid.space.branches import Branch, forced, spread_evenly
from pellucid.study.arrays import Arrays

# Trials that show what a typical configuration returns.
_N_FIRST = 10
# The best trials that are looked at differ by this much in some coordinate.
_APART = 0.05


def gain_of_tuning(data: Arrays) -> float:
    """How much better the best trial is than the median of the first ones: the unit for what counts as small.

    Most searches begin with random trials. The spread of all trials would shrink while a search converges.
    """
    feasible = data.observations.feasible
    losses = data.losses[feasible] if feasible.any() else data.losses
    for usual in (np.median(losses[:_N_FIRST]), np.median(losses), losses.max()):
        if usual > losses.min():
            return float(usual - losses.min())
    return 0.0


def best_rows(gp: GaussianProcess, data: Arrays, count: int, among: Mask | None = None) -> Array:
    """The observed configurations (k, d) with the best means that differ from each other, best first; k <= count."""
    mean = data.standing(gp.latent_at_observed())
    order = [i for i in np.argsort(mean, kind="stable") if among is None or among[i]]
    chosen: list[int] = []
    for i in order[: 20 * count]:
        if len(chosen) < count and (np.abs(data.X[chosen] - data.X[i]).max(axis=1, initial=1.0) > _APART).all():
            chosen.append(int(i))
    return np.asarray(data.X[chosen])


@dataclass(frozen=True)
class Chance:
    """That a part holds something better than everything outside it. `gain`: by how much, in the luckiest draw."""

    probability: float
    gain: float


def chance_of(F: Array, inside: Mask, outside: Mask, margin: float = 0.0) -> Chance:
    """The chance that the best inside beats the best outside by more than `margin`, never quite 0 or 1."""
    best_inside, best_outside = F[:, inside].min(axis=1), F[:, outside].min(axis=1)
    # Where nothing is feasible on either side, neither is better.
    known = np.isfinite(best_inside) | np.isfinite(best_outside)
    gain = np.where(known, best_outside, 0.0) - np.where(known, best_inside, 0.0)
    hits = int((known & (gain > margin)).sum())
    return Chance((hits + 1.0) / (len(gain) + 2.0), max(float(gain[np.isfinite(gain)].max(initial=0.0)), 0.0))


def inside_branch(gp: GaussianProcess, data: Arrays, branch: Branch, count: int) -> Array:
    """Candidates that have a choice: evenly spread ones, the best that were tried, and the best trials moved to it."""
    space = data.space
    spread = forced(space, spread_evenly(space, count), branch.column, branch.code)
    tried = best_rows(gp, data, 4, branch.holds(space, data.X, space.active(data.X)))
    best = best_rows(gp, data, 4)
    moved = np.where(space.active(best), best, spread[: len(best)])
    return np.vstack([spread, tried, forced(space, moved, branch.column, branch.code)])
