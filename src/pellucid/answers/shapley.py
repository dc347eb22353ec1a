"""Shapley values of any batch function: how much each coordinate of a point contributes to its value.

Notation
    u (n, d) -> (n,) or (n, t)   the function;  x (d,) the explained point;  Z (m, d) the background
    p players                    the coordinates that share the payout; all of them by default
    v(S)                         average over z in Z of u(x on S, z elsewhere);  S as a number: sum over j in S of 2^j
    phi_j                        sum over S without j of |S|! (p - 1 - |S|)! / p! (v(S + j) - v(S))
    payout                       v(all) - v(none) = u(x) - average of u over Z = sum of phi (efficiency)
    walk                         from z to x, one coordinate after the other in a random order; what u gains with
                                 coordinate j has mean phi_j (Štrumbelj and Kononenko). Every walk splits u(x) - u(z)
                                 exactly, and is also walked backwards, which reduces the variance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import comb
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import stdtrit

from pellucid.answers.attribution import Attribution
from pellucid.numerics import Array, Integers, Mask, check_level, is_whole_number, stream
from pellucid.words import printable

Method = Literal["auto", "exact", "sampled", "baseline"]
Index = Literal["k-SII", "SII", "STII", "FSII"]
Function = Callable[[Array], Array]
# All coalitions are enumerated for up to this many players: their number doubles with each.
MOST_PLAYERS = 12
# Walks by default.
_DEFAULT_SAMPLES = 1000
# Rows that are evaluated at once: they bound the memory.
_ROWS_AT_ONCE = 16_384
# Evaluations up to which "auto" is exact.
_ROWS_FOR_EXACT = 2**22
# Gaps below this share of the values are rounding errors.
_ROUNDING = 1e-12


def shapley_values(
    fn: Function,
    x: Array,
    background: Array,
    method: Method = "auto",
    n_samples: int | None = None,
    seed: int = 0,
    *,
    players: Sequence[int] | None = None,
    level: float = 0.95,
) -> Attribution:
    """Shapley values of `fn` at `x` against a background.

    Args:
        fn: takes a batch (n, d) of points and returns (n,) or (n, t) numbers. All t outputs are explained on the same
            samples, so that values of a weighted sum are the weighted sum of values.
        x: the point, (d,).
        background: the points (m, d) to compare with.
        method: "exact" (all coalitions with all background rows, up to 12 players), "sampled" (random walks, with
            t-intervals), "baseline" (against one row; exact up to 12 players), "auto" (exact if that costs at most four
            million evaluations, otherwise sampled).
        n_samples: walks, for "sampled"; default 1000.
        seed: same seed, same walks.
        players: columns that share the payout; the others always come from the background. Default: all.
        level: of the intervals.
    """
    x, Z = np.asarray(x, dtype=float), np.atleast_2d(np.asarray(background, dtype=float))
    if x.ndim != 1 or Z.ndim != 2 or Z.shape[1] != len(x) or len(Z) == 0 or len(x) == 0:
        raise ValueError(
            f"`x` is one point (d,) and `background` rows like it (m, d), but they have shapes {x.shape} and {Z.shape}."
        )
    if method not in get_args(Method):
        raise ValueError(printable(f"`method` is one of {', '.join(get_args(Method))}, but got {method!r}."))
    check_level(level)
    if n_samples is not None and not (is_whole_number(n_samples) and n_samples >= 2):
        raise ValueError(f"`n_samples` must be a whole number of at least 2, but got {n_samples!r}.")
    who = checked_players(players, len(x))
    few = len(who) <= MOST_PLAYERS
    if method == "exact" and not few:
        raise ValueError(
            f"Exact enumeration is for up to {MOST_PLAYERS} players, but there are {len(who)}: use method='sampled'."
        )
    if method == "baseline" and len(Z) > 1:
        raise ValueError(f"A baseline is one point, but `background` has {len(Z)} rows: use another method for them.")
    if few and (method in ("exact", "baseline") or (method == "auto" and 2 ** len(who) * len(Z) <= _ROWS_FOR_EXACT)):
        v = coalition_values(fn, x, Z, players=who)
        return _exact(v, "baseline" if method == "baseline" else "exact", len(Z), level)
    return _sampled(fn, x, Z, who, _DEFAULT_SAMPLES if n_samples is None else n_samples, seed, level)


def check_sample_size(attribution: Attribution) -> bool:
    """Whether there were enough samples: for every output, adding the whole efficiency gap to any one coordinate would
    not change the order of the values. Always true without a gap, or without sampling."""
    values = attribution.values.reshape(len(attribution.values), -1)
    if attribution.method != "sampled" or len(values) < 2:
        return True
    gaps = np.abs(np.atleast_1d(attribution.efficiency_gap))
    nearest = np.diff(np.sort(values, axis=0), axis=0).min(axis=0)
    return bool(((gaps < nearest) | (gaps <= _ROUNDING * np.abs(values).sum(axis=0))).all())


# ---------------------------------------------------------------------- all coalitions


def coalition_values(fn: Function, x: Array, background: Array, *, players: Sequence[int] | None = None) -> Array:
    """v(S) for all coalitions, (2^p,) or (2^p, t)."""
    Z = np.atleast_2d(background)
    who = checked_players(players, len(x))
    masks = coalitions(len(who))
    total: Array | float = 0.0
    for start in range(0, len(Z), rows := max(1, _ROWS_AT_ONCE // len(masks))):
        part = Z[start : start + rows]
        hybrids = np.repeat(part[None], len(masks), axis=0)
        for bit, j in enumerate(who):
            hybrids[masks[:, bit], :, j] = x[j]
        out = evaluated(fn, hybrids.reshape(-1, len(x)))
        total = total + out.reshape(len(masks), len(part), *out.shape[1:]).sum(axis=1)
    return np.asarray(total / len(Z))


@lru_cache(maxsize=16)
def coalitions(p: int) -> Mask:
    """(2^p, p): which players are in each coalition."""
    return ((np.arange(2**p)[:, None] >> np.arange(p)) & 1).astype(bool)


@lru_cache(maxsize=16)
def shapley_weights(p: int) -> Array:
    """(p, 2^p): phi = weights @ v."""
    masks = coalitions(p)
    sizes = masks.sum(axis=1)
    with_j = np.array([1.0 / (p * comb(p - 1, k)) for k in range(p)])
    weight_in = np.r_[0.0, with_j][sizes]
    weight_out = -np.r_[with_j, 0.0][sizes]
    return np.asarray(np.where(masks.T, weight_in, weight_out))


def _exact(v: Array, method: str, n_rows: int, level: float) -> Attribution:
    values = shapley_weights(len(v).bit_length() - 1) @ v
    intervals = np.repeat(values[..., None], 2, axis=-1)
    return Attribution(values, intervals, _plain(v[-1] - v[0]), _plain(v[0]), method, n_rows, level)


def load_exact_computer() -> Any:
    """A class of shapiq, whose first import takes seconds: it loads scikit-learn, matplotlib and numba."""
    try:
        from shapiq import ExactComputer
    except ImportError as error:
        raise ImportError(
            "Interactions need shapiq: install it with `pip install 'pellucid[interactions]'`."
        ) from error
    return ExactComputer


def interactions(v: Array, index: Index = "k-SII") -> dict[tuple[int, ...], float]:
    """Interactions of order two from coalition values (2^p,): (j,) -> main effect, (j, k) -> interaction.

    `index`: one that shapiq knows. Needs `pip install 'pellucid[interactions]'`.
    """
    exact_computer = load_exact_computer()
    v = np.atleast_1d(np.asarray(v, dtype=float))
    p = len(v).bit_length() - 1
    if index not in get_args(Index):
        raise ValueError(printable(f"`index` is one of {', '.join(get_args(Index))}, but got {index!r}."))
    if v.ndim != 1 or len(v) != 2**p or p < 2:
        raise ValueError(f"Interactions need one value for each of 2^p coalitions, p >= 2, but got shape {v.shape}.")
    bits = 2 ** np.arange(p)

    def game(members: Mask) -> Array:
        return np.asarray(v[np.asarray(members, dtype=int) @ bits] - v[0])

    values = exact_computer(n_players=p, game=game)(index, 2)
    singles = [(j,) for j in range(p)]
    pairs = [(j, k) for j in range(p) for k in range(j + 1, p)]
    return {who: float(values[who]) for who in (*singles, *pairs)}


# ---------------------------------------------------------------------- random walks


def _sampled(
    fn: Function, x: Array, Z: Array, who: Sequence[int], n_samples: int, seed: int, level: float
) -> Attribution:
    rng = stream(seed, "shapley")
    gains = np.concatenate(
        [gains_of_walks(fn, x, part, who, orders) for part, orders in _walks(Z, len(who), n_samples, rng)]
    )
    count, values = len(gains), gains.mean(axis=0)
    half = float(stdtrit(count - 1, 0.5 + 0.5 * level)) * gains.std(axis=0, ddof=1) / np.sqrt(count)
    intervals = np.stack([values - half, values + half], axis=-1)
    together = Z.copy()
    together[:, who] = x[list(who)]
    average = _average(fn, Z)
    payout = _average(fn, together[:1] if len(who) == len(x) else together) - average
    return Attribution(values, intervals, _plain(payout), _plain(average), "sampled", count, level)


def _plain(value: Array | float) -> Array | float:
    """A float if there is one output."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def _walks(Z: Array, p: int, n_samples: int, rng: np.random.Generator) -> Iterator[tuple[Array, Integers]]:
    """Starting points and orders. Whole passes over the shuffled background, so that its average is exact if the number
    of walks is a multiple of its size."""
    passes = -(-n_samples // len(Z))
    rows = np.concatenate([rng.permutation(len(Z)) for _ in range(passes)])[:n_samples]
    at_once = max(1, _ROWS_AT_ONCE // (2 * p + 2))
    for start in range(0, n_samples, at_once):
        part = Z[rows[start : start + at_once]]
        yield part, np.argsort(rng.random((len(part), p)), axis=1)


def gains_of_walks(fn: Function, x: Array, Z: Array, who: Sequence[int], orders: Integers) -> Array:
    """The gain of every player per walk: (k, p) or (k, p, t), averaged over the walk and the same walk backwards."""
    k, p = orders.shape
    place = np.argsort(orders, axis=1)
    points = np.repeat(Z[:, None, :], 2 * p, axis=1)
    # 0 .. p players in, then the coalitions of the backward walk that are not ends: complements.
    inside = place[:, None, :] < np.arange(p + 1)[None, :, None]
    behind = ~inside[:, 1:p]
    points[:, :, who] = np.where(np.concatenate([inside, behind], axis=1), x[list(who)], points[:, :, who])
    u = evaluated(fn, points.reshape(-1, len(x)))
    return gains_from_values(u.reshape(k, 2 * p, *u.shape[1:]), orders)


def gains_from_values(u: Array, orders: Integers) -> Array:
    """The same from the values (k, 2p) or (k, 2p, t) on the way: with the first 0 .. p of the order moved to x, then
    with all but the first 1 .. p - 1."""
    k, p = orders.shape
    place = np.argsort(orders, axis=1)
    forward = np.diff(u[:, : p + 1], axis=1)
    # Backward: after the last i of the order have moved the coalition is the complement of the first p - i.
    back = np.concatenate([u[:, :1], u[:, :p:-1], u[:, p : p + 1]], axis=1)
    backward = np.diff(back, axis=1)[:, ::-1]
    steps = 0.5 * (forward + backward)
    return np.take_along_axis(steps, place.reshape(k, p, *([1] * (steps.ndim - 2))), axis=1)


def _average(fn: Function, Z: Array) -> Array:
    parts = [evaluated(fn, Z[i : i + _ROWS_AT_ONCE]).sum(axis=0) for i in range(0, len(Z), _ROWS_AT_ONCE)]
    return np.asarray(sum(parts) / len(Z))


def evaluated(fn: Function, X: Array) -> Array:
    """fn(X), checked: one finite number, or a row of them, per row of X."""
    out = np.asarray(fn(X), dtype=float)
    if out.ndim not in (1, 2) or len(out) != len(X):
        raise ValueError(f"`fn` must return (n,) or (n, t) numbers for {len(X)} rows, but returned shape {out.shape}.")
    if not np.isfinite(out).all():
        row = int(np.argmin(np.isfinite(out.reshape(len(out), -1)).all(axis=1)))
        raise ValueError(printable(f"`fn` must return finite numbers, but returned {out[row]} at {X[row]}."))
    return out


def checked_players(players: Sequence[int] | None, d: int) -> tuple[int, ...]:
    """The columns that share the payout; all of them by default."""
    who = tuple(range(d)) if players is None else tuple(int(j) for j in players)
    if not who or len(set(who)) < len(who) or not all(0 <= j < d for j in who):
        raise ValueError(printable(f"`players` must be different columns between 0 and {d - 1}, but got {players!r}."))
    return who
