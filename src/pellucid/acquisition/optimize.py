"""Maximise an acquisition over a mixed, conditional space: screen many, refine few, never repeat what is known.

Notation
    X (m, d)     encoded candidates, canonical (discrete values at mid-points, inactive ones at 1/2)
    seen (n, d)  canonical configurations already evaluated or running
    smooth (d,)  columns refined by gradients: continuous, or with so many cells that rounding afterwards is harmless
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from pellucid.acquisition.base import AcquisitionFunction
from pellucid.numerics import Array
from pellucid.space.encoding import Space

N_GLOBAL = 512
N_LOCAL = 512
N_RESCORED = 48
N_STARTS = 4
REFINE_EVALUATIONS = 20
SEPARATION = 1e-7
_MANY_CELLS = 48
_SWEEP_ALL = 12
_ENUMERABLE = 50_000


@lru_cache(maxsize=16)
def _lattice(d: int) -> Array:
    return np.asarray(qmc.Sobol(d, scramble=False).random(N_GLOBAL))


def propose(
    function: AcquisitionFunction, space: Space, incumbents: Array, seen: Array, rng: np.random.Generator
) -> Array:
    """The canonical configuration (d,) with the best score found that is not in `seen` (if there is one)."""
    pool = space.canonical(_pool(space, incumbents, rng))
    screened = function.screen(pool)
    shortlist = pool[np.argpartition(-screened, min(N_RESCORED, len(pool) - 1))[:N_RESCORED]]
    scores = function.score(shortlist)
    order = np.argsort(-scores, kind="stable")
    shortlist, scores = shortlist[order], scores[order]
    starts = _diverse(space, shortlist)
    refined, refined_scores = _refine(function, space, shortlist[starts], scores[starts], rng)
    X = np.vstack([refined, shortlist])
    values = np.concatenate([refined_scores, scores])
    for i in np.argsort(-values, kind="stable"):
        if not is_seen(X[i], seen):
            return X[i]
    return _unseen(function, space, seen, rng, otherwise=X[int(np.argmax(values))])


def is_seen(x: Array, seen: Array) -> bool:
    return bool(len(seen)) and bool((np.abs(seen - x).max(axis=1) <= SEPARATION).any())


def _pool(space: Space, incumbents: Array, rng: np.random.Generator) -> Array:
    """A randomly shifted Sobol lattice and perturbations of the incumbents on scales from 0.1 % to 30 %."""
    d = len(space)
    everywhere = (_lattice(d) + rng.random(d)) % 1.0
    if len(incumbents) == 0:
        return everywhere
    centres = incumbents[rng.integers(len(incumbents), size=N_LOCAL)]
    moved = rng.random((N_LOCAL, d)) < max(0.25, min(1.0, 3.0 / d))
    moved[np.arange(N_LOCAL), rng.integers(d, size=N_LOCAL)] = True
    scale = np.exp(rng.uniform(np.log(1e-3), np.log(0.3), size=(N_LOCAL, 1)))
    local = centres + np.where(moved, scale * rng.standard_normal((N_LOCAL, d)), 0.0)
    # Reflection keeps perturbed points inside without piling them up at the border.
    local = np.abs(local)
    local = np.where(local > 1.0, 2.0 - local, local)
    for j, dimension in enumerate(space.dimensions):
        if dimension.nominal:
            flip = moved[:, j] & (rng.random(N_LOCAL) < 0.5)
            local[:, j] = np.where(flip, rng.random(N_LOCAL), centres[:, j])
    return np.vstack([everywhere, np.clip(local, 0.0, 1.0)])


def _diverse(space: Space, ranked: Array) -> npt.NDArray[np.intp]:
    """Indices of good, different starting points: the best ones that are apart, and the best of every other activity pattern."""
    chosen = [0]
    for i in range(1, len(ranked)):
        if len(chosen) >= N_STARTS:
            break
        if np.abs(ranked[chosen] - ranked[i]).max(axis=1).min() > 0.02:
            chosen.append(i)
    if space.conditions:
        patterns = space.active(ranked)
        for i in range(len(ranked)):
            if len(chosen) < 2 * N_STARTS and not (patterns[chosen] == patterns[i]).all(axis=1).any():
                chosen.append(i)
    return np.array(chosen)


def _refine(
    function: AcquisitionFunction, space: Space, X: Array, scores: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    smooth = np.array([d.cells == 0 or d.cells > _MANY_CELLS for d in space.dimensions])
    discrete = np.array([d.cells > 0 for d in space.dimensions])
    for round_ in range(3):
        if smooth.any():
            climbed, _ = climb(function, X, smooth & space.active(X), REFINE_EVALUATIONS if round_ == 0 else 8)
            climbed = space.canonical(climbed)
            climbed_scores = function.score(climbed)
            better = climbed_scores > scores
            X, scores = np.where(better[:, None], climbed, X), np.where(better, climbed_scores, scores)
        if not discrete.any():
            break
        X, scores, changed = _sweep(function, space, X, scores, rng)
        if not changed:
            break
        # Later rounds polish the two best only.
        best = np.argsort(-scores, kind="stable")[:2]
        X, scores = X[best], scores[best]
    return X, scores


def climb(function: AcquisitionFunction, X: Array, free: npt.NDArray[np.bool_], evaluations: int) -> tuple[Array, Array]:
    """Projected BFGS from every row at once, moving only `free` (m, d) entries; returns points and scores."""
    m, d = X.shape
    x = X.copy()
    f, g = function.score_with_gradient(x)
    H = np.repeat(np.eye(d)[None], m, axis=0)
    fresh = np.ones(m, dtype=bool)
    step = np.ones(m)
    going = np.isfinite(f)
    p = _direction(H, g, x, free, fresh)
    for _ in range(evaluations - 1):
        going &= (np.abs(p).max(axis=1) > 1e-6) & (step > 1e-3)
        rows = np.flatnonzero(going)
        if len(rows) == 0:
            break
        trial = np.clip(x[rows] + step[rows, None] * p[rows], 0.0, 1.0)
        f_new, g_new = function.score_with_gradient(trial)
        s = trial - x[rows]
        gain = np.einsum("ij,ij->i", g[rows], s)
        accepted = (f_new >= f[rows] + 1e-4 * gain) & np.isfinite(f_new)
        step[rows[~accepted]] *= 0.3
        if not accepted.any():
            continue
        rows, s = rows[accepted], s[accepted]
        going[rows] &= f_new[accepted] - f[rows] > 1e-5
        _update(H, rows, s, g[rows] - g_new[accepted], fresh)
        x[rows], f[rows], g[rows], step[rows] = trial[accepted], f_new[accepted], g_new[accepted], 1.0
        p[rows] = _direction(H[rows], g[rows], x[rows], free[rows], fresh[rows])
    return x, f


def _direction(H: Array, g: Array, x: Array, free: npt.NDArray[np.bool_], fresh: npt.NDArray[np.bool_]) -> Array:
    """Ascent direction with blocked coordinates removed, at most 0.3 long in any coordinate (0.1 for the first step)."""
    open_ = free & ~((x <= 0.0) & (g < 0.0)) & ~((x >= 1.0) & (g > 0.0))
    g = np.where(open_, g, 0.0)
    p = np.where(open_, np.einsum("ijk,ik->ij", H, g), 0.0)
    uphill = np.einsum("ij,ij->i", p, g) > 0.0
    p = np.where(uphill[:, None], p, g)
    longest = np.abs(p).max(axis=1)
    limit = np.where(fresh, 0.1, 0.3)
    shrink = np.where(fresh & (longest > 0), limit / np.maximum(longest, 1e-300), np.minimum(1.0, limit / np.maximum(longest, 1e-300)))
    return np.asarray(p * shrink[:, None])


def _update(H: Array, rows: npt.NDArray[np.intp], s: Array, y: Array, fresh: npt.NDArray[np.bool_]) -> None:
    """BFGS update of the inverse Hessians (of the negated score), rescaling the identity before the first one."""
    sy = np.einsum("ij,ij->i", s, y)
    yy = np.einsum("ij,ij->i", y, y)
    good = sy > 1e-12 * np.sqrt(np.einsum("ij,ij->i", s, s) * yy)
    if not good.any():
        return
    rows, s, y, sy, yy = rows[good], s[good], y[good], sy[good], yy[good]
    first = fresh[rows]
    H[rows[first]] *= (sy[first] / yy[first])[:, None, None]
    fresh[rows] = False
    Hy = np.einsum("ijk,ik->ij", H[rows], y)
    scale = (sy + np.einsum("ij,ij->i", y, Hy)) / sy**2
    cross = np.einsum("ij,ik->ijk", Hy, s)
    H[rows] += scale[:, None, None] * np.einsum("ij,ik->ijk", s, s) - (cross + cross.transpose(0, 2, 1)) / sy[:, None, None]


def _sweep(
    function: AcquisitionFunction, space: Space, X: Array, scores: Array, rng: np.random.Generator
) -> tuple[Array, Array, bool]:
    """Move each row to its best neighbour in one discrete coordinate, until none is better (at most four times)."""
    changed = False
    for _ in range(4):
        neighbours, owner = _neighbours(space, X, rng)
        if len(neighbours) == 0:
            break
        values = function.score(neighbours)
        improved = False
        for i in range(len(X)):
            mine = np.flatnonzero(owner == i)
            if len(mine) and values[mine].max() > scores[i] + 1e-9:
                best = mine[int(np.argmax(values[mine]))]
                X[i], scores[i] = neighbours[best], values[best]
                improved = changed = True
        if not improved:
            break
    return X, scores, changed


def _neighbours(space: Space, X: Array, rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.int64]]:
    """Canonical rows that differ from a row of X in one discrete coordinate, and which row they belong to.

    A flip that switches children on gives them fresh random values (several draws): their mid-points say nothing.
    """
    rows, owner = [], []
    active = space.active(X)
    for i in range(len(X)):
        for j, dimension in enumerate(space.dimensions):
            if not dimension.cells or not active[i, j]:
                continue
            here = int(dimension.code(X[i, j : j + 1])[0])
            if dimension.nominal or dimension.cells <= _SWEEP_ALL:
                codes = np.array([k for k in range(dimension.cells) if k != here])
            else:
                codes = np.unique(np.clip([here - 2, here - 1, here + 1, here + 2], 0, dimension.cells - 1))
            moved = np.repeat(X[i : i + 1], len(codes), axis=0)
            moved[:, j] = dimension.midpoint(codes)
            if space.conditions:
                switched_on = space.active(moved) & ~active[i]
                if switched_on.any():
                    moved = np.repeat(moved, 4, axis=0)
                    switched_on = np.repeat(switched_on, 4, axis=0)
                    moved = np.where(switched_on, rng.random(moved.shape), moved)
            rows.append(moved)
            owner.append(np.full(len(moved), i))
    if not rows:
        return np.empty((0, len(space))), np.empty(0, dtype=np.int64)
    return space.canonical(np.vstack(rows)), np.concatenate(owner)


def _unseen(function: AcquisitionFunction, space: Space, seen: Array, rng: np.random.Generator, otherwise: Array) -> Array:
    """The best unseen configuration when everything promising is known already; `otherwise` when nothing is left."""
    if space.size() <= _ENUMERABLE:
        axes = [dimension.midpoint(np.arange(dimension.cells)) for dimension in space.dimensions]
        everything = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
        pool = np.unique(space.canonical(everything), axis=0)
        known = {row.tobytes() for row in np.round(seen, 9)}
        pool = pool[[row.tobytes() not in known for row in np.round(pool, 9)]]
        if len(pool) == 0:
            return otherwise
        scores = np.concatenate([function.screen(part) for part in np.array_split(pool, len(pool) // 4096 + 1)])
        return np.asarray(pool[int(np.argmax(scores))])
    for _ in range(50):
        pool = space.canonical(rng.random((64, len(space))))
        fresh = [x for x in pool if not is_seen(x, seen)]
        if fresh:
            return np.asarray(fresh[int(np.argmax(function.score(np.array(fresh))))])
    return otherwise
