"""By how much the volume that a front dominates could still grow, from joint draws of every objective.

Notation
    k objectives, as losses;  the reference point (k,): see `outcomes.reference_of`
    X (n, d)      configurations of feasible observations;  Z (m, d)  candidates for the front, observed or not
    F (s, n + m, k)   joint draws of the true outcomes at both; infinite at candidates whose draw is infeasible
    V(A)          the volume below the reference that outcomes A dominate
    growth (s,)   V(F at X and Z) / V(F at X) - 1

The true outcomes of X are drawn too: where trials are noisy, the front that they seem to have is partly luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.beliefs.feasibility import subject
from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel, log_chance
from pellucid.models.draws import joint_latent, joint_losses
from pellucid.numerics import Array, Indices, low_discrepancy, stream
from pellucid.pareto import apart, front, in_lengths, volume
from pellucid.search.acquisition.optimize import candidates
from pellucid.space.encoding import Space

# Draws by the number of objectives: a volume of three costs ten times as much as one of two.
_N_DRAWS = {2: 128, 3: 64, 4: 64}
# Where a draw of the observations dominates hardly any volume, growth is measured against this share of the median.
_LEAST = 1e-3
# How candidates are found: rounds, and in each the configurations everywhere and around the best of the last one, and
# those between two of these that are neighbours, or a little beyond.
_ROUNDS, _COUNTS, _N_BETWEEN, _BEYOND = 4, (256, 256), 256, 0.2
# Candidates are on the front that the models see if every outcome is better than expected by so many sds.
_LUCK = (0.0, 1.0, 2.0)
# Candidates and observations that are drawn: the cost grows with the cube of their number.
_MOST_CANDIDATES, _MOST_OBSERVED = 240, 160
# Candidates are at least this likely to be feasible.
_LIKELY = (0.01, 0.5)
# From this number of objectives on, volumes are counted with so many points: exact ones would take minutes.
_COUNTED_FROM, _N_POINTS = 4, 4096


@dataclass(frozen=True)
class FrontModels:
    """Models of every objective and constraint, of each the best fit first; and the point below which volume counts."""

    objectives: tuple[tuple[GaussianProcess, ...], ...]
    constraints: tuple[tuple[ConstraintModel, ...], ...]
    reference: Array

    def outcomes(self, X: Array, Z: Array) -> Array:
        """F: the same draws whenever models and configurations are the same."""
        rows = np.vstack([X, Z])
        draws = [joint_losses(each, rows, (f"objective {i}",)) for i, each in enumerate(self.objectives)]
        F = np.stack([self._some(each) for each in draws], axis=2)
        for each in self.constraints:
            latent = joint_latent(tuple(limit.gp for limit in each), Z, subject(each[0]))
            thresholds = np.repeat([limit.threshold for limit in each], len(latent) // len(each))
            F[:, len(X) :][self._some(latent - thresholds[:, None]) > 0.0] = np.inf
        return F

    def _some(self, draws: Array) -> Array:
        """As many draws as are used, of all models."""
        count = min(_N_DRAWS[len(self.objectives)], len(draws))
        return np.asarray(draws[np.arange(count) * len(draws) // count])


def growth_draws(models: FrontModels, space: Space, X: Array) -> Array:
    """growth (s,)"""
    fits, limits = [each[0] for each in models.objectives], [each[0] for each in models.constraints]
    X = X[foremost(fits, X)]
    Z = front_candidates(fits, limits, space, X)
    F = models.outcomes(X, Z)
    return growth(F[:, : len(X)], F, models.reference)


def growth(now: Array, then: Array, reference: Array) -> Array:
    """By what share (s,) outcomes `then` (s, q, k) dominate more volume than `now` (s, p, k), some of them."""
    best, zero = then.reshape(-1, then.shape[2]).min(axis=0), np.zeros_like(reference)
    now, then, reference = in_lengths(now, reference, best), in_lengths(then, reference, best), zero
    measure = volume if then.shape[2] < _COUNTED_FROM else _Counted(then, reference)
    before = np.array([measure(draw, reference) for draw in now])
    after = np.array([measure(draw, reference) for draw in then])
    return np.asarray(after / np.maximum(before, _LEAST * float(np.median(after)) + 1e-300) - 1.0)


def front_candidates(
    models: Sequence[GaussianProcess], constraints: Sequence[ConstraintModel], space: Space, X: Array
) -> Array:
    """Z: where the front may be, according to the models, found by a search that starts from X."""
    rng = stream(0, "candidates for the front", len(X))
    best = X
    for _ in range(_ROUNDS):
        pool = np.vstack([candidates(space, best, rng, _COUNTS), _between(space, best, rng), best])
        best = _possible(models, constraints, pool)
    best = np.unique(best, axis=0)
    return best[rng.choice(len(best), _MOST_CANDIDATES, False)] if len(best) > _MOST_CANDIDATES else best


def _between(space: Space, best: Array, rng: np.random.Generator) -> Array:
    """Configurations on lines through neighbours on a front, whose rows are in its order."""
    first = rng.integers(len(best), size=_N_BETWEEN)
    second = (first + rng.integers(1, 4, size=_N_BETWEEN)) % len(best)
    t = rng.uniform(-_BEYOND, 1.0 + _BEYOND, size=(_N_BETWEEN, 1))
    nominal = np.array([dimension.nominal for dimension in space.dimensions])
    a, b = best[first], best[second]
    rows = np.where(nominal, np.where(t < 0.5, a, b), a + t * (b - a))
    return space.canonical(np.clip(rows, 0.0, 1.0))


def _possible(models: Sequence[GaussianProcess], constraints: Sequence[ConstraintModel], pool: Array) -> Array:
    """Rows of a pool that are on the front with no luck, or with some, in the order of the first objective.

    Among all that may be feasible, and among those that probably are: the first may hide the second.
    """
    posteriors = [gp.latent(pool) for gp in models]
    m, s = (np.stack(part, axis=1) for part in zip(*posteriors, strict=True))
    chance = log_chance(constraints, pool)
    chosen: set[int] = set()
    for least in _LIKELY if constraints else _LIKELY[:1]:
        among = np.flatnonzero(chance >= np.log(least))
        for luck in _LUCK:
            chosen.update(among[front(m[among] - luck * s[among])].tolist())
    rows = np.array(sorted(chosen, key=lambda row: m[row, 0]), dtype=int)
    return pool[rows] if len(rows) else pool


def foremost(models: Sequence[GaussianProcess], X: Array) -> Indices:
    """Rows of X on the front, then those behind it, front by front, as many as are drawn; of a front that is too large,
    those that are far from each other."""
    m = np.stack([gp.latent(X)[0] for gp in models], axis=1)
    left = np.arange(len(X))
    if len(left) <= _MOST_OBSERVED:
        return left
    chosen: list[int] = []
    while len(left) and len(chosen) < _MOST_OBSERVED:
        on = np.flatnonzero(front(m[left]))
        on = on[apart(m[left[on]], _MOST_OBSERVED - len(chosen))]
        chosen += left[on].tolist()
        left = np.delete(left, on)
    return np.array(chosen)


class _Counted:
    """The volume as a share of points spread evenly over the box between the best outcomes of all draws and the
    reference."""

    def __init__(self, F: Array, reference: Array) -> None:
        best = F.reshape(-1, F.shape[2]).min(axis=0)
        points = low_discrepancy(0, _N_POINTS, np.zeros(F.shape[2]))
        self._columns = [np.ascontiguousarray(column) for column in (best + points * (reference - best)).T]
        self._size = float(np.prod(reference - best))

    def __call__(self, Y: Array, reference: Array) -> float:
        rows = Y[(reference > Y).all(axis=1)]
        left = self._columns
        # Rows that dominate most come first, so that few points are left for the others.
        for row in rows[np.argsort(-np.prod(reference - rows, axis=1), kind="stable")].tolist():
            open_ = np.logical_or.reduce([column < value for column, value in zip(left, row, strict=True)])
            left = [column[open_] for column in left]
        return self._size * (1.0 - len(left[0]) / _N_POINTS)
