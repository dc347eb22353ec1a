"""The best that can be reached at each value of a parameter: joint draws of a function's best over candidates.

The truth is a minimum over all other parameters. Candidates that are too few make it too high, and draws over many
that are unlike any trial make it too low, so the candidates at every value are searched for and then thinned out.

Notation
    grid (G,)      encoded values of the parameter in question, which is column j
    X (G, m, d)    candidates: canonical configurations whose column j has the value of their grid point
    mean, sd       posterior of the fitted model at candidates, latent
    optimism k     candidates are ranked by mean - k sd: lower is more promising; with constraints, those that are too
                   unlikely to be feasible come last: below 1/2 for k = 0, and below less for more optimism
    S              number of joint draws, over all models
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.beliefs.feasibility import Feasibility
from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Average
from pellucid.models.averages.effects import surprise
from pellucid.numerics import Array, cholesky, log_normal_cdf, low_discrepancy, stream
from pellucid.space.encoding import Space

# Candidates per grid point: spread over the whole space, and the other parameters of the best trials.
_N_EVERYWHERE, _N_TRANSPLANTED = 128, 12
# Rounds of the search around the most promising candidates: step lengths, starts per grid point and optimism, and
# steps from each start.
_STEPS, _N_STARTS, _N_MOVES = (0.2, 0.07, 0.02), 3, 8
# Candidates that all grid points share in the end.
_N_SHARED = 96
# Degrees of optimism by which candidates are judged, and how many are drawn together: in all, and per grid point.
_OPTIMISM = (0.0, 1.0, 2.0, 3.0)
_MOST_JOINT, _MOST_PER_VALUE = 480, 96
# How much a candidate's rank loses for every nat that its chance of being feasible falls short.
_UNLIKELY = 10.0
# Joint draws over all models.
_N_DRAWS = 192


def candidates(
    gp: GaussianProcess, space: Space, column: int, grid: Array, feasibility: Feasibility | None = None
) -> Array:
    """The most promising configurations at every value of a parameter, (G, m, d)."""
    held = Average.of(space, {column: grid})
    fixed = (column, *held.axes)
    everywhere = _held_at(held, column, low_discrepancy(0, _N_EVERYWHERE, np.full(len(space), 0.5)), narrowed=True)
    pool = np.concatenate([everywhere, _held_at(held, column, _best_observed(gp, space, held), narrowed=False)], axis=1)
    ranked = _Ranked.of(gp, pool, feasibility)
    rng = stream(0, "profile", column)
    for step in _STEPS:
        starts = ranked.most_promising(_N_STARTS * len(_OPTIMISM))
        ranked = ranked.joined(_Ranked.of(gp, _moved(space, starts, fixed, step, rng), feasibility))
    # What was found at one grid point is tried at all: otherwise a value is worse where the search had less luck.
    found = ranked.most_promising(max(_N_SHARED // len(grid), len(_OPTIMISM))).reshape(-1, len(space))
    ranked = ranked.joined(_Ranked.of(gp, _held_at(held, column, found, narrowed=False), feasibility))
    return ranked.most_promising(min(_MOST_PER_VALUE, max(_MOST_JOINT // len(grid), len(_OPTIMISM))))


def _held_at(held: Average, column: int, rows: Array, *, narrowed: bool) -> Array:
    """Rows (m, d) at every grid point, (G, m, d). `narrowed`: move the parents to where the parameter exists."""
    rows = rows.copy()
    for j, axis in held.axes.items() if narrowed else ():
        rows[:, j] = axis.quantiles(rows[:, j])
    out = np.repeat(rows[None], held.size, axis=0)
    out[:, :, column] = held.held[column][:, None]
    return np.array([held.space.canonical(part) for part in out])


def _best_observed(gp: GaussianProcess, space: Space, held: Average) -> Array:
    """The trials with the best posterior mean that have the parameter; any parameter that holds it is as it was."""
    X = gp.data.X
    column = next(iter(held.held))
    having = np.flatnonzero(space.active(X)[:, column])
    order = having[np.argsort(gp.latent_at_observed()[having], kind="stable")]
    return np.asarray(X[order[:_N_TRANSPLANTED]])


@dataclass(frozen=True)
class _Ranked:
    """Candidates X (G, m, d) and their scores (k, G, m) by each degree of optimism."""

    X: Array
    scores: Array

    @staticmethod
    def of(gp: GaussianProcess, X: Array, feasibility: Feasibility | None) -> _Ranked:
        G, m, d = X.shape
        mean, sd = (part.reshape(G, m) for part in gp.screen(X.reshape(-1, d)))
        scores = np.stack([mean - k * sd for k in _OPTIMISM])
        if feasibility is not None:
            chance = feasibility.log_chance(X.reshape(-1, d)).reshape(G, m)
            short = np.stack([np.maximum(log_normal_cdf(np.array(-k)) - chance, 0.0) for k in _OPTIMISM])
            scores = scores + _UNLIKELY * short
        return _Ranked(X, scores)

    def joined(self, other: _Ranked) -> _Ranked:
        X = np.concatenate([self.X, other.X], axis=1)
        return _Ranked(X, np.concatenate([self.scores, other.scores], axis=2))

    def most_promising(self, count: int) -> Array:
        """The `count` best at every grid point, some by each degree of optimism."""
        if self.X.shape[1] <= count:
            return self.X
        ranks = np.argsort(np.argsort(self.scores, axis=2, kind="stable"), axis=2)
        chosen = np.argsort(ranks.min(axis=0), axis=1, kind="stable")[:, :count]
        return np.take_along_axis(self.X, chosen[:, :, None], axis=1)


def _moved(space: Space, starts: Array, fixed: Sequence[int], step: float, rng: np.random.Generator) -> Array:
    """Steps from every start (G, s, d) in some of the parameters; `fixed` ones stay."""
    G, s, d = starts.shape
    rows = np.repeat(starts, _N_MOVES, axis=1).reshape(-1, d)
    moves = rng.random(rows.shape) < max(0.3, 2.0 / d)
    moves[:, list(fixed)] = False
    to = rows + step * rng.standard_normal(rows.shape)
    # Reflected at the ends; what does not move stays as it is, to the last digit.
    to = np.where(moves, 1.0 - np.abs(1.0 - np.abs(to)), rows)
    for j, dimension in enumerate(space.dimensions):
        if dimension.nominal:
            to[:, j] = np.where(moves[:, j], rng.random(len(rows)), rows[:, j])
    return space.canonical(to).reshape(G, s * _N_MOVES, d)


@dataclass(frozen=True)
class BestDraws:
    """What can be reached at every grid point, in losses.

    mean (G,)     the best posterior mean over the candidates
    best (S, G)   per joint draw, the smallest loss over the candidates
    sure (S, G)   per joint draw, the loss of the candidate with the best mean: at least this good can be reached
    """

    mean: Array
    best: Array
    sure: Array


def drawn_best(
    gp: GaussianProcess, models: Sequence[GaussianProcess], X: Array, feasibility: Feasibility | None = None
) -> BestDraws:
    """Joint draws of models of equal weight at the candidates X (G, m, d); `gp` is the fitted model.

    How far draws are from the mean is widened by the `surprise` of their model. What is not feasible in a draw counts
    as the worst trial; so does a mean that is more likely infeasible than not.
    """
    G, m, d = X.shape
    rows, which = np.unique(X.reshape(-1, d), axis=0, return_inverse=True)
    which = which.reshape(G, m)
    joints = [model.joint(rows) for model in models]
    h = gp.hyperparameters
    own = [model.hyperparameters for model in models]
    latent = [(o.y_mean - h.y_mean + o.y_scale * mean) / h.y_scale for o, (mean, _) in zip(own, joints, strict=True)]
    mean = np.mean(latent, axis=0)[which]
    if feasibility is not None:
        unlikely = (feasibility.log_chance(rows) < np.log(0.5))[which]
        mean = np.where(unlikely, np.maximum(mean, float(gp.data.z.max())), mean)
    chosen = which[np.arange(G), np.argmin(mean, axis=1)]
    rng = stream(0, "profile draws", len(rows))
    size = -(-_N_DRAWS // len(models))
    best, sure, every = [], [], []
    for model, (centre, covariance) in zip(models, joints, strict=True):
        noise = rng.standard_normal((size, len(rows))) @ cholesky(covariance).L.T
        draws = centre + np.sqrt(surprise(model)) * noise
        if feasibility is None:
            best.append(model.losses(draws[:, which].min(axis=2)))
            sure.append(model.losses(draws[:, chosen]))
        else:
            every.append(model.losses(draws))
    if feasibility is not None:
        kept = feasibility.kept(rows, np.concatenate(every))
        best, sure = [kept[:, which].min(axis=2)], [kept[:, chosen]]
    return BestDraws(gp.losses(mean.min(axis=1)), np.concatenate(best), np.concatenate(sure))
