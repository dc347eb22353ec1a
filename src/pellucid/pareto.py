"""Fronts of several objectives: rows that no other dominates, the volume they dominate, and the region they leave open.

Every objective is minimised. Row y weakly dominates x if y <= x in every objective.

Notation
    Y          (n, k)   outcomes, one row per trial, k = 1 to 4
    reference  (k,)     the point below which volume counts, finite
    strip               [edge, next edge) x (-inf, top): a part of the plane that no point weakly dominates

Three objectives are a sweep: rows in the order of the last objective cut a staircase of strips in the plane of the
first two, and a strip that lasts from level z to level z' is a box. A row that cuts a strips replaces them by two, so
there are at most 2n + 1 boxes. Four objectives are a sequence of such sweeps, in which unchanged boxes last.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pellucid.numerics import Array, Indices, Mask
from pellucid.threads import cached_property
from pellucid.words import NoAnswer, printable

Row = tuple[float, ...]
# Of each box: the lower and upper end of the first objective, of the second, and so on.
Ends = list[tuple[float, ...]]

MOST_OBJECTIVES = 4
# Differences between outcomes that are computed at once: 8 megabytes.
_MOST_DIFFERENCES = 1_000_000
# How far beyond the worst outcome the reference point lies, as a share of the spread of the outcomes.
_MARGIN = 0.1
# An outcome is an outlier if it is farther above the upper quartile than this many times the distance from there to
# the best. Normal and exponential outcomes of a few hundred trials have none; one extreme outcome is always one.
_FENCE = 3.0
# Trials at the start of a search, before it knows where the front is.
_FIRST = 10


@dataclass(frozen=True, eq=False)
class Boxes:
    """Disjoint boxes lower <= y < upper, both (b, k); `lower` may be -inf."""

    lower: Array
    upper: Array

    def __len__(self) -> int:
        return len(self.lower)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(Axis.of(low, high) for low, high in zip(self.lower.T, self.upper.T, strict=True))


@dataclass(frozen=True, eq=False)
class Axis:
    """The ends of boxes along one objective: each value once, and for each box which of them are its ends."""

    ends: Array  # (p,), increasing, the first is -inf
    lower: Indices  # (b,)
    upper: Indices  # (b,)

    @staticmethod
    def of(lower: Array, upper: Array) -> Axis:
        ends, where = np.unique(np.r_[-np.inf, lower, upper], return_inverse=True)
        where = np.asarray(where, dtype=np.intp).ravel()[1:]
        return Axis(ends, where[: len(lower)], where[len(lower) :])

    def differences(self, values: Array) -> Array:
        """(b, q) from values (p, q) at the ends: at the upper end of each box minus at its lower end."""
        out = values.take(self.upper, axis=0)
        out -= values.take(self.lower, axis=0)
        return out


def front(Y: Array) -> Mask:
    """Which rows (n,) no other row dominates; of equal rows the first. Rows with NaN never are."""
    Y = np.asarray(Y, dtype=float)
    _check_objectives(Y.shape[1])
    valid = np.flatnonzero(~np.isnan(Y).any(axis=1))
    # In lexicographic order nothing is dominated by a later row, and the first of equal rows comes first.
    order = valid[np.lexsort(Y[valid].T[::-1])]
    mask = np.zeros(len(Y), dtype=bool)
    mask[order[_first_come(Y[order])]] = True
    return mask


def _first_come(Y: Array) -> Indices:
    """Indices of the rows of `front`, for rows in lexicographic order."""
    if len(Y) == 0 or Y.shape[1] == 1:
        return np.arange(min(len(Y), 1))
    if Y.shape[1] == 2:
        lowest = np.minimum.accumulate(np.r_[np.inf, Y[:-1, 1]])
        return np.flatnonzero((Y[:, 1] < lowest) | (np.arange(len(Y)) == 0))
    left, columns, kept = np.arange(len(Y)), list(Y.T[1:]), []
    while len(left):
        kept.append(left[0])
        stays = np.logical_or.reduce([column < column[0] for column in columns])
        left, columns = left[stays], [column[stays] for column in columns]
    return np.array(kept, dtype=np.intp)


def behind(Y: Array, members: Array) -> Array:
    """How far (..., m) outcomes Y (..., m, k) are behind the members (..., c, k) of a front: the least by which every
    objective would have to improve to be on it; 0 on it. Infinite outcomes are infinitely far behind finite ones."""
    worst: Array = np.zeros(Y.shape[:-1])
    count = max(1, _MOST_DIFFERENCES // max(1, worst.size))
    for start in range(0, members.shape[-2], count):
        some = members[..., start : start + count, :]
        with np.errstate(invalid="ignore"):  # Two infinite outcomes.
            least = Y[..., :, None, 0] - some[..., None, :, 0]
            for j in range(1, Y.shape[-1]):
                np.minimum(least, Y[..., :, None, j] - some[..., None, :, j], out=least)
            worst = np.fmax(worst, np.fmax.reduce(least, axis=-1))
    return worst


def apart(Y: Array, most: int) -> Indices:
    """At most so many rows of a front Y (n, k) that are far from each other, in their order: the best in each
    objective, then one by one the row that is the farthest from those chosen, in units of the length of the front."""
    if len(Y) <= most:
        return np.arange(len(Y))
    length = np.ptp(Y, axis=0)
    Z = (Y - Y.min(axis=0)) / np.where(length > 0.0, length, 1.0)
    chosen = list(dict.fromkeys(np.argmin(Z, axis=0).tolist()))[:most]
    distance = np.min([((Z - Z[row]) ** 2).sum(axis=1) for row in chosen], axis=0)
    while len(chosen) < most:
        chosen.append(int(np.argmax(distance)))
        np.minimum(distance, ((Z - Z[chosen[-1]]) ** 2).sum(axis=1), out=distance)
    return np.sort(chosen)


def volume(Y: Array, reference: Array) -> float:
    """Volume of the outcomes below the reference that some row weakly dominates."""
    rows, reference = _below(Y, reference)
    measure = (_length, _area, _sweep_volume, _slab_volume)[len(reference) - 1]
    return measure(rows, reference) if len(rows) else 0.0


def volumes(Y: Array, reference: Array) -> Array:
    """Volumes (n,) that the first row, the first two, and so on dominate below the reference.

    A row y adds its own volume without the part that the front dominates, which is what max(front, y) does.
    """
    Y, reference = np.asarray(Y, dtype=float), np.asarray(reference, dtype=float)
    best = np.empty((0, len(reference)))
    total, out = 0.0, np.zeros(len(Y))
    for i, y in enumerate(Y):
        if (reference > y).all() and not (best <= y).all(axis=1).any():
            total += float(np.prod(reference - y)) - volume(np.maximum(best, y), reference)
            best = np.vstack([best[~(best >= y).all(axis=1)], y])
        out[i] = total
    return out


def in_lengths(Y: Array, reference: Array, best: Array) -> Array:
    """Outcomes (..., k) seen from the reference, in units of its distance to the best outcome (k,).

    Shares of volumes below zero are those below the reference, but no unit is too small or too large for a product.
    """
    length = reference - best
    return np.asarray((Y - reference) / np.where(length > 0.0, length, 1.0))


def boxes(Y: Array, reference: Array) -> Boxes:
    """The outcomes below the reference that no row weakly dominates, as disjoint boxes.

    One box for one objective, front + 1 for two, at most 2 front + 1 for three.
    """
    rows, reference = _below(Y, reference)
    divide = (_interval, _strips, _sweep_boxes, _slab_boxes)[len(reference) - 1]
    ends = np.array(divide([tuple(row) for row in rows.tolist()], tuple(reference.tolist())), dtype=float)
    ends = ends.reshape(-1, len(reference), 2)
    # Rows that tie in the last objective leave empty boxes.
    ends = ends[(ends[:, :, 0] < ends[:, :, 1]).all(axis=1)]
    return Boxes(np.ascontiguousarray(ends[:, :, 0]), np.ascontiguousarray(ends[:, :, 1]))


def reference_point(Y: Array) -> Array:
    """The worst outcome of each objective, outliers aside but no better than the front's, plus 10% of the spread.

    The spread reaches from the best outcome to that worst one. An outlier is farther above the upper quartile than
    three times the distance from there to the best outcome; the quartile is an order statistic that is never the worst
    of several, so that one bad trial, however bad, is an outlier. Where nothing spreads, the magnitude of the outcome
    takes the place of the spread, or 1 if it is zero. Rows with NaN or infinite values do not count.
    """
    Y = np.asarray(Y, dtype=float)
    _check_objectives(Y.shape[1])
    Y = Y[np.isfinite(Y).all(axis=1)]
    if len(Y) == 0:
        raise ValueError("A reference point needs at least one row of finite outcomes, but got none.")
    best = Y.min(axis=0)
    third = 3 * (len(Y) - 1) // 4
    quartile = np.partition(Y, third, axis=0)[third]
    with np.errstate(over="ignore"):
        usual = quartile + _FENCE * (quartile - best)
        nadir = Y[front(Y)].max(axis=0)
        worst = np.maximum(nadir, np.where(usual >= Y, Y, -np.inf).max(axis=0))
        margin = _MARGIN * worst - _MARGIN * best
        magnitude = np.where(worst == 0.0, 1.0, np.abs(worst))
        beyond = worst + np.where(worst > best, margin, _MARGIN * magnitude)
    # A margin below the last digit of the outcome would leave the worst outcome of the front on the reference.
    return np.asarray(np.clip(beyond, np.nextafter(worst, np.inf), np.finfo(float).max))


def steady_reference_point(Y: Array) -> Array:
    """The worst of the reference points of the first 10 rows, 20, 40 and so on, and of all.

    A search comes closer to the front, so that what was usual at its start is an outlier later; this point stays.
    """
    counts = [len(Y)]
    while _FIRST * 2 ** (len(counts) - 1) < len(Y):
        counts.append(_FIRST * 2 ** (len(counts) - 1))
    return np.asarray(np.max([reference_point(Y[:count]) for count in counts], axis=0))


# ----------------------------------------------------------------------------------------------- one and two objectives


def reference_of(Y: Array, feasible: Mask) -> Array:
    """The point (k,) below which volume counts; some of the outcomes are feasible (n,).

    If others are not, they count too, and those of the first trials as much as later ones: all feasible trials may lie
    in one corner of what is possible, and the rest of the front beyond them.
    """
    point = reference_point(Y[feasible])
    return point if feasible.all() else np.maximum(point, steady_reference_point(Y))


def _length(rows: Array, reference: Array) -> float:
    return float(reference[0] - rows.min())


def _area(rows: Array, reference: Array) -> float:
    rows = rows[np.argsort(rows[:, 0])]
    widths = np.diff(np.r_[rows[:, 0], reference[0]])
    return float(widths @ (reference[1] - np.minimum.accumulate(rows[:, 1])))


def _interval(rows: list[Row], reference: Row) -> Ends:
    return [(-np.inf, min([row[0] for row in rows], default=reference[0]))]


def _strips(rows: list[Row], reference: Row) -> Ends:
    stairs = _Staircase(reference[0], reference[1])
    for x, y in sorted(rows):
        stairs.insert(x, y, *stairs.cut(x, y))
    return [(*strip[:2], -np.inf, strip[2]) for strip in stairs.strips(0, len(stairs.tops))]


class _Staircase:
    """Strips of the plane that no inserted point weakly dominates, from left to right; their tops decrease."""

    def __init__(self, right: float, top: float) -> None:
        self.edges = [-np.inf, right]
        self.tops = [top]

    def cut(self, x: float, y: float) -> tuple[int, int]:
        """First and last + 1 of the strips that lose something to a point; equal if none does."""
        first = last = bisect_right(self.edges, x) - 1
        if self.tops[first] > y:
            while last < len(self.tops) and self.tops[last] >= y:
                last += 1
        return first, last

    def insert(self, x: float, y: float, first: int, last: int) -> int:
        """Replace the strips that are cut by the part left of the point and the part below it; returns their number."""
        if first == last:
            return 0
        left = [self.tops[first]] if self.edges[first] < x else []
        self.edges[first + 1 : last] = [x] * len(left)
        self.tops[first:last] = [*left, y]
        return len(left) + 1

    def strips(self, first: int, last: int) -> Iterable[tuple[float, float, float]]:
        """Left edge, right edge, top."""
        return zip(self.edges[first:last], self.edges[first + 1 : last + 1], self.tops[first:last], strict=True)


# --------------------------------------------------------------------------------------------------- three objectives


def _sweep_volume(rows: Array, reference: Array) -> float:
    stairs = _Staircase(float(reference[0]), float(reference[1]))
    rows = rows[np.lexsort(rows.T)]
    areas, area = [], 0.0
    for x, y, _ in rows.tolist():
        first, last = stairs.cut(x, y)
        area += sum((right - max(left, x)) * (top - y) for left, right, top in stairs.strips(first, last))
        stairs.insert(x, y, first, last)
        areas.append(area)
    return float(np.array(areas) @ np.diff(np.r_[rows[:, 2], reference[2]]))


def _sweep_boxes(rows: list[Row], reference: Row) -> Ends:
    stairs = _Staircase(reference[0], reference[1])
    since = [-np.inf]
    ends: Ends = []

    def close(first: int, last: int, level: float) -> None:
        for (left, right, top), start in zip(stairs.strips(first, last), since[first:last], strict=True):
            ends.append((left, right, -np.inf, top, start, level))

    for x, y, level in sorted(rows, key=_from_last):
        first, last = stairs.cut(x, y)
        close(first, last, level)
        since[first:last] = [level] * stairs.insert(x, y, first, last)
    close(0, len(since), reference[2])
    return ends


def _from_last(row: Row) -> Row:
    return row[::-1]


# ---------------------------------------------------------------------------------------------------- four objectives


def _slab_volume(rows: Array, reference: Array) -> float:
    rows = rows[np.argsort(rows[:, 3], kind="stable")]
    heights = np.diff(np.r_[rows[:, 3], reference[3]])
    return float(sum(h * _sweep_volume(rows[: i + 1, :3], reference[:3]) for i, h in enumerate(heights) if h > 0.0))


def _slab_boxes(rows: list[Row], reference: Row) -> Ends:
    """Between two values of the last objective, the boxes of the other three stay as they are."""
    shadows: list[Row] = []
    since = dict.fromkeys(_sweep_boxes([], reference[:3]), -np.inf)
    ends: Ends = []
    for row in sorted(rows, key=_from_last):
        *point, level = row
        shadows = [other for other in shadows if any(a < b for a, b in zip(other, point, strict=True))]
        insort(shadows, tuple(point), key=_from_last)
        now = {box: since.get(box, level) for box in _sweep_boxes(shadows, reference[:3])}
        ends += [(*box, start, level) for box, start in since.items() if box not in now]
        since = now
    return ends + [(*box, start, reference[3]) for box, start in since.items()]


# -------------------------------------------------------------------------------------------------------------- checks


def check_number(k: int, subject: str, advice: str) -> None:
    """Raise NoAnswer if a study has too many objectives for a front. `subject`: "A report is about"."""
    if k > MOST_OBJECTIVES:
        raise NoAnswer(f"{subject} up to {MOST_OBJECTIVES} objectives, but this study has {k}: {advice}.")


def check_front(k: int) -> None:
    """Raise ValueError if a study has more objectives than fronts are computed for."""
    check_number(k, "Fronts are computed for", "pass one of them as `objective`")


def _below(Y: Array, reference: Array) -> tuple[Array, Array]:
    """Rows of the front that are better than the reference in every objective: no other dominates a volume there."""
    Y, reference = np.asarray(Y, dtype=float), np.asarray(reference, dtype=float)
    _check_objectives(len(reference))
    if Y.shape[1:] != reference.shape or not np.isfinite(reference).all():
        raise ValueError(
            printable(
                f"The reference point must have one finite value per objective, but got {reference.tolist()} for "
                f"outcomes of shape {Y.shape}."
            )
        )
    rows = Y[(reference > Y).all(axis=1)]
    return rows[front(rows)], reference


def _check_objectives(k: int) -> None:
    if not 1 <= k <= MOST_OBJECTIVES:
        raise ValueError(printable(f"Fronts are computed for 1 to {MOST_OBJECTIVES} objectives, but got {k}."))
