"""Maximise an acquisition over a mixed, conditional space: screen many, refine few, never repeat what is known.

Notation
    X (m, d)     encoded candidates, canonical (discrete values at mid-points, inactive ones at 1/2)
    seen (n, d)  canonical configurations already evaluated or running
    smooth (d,)  columns refined by gradients: continuous, or with so many cells that rounding afterwards is harmless
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pellucid.models.averages.effects import FEW_CELLS
from pellucid.numerics import Array, low_discrepancy
from pellucid.search.acquisition.base import USUAL, Effort, Model, Pool, Scored
from pellucid.space.encoding import Space

# How the time of a proposal is spent. Candidates everywhere and around the incumbents; in a countable space many
# perturbations round to the same configuration and sweeps cover the neighbourhood, so more of them are global.
N_LOCAL, N_COUNTABLE = 256, (2048, 256)
# Candidates whose score is computed in double precision, at least and for each climb; and climbs for bounds.
N_RESCORED, _PER_CLIMB, N_BOUND_STARTS = 24, 2, 2
# Starting points differ by this much in some coordinate: closer ones would climb to the same optimum.
_DIVERSE = 0.02
# More than a step of the grid that proposals are rounded to, so that rounding cannot make two of them equal.
SEPARATION = 1e-6
# Lengths of the first and of the largest step, as shares of the range of a parameter.
_FIRST_MOVE, _LARGEST_MOVE = 0.1, 0.3
# A discrete parameter with more values is only moved to its neighbours.
_SWEEP_ALL = 12
# Random values tried for parameters that a change switches on.
_CHILD_DRAWS = 4
# Times that a refined row is halved towards where it came from because it is not allowed.
_PULLS = 8
# Finite spaces up to this size are listed completely if everything promising is known.
_ENUMERABLE = 50_000


# Which rows (m, d) may be proposed at all, (m,).
Allowed = Callable[[Array], npt.NDArray[np.bool_]]


def screen(
    model: Model,
    space: Space,
    incumbents: Array,
    rng: np.random.Generator,
    also: Array | None = None,
    effort: Effort = USUAL,
) -> Pool:
    """Candidates everywhere and around the incumbents (if any), with their approximate posterior. `also`: more."""
    X = candidates(space, incumbents, rng, _counts(space, effort))
    X = X if also is None else np.unique(np.vstack([X, also]), axis=0)
    return Pool(X, *model.screen_with_correlations(X))


def _counts(space: Space, effort: Effort) -> tuple[int, int]:
    """Candidates everywhere, and around the incumbents."""
    return N_COUNTABLE if np.isfinite(space.size()) else (effort.everywhere, N_LOCAL)


def propose(
    function: Scored,
    space: Space,
    incumbents: Array,
    seen: Array,
    rng: np.random.Generator,
    separation: float = SEPARATION,
    pool: Pool | None = None,
    allowed: Allowed | None = None,
) -> Array:
    """The canonical configuration (d,) with the best score found that is allowed and not in `seen` (if there is one).

    `separation`: how far from everything seen, in at least one coordinate, a continuous proposal must stay.
    `pool`: candidates that have been screened already; by default they are drawn here.
    """
    known = Known(space, seen, separation)
    effort = function.effort
    X = candidates(space, incumbents, rng, _counts(space, effort)) if pool is None else pool.X
    if known.countable:
        fresh = ~known.exactly(X)
        if not fresh.any():
            return _unseen(function, space, known, rng, otherwise=incumbents[0])
        X = X[fresh]
    screened = function.screen(X) if pool is None else function.screen_pool(pool)
    if pool is not None and known.countable:
        screened = screened[fresh]
    if allowed is not None:
        fine = allowed(X)
        if not fine.any():
            return _unseen(function, space, known, rng, otherwise=X[int(np.argmax(screened))], allowed=allowed)
        X, screened = X[fine], screened[fine]
    shortlist, scores = _rescored(
        function, X[np.argsort(-screened, kind="stable")[: max(N_RESCORED, _PER_CLIMB * effort.climbs)]]
    )
    starts = _diverse(space, shortlist, effort.climbs)
    refined, refined_scores = _refine(function, space, known, shortlist[starts], scores[starts], rng, effort)
    if allowed is not None and len(refined) == len(starts):
        refined = _pulled_back(space, allowed, shortlist[starts], refined)
        refined_scores = function.score(refined)
    elif allowed is not None:
        fine = allowed(refined)
        refined, refined_scores = refined[fine], refined_scores[fine]
    X = np.vstack([refined, shortlist])
    values = np.concatenate([refined_scores, scores])
    for i in np.argsort(-values, kind="stable"):
        if not known.near(X[i]):
            return np.asarray(X[i])
    return _unseen(function, space, known, rng, otherwise=X[int(np.argmax(values))], allowed=allowed)


def _pulled_back(space: Space, allowed: Allowed, starts: Array, X: Array) -> Array:
    """Rows of X (m, d), moved towards the allowed ones that they were refined from until they are allowed as well."""
    out: Array = X.copy()
    share = 1.0
    for _ in range(_PULLS):
        wrong = ~allowed(out)
        if not wrong.any():
            return out
        share *= 0.5
        out[wrong] = space.canonical(starts[wrong] + share * (X[wrong] - starts[wrong]))
    out[~allowed(out)] = starts[~allowed(out)]
    return out


def maximum(
    function: Scored,
    space: Space,
    pool: Pool,
    rng: np.random.Generator,
    starts: int = N_BOUND_STARTS,
    effort: Effort | None = None,
) -> float:
    """The largest score found anywhere, also at known configurations: for a bound, not for a proposal."""
    nothing_known = Known(space, np.empty((0, len(space))), SEPARATION)
    best = np.argsort(-function.screen_pool(pool), kind="stable")[:starts]
    X, scores = _rescored(function, pool.X[best])
    _, refined = _refine(function, space, nothing_known, X, scores, rng, effort or function.effort)
    return float(refined.max())


def _rescored(function: Scored, X: Array) -> tuple[Array, Array]:
    """In double precision, best first."""
    scores = function.score(X)
    order = np.argsort(-scores, kind="stable")
    return X[order], scores[order]


class Known:
    """The configurations that must not be proposed again."""

    def __init__(self, space: Space, seen: Array, separation: float) -> None:
        self.seen, self.separation = seen, separation
        self.countable = np.isfinite(space.size())
        self._keys = {row.tobytes() for row in np.round(seen, 9)} if self.countable else set()

    def exactly(self, X: Array) -> npt.NDArray[np.bool_]:
        """Row by row, in a space where every parameter is discrete."""
        return np.array([row.tobytes() in self._keys for row in np.round(X, 9)], dtype=bool)

    def near(self, x: Array) -> bool:
        if self.countable:
            return bool(self.exactly(x[None])[0])
        return bool(len(self.seen)) and bool((np.abs(self.seen - x).max(axis=1) <= self.separation).any())


def candidates(space: Space, incumbents: Array, rng: np.random.Generator, counts: tuple[int, int]) -> Array:
    """Canonical configurations everywhere and around the incumbents; `counts`: how many of each."""
    X = space.canonical(_pool(space, incumbents, rng, counts))
    return np.unique(X, axis=0) if np.isfinite(space.size()) else X


def _pool(space: Space, incumbents: Array, rng: np.random.Generator, counts: tuple[int, int]) -> Array:
    """A randomly shifted low-discrepancy sequence and perturbations of the incumbents on scales from 0.1% to 30%."""
    d = len(space)
    n_global, n_local = counts
    spread = low_discrepancy(0, n_global, rng.random(d))
    if len(incumbents) == 0:
        return spread
    centres = incumbents[rng.integers(len(incumbents), size=n_local)]
    moved = rng.random((n_local, d)) < max(0.25, min(1.0, 3.0 / d))
    moved[np.arange(n_local), rng.integers(d, size=n_local)] = True
    scale = np.exp(rng.uniform(np.log(1e-3), np.log(0.3), size=(n_local, 1)))
    local = centres + np.where(moved, scale * rng.standard_normal((n_local, d)), 0.0)
    # Reflection keeps perturbed points inside without piling them up at the border.
    local = np.abs(local)
    local = np.where(local > 1.0, 2.0 - local, local)
    for j, dimension in enumerate(space.dimensions):
        if dimension.nominal:
            flip = moved[:, j] & (rng.random(n_local) < 0.5)
            local[:, j] = np.where(flip, rng.random(n_local), centres[:, j])
    return np.vstack([spread, np.clip(local, 0.0, 1.0)])


def _diverse(space: Space, ranked: Array, count: int) -> npt.NDArray[np.intp]:
    """Good starting points that differ: the best ones that are apart, and the best of every other activity pattern."""
    apart = np.abs(ranked[:, None, :] - ranked[None, :, :]).max(axis=2) > _DIVERSE
    chosen = [0]
    for i in range(1, len(ranked)):
        if len(chosen) < count and apart[i, chosen].all():
            chosen.append(i)
    if space.conditions:
        patterns = space.active(ranked)
        for i in range(len(ranked)):
            if len(chosen) < 2 * count and not (patterns[chosen] == patterns[i]).all(axis=1).any():
                chosen.append(i)
    return np.array(chosen)


def _refine(
    function: Scored,
    space: Space,
    known: Known,
    X: Array,
    scores: Array,
    rng: np.random.Generator,
    effort: Effort,
) -> tuple[Array, Array]:
    smooth = np.array([d.cells == 0 or d.cells > FEW_CELLS for d in space.dimensions])
    discrete = np.array([d.cells > 0 for d in space.dimensions])
    for _ in range(3):
        if smooth.any():
            free = smooth & space.active(X)
            climbed, climbed_scores = climb(function, X, free, effort)
            if discrete.any():
                climbed = space.canonical(climbed)
                climbed_scores = function.score(climbed)
            better = climbed_scores > scores
            X, scores = np.where(better[:, None], climbed, X), np.where(better, climbed_scores, scores)
        if not discrete.any():
            break
        X, scores, changed = _sweep(function, space, known, X, scores, rng)
        if not changed:
            break
        # Later rounds polish the two best only.
        best = np.argsort(-scores, kind="stable")[:2]
        X, scores = X[best], scores[best]
    return X, scores


def climb(function: Scored, X: Array, free: npt.NDArray[np.bool_], effort: Effort) -> tuple[Array, Array]:
    """Projected BFGS from every row at once, moving only `free` (m, d) entries; returns points and scores.

    All rows take part in every evaluation, finished or not: a handful of rows costs little more than one.
    """
    m, d = X.shape
    x = X.copy()
    f, g = function.score_with_gradient(x)
    H = np.repeat(np.eye(d)[None], m, axis=0)
    step = np.ones(m)
    p = _direction(H, g, x, free, _FIRST_MOVE)
    p *= (_FIRST_MOVE / np.maximum(np.abs(p).max(axis=1), 1e-300))[:, None]
    for i in range(effort.evaluations - 1):
        trial = np.minimum(np.maximum(x + step[:, None] * p, 0.0), 1.0)
        f_new, g_new = function.score_with_gradient(trial)
        s = trial - x
        accepted = f_new >= f + 1e-4 * (g * s).sum(axis=1)
        step = np.where(accepted, 1.0, 0.3 * step)
        if not accepted.any():
            continue
        gain = np.where(accepted, f_new - f, 1.0)
        _update(H, s, g - g_new, accepted, rescale=i == 0)
        where = accepted[:, None]
        x, f, g = np.where(where, trial, x), np.where(accepted, f_new, f), np.where(where, g_new, g)
        if ((gain < effort.enough) | (step < 1e-3)).all():
            break
        # A row that is backtracking keeps its direction; only accepted rows get a new one.
        p = np.where(where, _direction(H, g, x, free, _LARGEST_MOVE), p)
    return x, f


def _direction(H: Array, g: Array, x: Array, free: npt.NDArray[np.bool_], limit: float) -> Array:
    """Ascent direction with blocked coordinates removed, at most `limit` long in any coordinate."""
    open_ = free & ~((x <= 0.0) & (g < 0.0)) & ~((x >= 1.0) & (g > 0.0))
    g = g * open_
    p = (H @ g[:, :, None])[:, :, 0] * open_
    p = np.where(((p * g).sum(axis=1) > 0.0)[:, None], p, g)
    return np.asarray(p * np.minimum(1.0, limit / np.maximum(np.abs(p).max(axis=1), 1e-300))[:, None])


def _update(H: Array, s: Array, y: Array, accepted: npt.NDArray[np.bool_], rescale: bool) -> None:
    """BFGS update, in place, of the inverse Hessians of the negated score; the first one rescales the identity."""
    sy, yy = (s * y).sum(axis=1), (y * y).sum(axis=1)
    good = accepted & (sy > np.maximum(1e-12 * np.sqrt((s * s).sum(axis=1) * yy), 1e-200))
    if rescale:
        H *= np.where(good, sy / np.where(yy > 0.0, yy, 1.0), 1.0)[:, None, None]
    rho = np.where(good, 1.0 / np.where(good, sy, 1.0), 0.0)
    Hy = (H @ y[:, :, None])[:, :, 0]
    half = (0.5 * rho * (1.0 + rho * (y * Hy).sum(axis=1)))[:, None] * s - rho[:, None] * Hy
    outer = half[:, :, None] * s[:, None, :]
    H += outer
    H += outer.transpose(0, 2, 1)


def _sweep(
    function: Scored,
    space: Space,
    known: Known,
    X: Array,
    scores: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array, bool]:
    """Move each row to its best neighbour in one discrete coordinate, until none is better (at most four times)."""
    changed = False
    for _ in range(4):
        neighbours, owner = _neighbours(space, X, rng)
        if len(neighbours) == 0:
            break
        values = function.score(neighbours)
        if known.countable:
            values[known.exactly(neighbours)] = -np.inf
        improved = False
        for i in range(len(X)):
            own = np.flatnonzero(owner == i)
            if len(own) and values[own].max() > scores[i] + 1e-9:
                best = own[int(np.argmax(values[own]))]
                X[i], scores[i] = neighbours[best], values[best]
                improved = changed = True
        if not improved:
            break
    return X, scores, changed


def _neighbours(space: Space, X: Array, rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.int64]]:
    """Canonical rows that differ from a row of X in one discrete coordinate, and which row they belong to.

    A change that switches children on gives them several random values: their mid-points are arbitrary.
    """
    rows, owner = [], []
    active = space.active(X)
    for j, dimension in enumerate(space.dimensions):
        if not dimension.cells:
            continue
        for i, here in enumerate(dimension.code(X[:, j])):
            if not active[i, j]:
                continue
            if dimension.nominal or dimension.cells <= _SWEEP_ALL:
                codes = np.delete(np.arange(dimension.cells), here)
            else:
                codes = np.array([k for k in (here - 2, here - 1, here + 1, here + 2) if 0 <= k < dimension.cells])
            moved = np.repeat(X[i : i + 1], len(codes), axis=0)
            moved[:, j] = dimension.midpoint(codes)
            rows.append(moved)
            owner.append(np.full(len(moved), i))
    if not rows:
        return np.empty((0, len(space))), np.empty(0, dtype=np.int64)
    moved, owners = np.vstack(rows), np.concatenate(owner)
    if space.conditions:
        switched_on = space.active(moved) & ~active[owners]
        draws = np.where(switched_on.any(axis=1), _CHILD_DRAWS, 1)
        moved, owners, switched_on = (np.repeat(a, draws, axis=0) for a in (moved, owners, switched_on))
        moved = np.where(switched_on, rng.random(moved.shape), moved)
    return space.canonical(moved), owners


def _unseen(
    function: Scored,
    space: Space,
    known: Known,
    rng: np.random.Generator,
    otherwise: Array,
    allowed: Allowed | None = None,
) -> Array:
    """The best unseen configuration if everything promising is known already; `otherwise` if nothing is left."""
    pool = unseen(space, known, rng)
    pool = pool if allowed is None or not len(pool) else pool[allowed(pool)]
    if len(pool) == 0:
        return otherwise
    scores = np.concatenate([function.screen(part) for part in np.array_split(pool, len(pool) // 4096 + 1)])
    return np.asarray(pool[int(np.argmax(scores))])


def unseen(space: Space, known: Known, rng: np.random.Generator) -> Array:
    """Canonical configurations that are not known: all of them in a small finite space, otherwise some at random."""
    if space.size() <= _ENUMERABLE:
        axes = [dimension.midpoint(np.arange(dimension.cells)) for dimension in space.dimensions]
        everything = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
        pool = np.unique(space.canonical(everything), axis=0)
        return np.asarray(pool[~known.exactly(pool)])
    for _ in range(50):
        pool = space.canonical(rng.random((64, len(space))))
        fresh = [x for x in pool if not known.near(x)]
        if fresh:
            return np.array(fresh)
    return np.empty((0, len(space)))
