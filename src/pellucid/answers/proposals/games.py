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

from pellucid.answers import shapley
from pellucid.answers.attribution import Attribution
from pellucid.answers.proposals.background import Part, rows_of
from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Factors
from pellucid.models.posterior import Posteriors
from pellucid.numerics import Array, Integers, stream
from pellucid.search.acquisition.base import AcquisitionFunction
from pellucid.space.encoding import Space
from pellucid.threads import cached_property

# With more parameters, walks are cheaper than all coalitions at the same precision.
MOST_ENUMERATED = 10
# Independent samples: enough for a t-interval, and each of them costs the evaluations of all rows.
_REPLICATES = 8
# Evaluations to begin with and at most, and rows per replicate within which they are kept.
_FIRST_EVALUATIONS, _MOST_EVALUATIONS = 2**16, 2**18
_FEWEST_ROWS, _FIRST_ROWS, _MOST_ROWS = 8, 64, 2048
# An evaluation costs the square of the trials that a model has seen, for each model. This many operations take some
# seconds.
_MOST_OPERATIONS = 3e10
# Sampling stops once intervals of this level are narrower than this share of the largest contribution.
_STOPPING_LEVEL, _PRECISION = 0.95, 0.01
# Rows among which the best configuration for a term is looked for, beside the proposal.
_N_SPREAD = 256
# Hybrids in memory at once.
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Game:
    """Terms of an acquisition at a proposal, and the parameters among which they are split.

    reach   by how much a configuration is worse than the best at most, in every term. The logarithm of an expected gain
            is thousands of nats lower in most of a space: without a limit, an explanation would speak of nothing else
    """

    function: AcquisitionFunction
    gp: GaussianProcess
    space: Space
    x: Array
    players: tuple[int, ...]
    reach: float = np.inf

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.function.weights())

    @property
    def weights(self) -> Array:
        return np.array(list(self.function.weights().values()))

    def terms(self, X: Array) -> Array:
        """(n, t)"""
        rows = self.space.canonical(X)
        if self.reach < np.inf and self.function.models:
            return self._terms_of([model.posterior_at(rows) for model in self.function.models])
        return self._stacked(self.function.terms(rows))

    def _terms_of(self, posteriors: Posteriors) -> Array:
        """(n, t), from the posteriors of the models of the function."""
        return self._stacked(self.function.terms_from(posteriors, dict(zip(self.names, self._floor, strict=True))))

    def _stacked(self, terms: Mapping[str, Array]) -> Array:
        values = np.stack([terms[name] for name in self.names], axis=1)
        return values if self.reach == np.inf else np.maximum(values, self._floor)

    @cached_property
    def _floor(self) -> Array:
        """(t,)"""
        if self.reach == np.inf:
            return np.full(len(self.names), -np.inf)
        spread = rows_of({}, self.space, 0, _N_SPREAD, 0)
        terms = self.function.terms(self.space.canonical(np.vstack([self.x[None], spread])))
        return np.array([float(terms[name].max()) for name in self.names]) - self.reach

    def with_total(self, values: Array) -> Array:
        """(..., t) -> (..., t + 1): the weighted sum of the terms beside them."""
        return np.concatenate([values, (values @ self.weights)[..., None]], axis=-1)

    def outputs(self, X: Array) -> Array:
        """(n, t + 1)"""
        return self.with_total(self.terms(X))

    def coalition_values(self, Z: Array) -> Array:
        """(2^p, t)"""
        if not self._factorised:
            return shapley.coalition_values(self.terms, self.x, Z, players=self.players)
        total = np.zeros((2 ** len(self.players), len(self.names)))
        # A row that has the value of x for a player has the same hybrids with and without that player.
        same = Z[:, self.players] == self.x[list(self.players)]
        masks = shapley.coalitions(len(self.players))
        for pattern in np.unique(same, axis=0):
            rows, free = Z[(same == pattern).all(axis=1)], np.flatnonzero(~pattern)
            of_free = [self.players[i] for i in free]
            hybrids = [_HybridFactors.of(model, self.x, rows, of_free) for model in self.function.models]
            sums = sum(self._terms_from(r).sum(axis=1) for r in zip(*map(_of_coalitions, hybrids), strict=True))
            total += np.asarray(sums)[masks[:, free] @ (1 << np.arange(len(free)))]
        return total / len(Z)

    def gains_of_walks(self, Z: Array, orders: Integers) -> Array:
        """(k, p, t)"""
        if not self._factorised:
            return shapley.gains_of_walks(self.terms, self.x, Z, self.players, orders)
        hybrids = [_HybridFactors.of(model, self.x, Z, self.players) for model in self.function.models]
        on_the_way = zip(*(_of_walks(each, orders) for each in hybrids), strict=True)
        u = np.concatenate([self._terms_from(r) for r in on_the_way])
        return shapley.gains_from_values(u, orders)

    @property
    def _factorised(self) -> bool:
        """Whether hybrids can be evaluated from one factor of the kernel per column."""
        models = self.function.models
        return bool(models) and not self.space.conditions and not any(model.kernel.radial for model in models)

    def _terms_from(self, correlations: Sequence[Array]) -> Array:
        """Terms (..., t) of hybrids from the correlations (n, ...) that every model has with its data, which are
        overwritten."""
        models = zip(self.function.models, correlations, strict=True)
        values = self._terms_of([model.posterior(r.reshape(len(r), -1)) for model, r in models])
        return values.reshape(*correlations[0].shape[1:], -1)

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
        gains = self.gains_of_walks(Z, orders)
        return gains.mean(axis=0), shapley.evaluated(self.terms, Z).mean(axis=0)


@dataclass(frozen=True)
class _HybridFactors:
    """A product kernel has one factor per column. The correlations of hybrids of x and Z with n data are products of
    those of x (n, p) and of Z (n, rows, p); `others` (n, rows): of the columns that no player has."""

    of_x: Array
    of_z: Array
    others: Array

    @staticmethod
    def of(gp: GaussianProcess, x: Array, Z: Array, players: Sequence[int]) -> _HybridFactors:
        factors = Factors(gp.kernel, np.array(gp.hyperparameters.lengthscales))
        t = gp.data.X[:, :, None]
        of_z = [factors.between(j, Z[None, :, j], t[:, j]) for j in range(len(x))]
        others = np.ones((len(t), len(Z)))
        for j in range(len(x)):
            if j not in players:
                others *= of_z[j]
        if not len(players):
            return _HybridFactors(np.empty((len(t), 0)), np.empty((*others.shape, 0)), others)
        of_x = np.concatenate([factors.between(j, x[j], t[:, j]) for j in players], axis=1)
        return _HybridFactors(of_x, np.stack([of_z[j] for j in players], axis=2), others)


def _of_coalitions(hybrids: _HybridFactors) -> Iterator[Array]:
    """Correlations of the hybrids with some rows of Z at a time, (n, 2^p, rows), by doubling."""
    n, k, p = hybrids.of_z.shape
    of_z = np.ascontiguousarray(hybrids.of_z.transpose(2, 0, 1))
    step = min(k, max(1, _ROWS_AT_ONCE // 2**p))
    for first in range(0, k, step):
        rows = slice(first, min(first + step, k))
        r = np.empty((n, 2**p, rows.stop - rows.start))
        r[:, 0] = hybrids.others[:, rows]
        known = 1
        for j in range(p):
            np.multiply(r[:, :known], hybrids.of_x[:, None, None, j], out=r[:, known : 2 * known])
            r[:, :known] *= of_z[j][:, None, rows]
            known *= 2
        yield r


def _of_walks(hybrids: _HybridFactors, orders: Integers) -> Iterator[Array]:
    """Correlations on the way of some walks at a time, (n, rows, 2p): see `shapley.gains_from_values`."""
    k, p = orders.shape
    step = max(1, _ROWS_AT_ONCE // (2 * p))
    for first in range(0, k, step):
        rows = slice(first, first + step)
        of_x = np.take_along_axis(hybrids.of_x[:, None], orders[None, rows], axis=2)
        of_z = np.take_along_axis(hybrids.of_z[:, rows], orders[None, rows], axis=2)
        forward = _products(of_x) * _products(of_z[:, :, ::-1])[:, :, ::-1]
        backward = _products(of_z) * _products(of_x[:, :, ::-1])[:, :, ::-1]
        r = np.concatenate([forward, backward[:, :, 1:p]], axis=2)
        yield r * hybrids.others[:, rows, None]


def _products(factors: Array) -> Array:
    """The products of the first 0 .. p of the factors (..., p): (..., p + 1)."""
    out = np.ones((*factors.shape[:-1], factors.shape[-1] + 1))
    np.cumprod(factors, axis=-1, out=out[..., 1:])
    return out


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


def known(game: Game, exact: Mapping[int, tuple[Array, float]], level: float) -> Attribution:
    """The same if every term is known in closed form."""
    values, averages = zip(*(exact[k] for k in range(len(game.names))), strict=True)
    phi, average = game.with_total(np.stack(values, axis=1)), game.with_total(np.array(averages))
    payout = game.outputs(game.x[None])[0] - average
    return Attribution(phi, np.stack([phi, phi], axis=-1), payout, average, "exact", 0, level)


def _row_counts(game: Game) -> tuple[int, int]:
    """Rows per replicate to begin with, and at most: powers of two, for about the same number of evaluations."""
    per_row = _REPLICATES * game.evaluations
    models = game.function.models or (game.gp,)
    affordable = _MOST_OPERATIONS / max(sum(model.n_observed**2 for model in models), 1)
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
