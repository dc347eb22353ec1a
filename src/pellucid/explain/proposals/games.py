"""Shapley values of an acquisition's terms, estimated on evenly spread backgrounds until they are precise enough.

Notation
    u (n, t)      the terms of an acquisition at n rows;  x (d,) the proposal, Z rows of the background
    v (2^p, t)    averages of u over hybrids of x and Z, per coalition;  outputs  the terms and their weighted sum
    replicate     one of a few independently shifted samples; their spread gives the interval
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from pellucid.acquisition.base import AcquisitionFunction, PointwiseFunction
from pellucid.explain import shapley
from pellucid.explain.proposals.background import Part, rows_of
from pellucid.numerics import Array, stream
from pellucid.records import Attribution
from pellucid.study.encoding import Space
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.averages.averages import Factors

# With more parameters, walks are cheaper than all coalitions at the same precision.
MOST_ENUMERATED = 10
# Independent samples: enough for a t-interval, and each of them costs the evaluations of all rows.
_REPLICATES = 8
# Evaluations to begin with and at most, and rows per replicate within which they are kept.
_FIRST_EVALUATIONS, _MOST_EVALUATIONS = 2**16, 2**18
_FEWEST_ROWS, _FIRST_ROWS, _MOST_ROWS = 8, 64, 2048
# An evaluation costs the square of the trials that the model has seen. This many operations take some seconds.
_MOST_OPERATIONS = 3e10
# Sampling stops once intervals of this level are narrower than this share of the largest contribution.
_STOPPING_LEVEL, _PRECISION = 0.95, 0.01
# Hybrids in memory at once.
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Game:
    """Terms of an acquisition at a proposal, and the parameters among which they are split."""

    function: AcquisitionFunction
    gp: GaussianProcess
    space: Space
    x: Array
    players: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.function.weights())

    @property
    def weights(self) -> Array:
        return np.array(list(self.function.weights().values()))

    def terms(self, X: Array) -> Array:
        """(n, t)"""
        terms = self.function.terms(self.space.canonical(X))
        return np.stack([terms[name] for name in self.names], axis=1)

    def with_total(self, values: Array) -> Array:
        """(..., t) -> (..., t + 1): the weighted sum of the terms beside them."""
        return np.concatenate([values, (values @ self.weights)[..., None]], axis=-1)

    def outputs(self, X: Array) -> Array:
        """(n, t + 1)"""
        return self.with_total(self.terms(X))

    def coalition_values(self, Z: Array) -> Array:
        """(2^p, t)"""
        if not isinstance(self.function, PointwiseFunction) or self.gp.kernel.radial or self.space.conditions:
            return shapley.coalition_values(self.terms, self.x, Z, players=self.players)
        total: Array | float = 0.0
        for m, s in _posteriors_of_hybrids(self.gp, self.x, Z, self.players):
            terms = self.function.acquisition.terms(m.ravel(), s.ravel(), self.function.situation)
            u = np.stack([terms[name] for name in self.names])
            total = total + u.reshape(len(u), *m.shape).sum(axis=1)
        return np.asarray(total).T / len(Z)

    @property
    def evaluations(self) -> int:
        """Evaluations per row of the background."""
        p = len(self.players)
        return 2**p if p <= MOST_ENUMERATED else 2 * p

    def shares(self, Z: Array, *labels: int) -> tuple[Array, Array]:
        """Shapley values (p, t) against the rows Z, and the average of the terms there (t,). `labels` name the random
        orders that are used if there are too many coalitions for all of them."""
        p = len(self.players)
        if p <= MOST_ENUMERATED:
            v = self.coalition_values(Z)
            return shapley.shapley_weights(p) @ v, v[0]
        orders = np.argsort(stream(0, "walks", *labels).random((len(Z), p)), axis=1)
        gains = shapley.gains_of_walks(self.terms, self.x, Z, self.players, orders)
        return gains.mean(axis=0), shapley.evaluated(self.terms, Z).mean(axis=0)


def _posteriors_of_hybrids(
    gp: GaussianProcess, x: Array, Z: Array, players: Sequence[int]
) -> Iterator[tuple[Array, Array]]:
    """Latent mean and sd of the hybrids with some rows of Z at a time, (rows, 2^p).

    A product kernel has one factor per column: those of the hybrids are multiplied together from the factors of x and
    of Z by doubling, without another exponential. One piece of memory serves all of them.
    """
    h, t = gp.hyperparameters, gp.data.X[:, :, None]
    factors = Factors(gp.kernel, np.array(h.lengthscales))
    of_z = [factors.between(j, Z[None, :, j], t[:, j]) for j in range(len(x))]
    of_x = [factors.between(j, x[j], t[:, j]) for j in range(len(x))]
    others = [j for j in range(len(x)) if j not in players]
    size, n = 2 ** len(players), gp.n_observed
    step = min(len(Z), max(1, _ROWS_AT_ONCE // size))
    memory = np.empty((n, step, size))
    for first in range(0, len(Z), step):
        rows = slice(first, first + step)
        r = memory[:, : len(Z[rows])]
        r[:, :, 0] = 1.0
        for j in others:
            r[:, :, 0] *= of_z[j][:, rows]
        known = 1
        for j in players:
            np.multiply(r[:, :, :known], of_x[j][:, :, None], out=r[:, :, known : 2 * known])
            r[:, :, :known] *= of_z[j][:, rows, None]
            known *= 2
        m, s = gp.latent_overwriting(r.reshape(n, -1))
        yield m.reshape(-1, size), s.reshape(-1, size)


def estimated(game: Game, parts: Sequence[Part], level: float, exact: Mapping[int, tuple[Array, float]]) -> Attribution:
    """Shapley values of all outputs against a mixture of parts, (p, t + 1).

    Rows are doubled until 95% intervals are narrower than 1% of the largest contribution, and at least once if the
    order of the totals is still open. The source's rule (`shapley.check_sample_size`) compares the efficiency
    gap with the distance between values; here the gap is always zero, so the intervals take its place.
    `exact`: by term, values (p,) and average that are known in closed form.
    """
    sums = np.zeros((_REPLICATES, len(game.players), len(game.names)))
    averages = np.zeros(len(game.names))
    scale = np.abs(np.append(game.weights, 1.0))
    first, most = _row_counts(game)
    done, step = 0, first
    while True:
        for replicate in range(_REPLICATES):
            for part in parts:
                values, average = game.shares(rows_of(part, game.space, done, step, replicate), replicate, done)
                sums[replicate] += step * values / len(parts)
                averages += step * average / (len(parts) * _REPLICATES)
        done += step
        step = done
        replicates = sums / done
        for k, (known, _) in exact.items():
            replicates[:, :, k] = known
        replicates = game.with_total(replicates)
        phi, half = replicates.mean(axis=0), _half_width(replicates, _STOPPING_LEVEL)
        precise = float((half * scale).max()) <= _PRECISION * float(np.abs(phi * scale).max())
        if done >= (2 * first if precise else most) or (precise and ordered(phi[:, -1], half[:, -1])):
            break
    half, average = _half_width(replicates, level), averages / done
    for k, (known, known_average) in exact.items():
        phi[:, k], half[:, k], average[k] = known, 0.0, known_average
    average = game.with_total(average)
    payout = game.outputs(game.x[None])[0] - average
    intervals = np.stack([phi - half, phi + half], axis=-1)
    return Attribution(phi, intervals, payout, average, "sampled", _REPLICATES * done * len(parts), level)


def _row_counts(game: Game) -> tuple[int, int]:
    """Rows per replicate to begin with, and at most: powers of two, for about the same number of evaluations."""
    per_row = _REPLICATES * game.evaluations
    affordable = _MOST_OPERATIONS / max(game.gp.n_observed, 1) ** 2
    limits = (min(n, affordable) for n in (_FIRST_EVALUATIONS, _MOST_EVALUATIONS))
    first, most = (2 ** int(np.log2(max(n / per_row, 1.0))) for n in limits)
    return min(max(first, _FEWEST_ROWS), _FIRST_ROWS), min(max(most, 4 * _FEWEST_ROWS), _MOST_ROWS)


def _half_width(replicates: Array, level: float) -> Array:
    spread = replicates.std(axis=0, ddof=1) / np.sqrt(len(replicates))
    return np.asarray(float(stdtrit(len(replicates) - 1, 0.5 + 0.5 * level)) * spread)


def ordered(values: Array, half: Array) -> bool:
    """Whether neighbours in the order of the values differ by more than either's half-width."""
    order = np.argsort(values)
    wide = np.maximum(half[order][1:], half[order][:-1])
    return bool((np.diff(values[order]) > wide).all())
