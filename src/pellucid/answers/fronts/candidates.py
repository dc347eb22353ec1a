"""Configurations that may be on the front, tried or not: a search by the models.

Notation
    Z (m, d)     encoded candidates, canonical
    scores       of a candidate, one per objective: latent mean - optimism * sd; with constraints, worse for those that
                 are too unlikely to be feasible: below 1/2 without optimism, and below less with more

The front is a minimum over all configurations. Too few candidates make it look worse than it is, so every degree of
optimism searches for a front of its own.
"""

from __future__ import annotations

import numpy as np

from pellucid.beliefs.feasibility import Feasibility
from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Indices, log_normal_cdf, stream
from pellucid.pareto import front
from pellucid.space.branches import everywhere
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays

Models = tuple[GaussianProcess, ...]

_OPTIMISM = (0.0, 1.0, 2.0)
# Rounds of the search: the lengths of steps; and the starts per degree of optimism, with the steps from each.
_STEPS, _N_STARTS, _N_MOVES = (0.2, 0.1, 0.05, 0.02, 0.01), 40, 6
# Candidates that each degree of optimism keeps.
_N_KEPT = 80
# How much worse a candidate counts for every nat that its chance of being feasible falls short.
_UNLIKELY = 10.0
# The search at given levels of the first objective: lengths of steps, starts per level and optimism, steps from each
# start, and candidates that stay. Between two candidates the front is not known to be where it is: shorter steps than
# the bands are wide.
_LEVEL_STEPS, _N_LEVEL_STARTS, _N_LEVEL_MOVES, _N_LEVEL_KEPT = (0.1, 0.03, 0.01, 0.003, 0.001), 4, 8, 5
_LEVEL_OPTIMISM = (-1.0, 0.0, 1.0)


def candidates(models: Models, data: Arrays, feasibility: Feasibility | None) -> Array:
    """Z: the fronts that every degree of optimism sees, evenly along each; not the trials themselves."""
    space, rng = data.space, stream(0, "front")
    pool = np.vstack([data.X, everywhere(space)])
    scores = _scores(models, pool, feasibility)
    for step in _STEPS:
        starts = [pool[_along(each, _N_STARTS)] for each in scores]
        found = np.vstack([_steps(space, each, step, rng) for each in starts])
        pool = np.vstack([pool, found])
        scores = np.concatenate([scores, _scores(models, found, feasibility)], axis=1)
    kept = np.unique(np.concatenate([_along(each, _N_KEPT) for each in scores]))
    return np.asarray(pool[kept[kept >= len(data.X)]])


def _scores(models: Models, Z: Array, feasibility: Feasibility | None) -> Array:
    """(degrees of optimism, m, k)"""
    latent = [gp.screen(Z) for gp in models]
    mean, sd = (np.stack(parts, axis=1).astype(float) for parts in zip(*latent, strict=True))
    scores = np.stack([mean - optimism * sd for optimism in _OPTIMISM])
    if feasibility is not None:
        chance = feasibility.log_chance(Z)
        short = np.stack([np.maximum(log_normal_cdf(np.array(-k)) - chance, 0.0) for k in _OPTIMISM])
        scores = scores + _UNLIKELY * short[:, :, None]
    return scores


def _along(scores: Array, count: int) -> Indices:
    """At most `count` of the front of the scores (m, k), evenly along it in the order of the first objective."""
    rows = np.flatnonzero(front(scores))
    rows = rows[np.argsort(scores[rows, 0], kind="stable")]
    return np.asarray(rows[np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int))])


def at_levels(models: Models, space: Space, pool: Array, levels: Array, feasibility: Feasibility | None) -> Array:
    """More candidates: those with the best second objective whose first is at most each of the levels, in the unit of
    the objective. `pool` (m, d): where the search begins."""
    rng = stream(0, "levels of a front")
    scores = _level_scores(models, pool, feasibility)
    for step in _LEVEL_STEPS:
        starts = pool[_best_at(scores, levels, _N_LEVEL_STARTS)]
        found = _moved(space, np.repeat(starts, _N_LEVEL_MOVES, axis=0), step, rng)
        pool = np.vstack([pool, found])
        scores = np.concatenate([scores, _level_scores(models, found, feasibility)], axis=1)
    return np.asarray(pool[_best_at(scores, levels, _N_LEVEL_KEPT)])


def _level_scores(models: Models, Z: Array, feasibility: Feasibility | None) -> Array:
    """(degrees of optimism, m, 2): the first objective in its own unit, the second latent."""
    (first, first_sd), (second, second_sd) = (gp.latent(Z) for gp in models)
    chance = np.zeros(len(Z)) if feasibility is None else feasibility.log_chance(Z)
    scores = []
    for optimism in _LEVEL_OPTIMISM:
        short = np.maximum(log_normal_cdf(np.array(-optimism)) - chance, 0.0)
        A = models[0].losses(first - optimism * first_sd)
        scores.append(np.stack([A, second - max(optimism, 0.0) * second_sd + _UNLIKELY * short], axis=1))
    return np.stack(scores)


def _best_at(scores: Array, levels: Array, count: int) -> Indices:
    chosen = []
    for each in scores:
        for level in levels:
            B = np.where(each[:, 0] <= level, each[:, 1], np.inf)
            order = np.argsort(B, kind="stable")[:count]
            chosen.append(order[np.isfinite(B[order])])
    return np.unique(np.concatenate(chosen))


def _steps(space: Space, starts: Array, step: float, rng: np.random.Generator) -> Array:
    """Steps in some of the parameters, and configurations between neighbours on the front."""
    moved = _moved(space, np.repeat(starts, _N_MOVES, axis=0), step, rng)
    between = starts[:-1] + rng.random((max(len(starts) - 1, 0), 1)) * (starts[1:] - starts[:-1])
    return np.vstack([moved, space.canonical(between)])


def _moved(space: Space, rows: Array, step: float, rng: np.random.Generator) -> Array:
    moves = rng.random(rows.shape) < max(0.3, 2.0 / rows.shape[1])
    to = rows + step * rng.standard_normal(rows.shape)
    to = np.where(moves, np.clip(to, 0.0, 1.0), rows)
    for j, dimension in enumerate(space.dimensions):
        if dimension.nominal:
            to[:, j] = np.where(moves[:, j] & (rng.random(len(rows)) < 0.3), rng.random(len(rows)), rows[:, j])
    return space.canonical(to)
