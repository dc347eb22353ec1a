"""Uniform averages over a space under a product kernel, exact for mixed and conditional parameters.

Notation
    phi(g)       average of f over all parameters but the held ones, which have the values of grid point g (encoded)
    G, n         number of grid points, number of rows of T
    cross        Cov(phi(g), f(t)) / s, (G, n);  prior  Cov(phi(g), phi'(g')) / s, (G, G');  s the outputscale
    piece        how one parameter enters: held at the grid's values, or averaged over points and intervals
An inactive parameter has the value 1/2, as everywhere, and so do all its descendants. A product kernel has one factor
per parameter, so an average is a product over parameters, or over trees of parameters if some switch others: the factor
of a node is then a sum over its pieces, each of which determines which children are active ("on").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pellucid.models.averages import integrals
from pellucid.models.kernels import Kernel
from pellucid.numerics import Array, Mask
from pellucid.space.encoding import INACTIVE, Condition, Dimension, Space
from pellucid.threads import cached_property
from pellucid.words import printable

# A parameter with more values than the first number is averaged exactly over as many of them as the second (on a
# logarithmic scale, the first values have the widest cells) and as if it were continuous over the rest. That saves time
# and is right to about eight digits.
_MANY_CELLS, _FEW_POINTS = 2048, 512
# From this many rows on, factors are computed once per distinct value: discrete parameters have few of them.
_MANY_ROWS = 64


@dataclass(frozen=True)
class Axis:
    """A distribution on [0, 1]: points with weights, and intervals [low, high] with weights, uniform inside."""

    points: Array = field(default_factory=lambda: np.empty(0))
    point_weights: Array = field(default_factory=lambda: np.empty(0))
    intervals: tuple[tuple[float, float, float], ...] = ()

    @staticmethod
    def at(*points: float) -> Axis:
        return Axis(np.array(points), np.full(len(points), 1.0 / len(points)))

    @staticmethod
    def between(low: float, high: float) -> Axis:
        return Axis(intervals=((low, high, 1.0),)) if high > low else Axis.at(low)

    @staticmethod
    def of(dimension: Dimension, *, every_value: bool = False) -> Axis:
        """The uniform distribution of a parameter.

        `every_value`: as points, however many there are, so that conditions on single values can be applied.
        """
        if not dimension.cells:
            return Axis.between(0.0, 1.0)
        few = dimension.cells <= _MANY_CELLS or dimension.nominal or every_value
        count = dimension.cells if few else _FEW_POINTS
        points = dimension.midpoint(np.arange(count))
        edges = np.zeros(count + 1)
        # Mid-points are in the middle of their cells, so every edge follows from the one before.
        for i, point in enumerate(points):
            edges[i + 1] = 2.0 * point - edges[i]
        rest = ((float(edges[-1]), 1.0, float(1.0 - edges[-1])),) if count < dimension.cells else ()
        return Axis(points, np.diff(edges), rest)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Equal for equal distributions."""
        return self.points.tobytes(), self.point_weights.tobytes(), self.intervals

    @property
    def weight(self) -> float:
        return float(self.point_weights.sum()) + sum(w for _, _, w in self.intervals)

    def normalised(self) -> Axis:
        total = self.weight
        return Axis(self.points, self.point_weights / total, tuple((a, b, w / total) for a, b, w in self.intervals))

    def quantiles(self, u: Array) -> Array:
        """Values at levels u of the distribution function, which puts points first and intervals after them."""
        ends = np.cumsum(np.r_[self.point_weights, [w for _, _, w in self.intervals]])
        ends = ends / ends[-1]
        starts = np.r_[0.0, ends[:-1]]
        which = np.minimum(np.searchsorted(ends, u, side="right"), len(ends) - 1)
        share = (u - starts[which]) / np.maximum(ends[which] - starts[which], 1e-300)
        low = np.r_[self.points, [a for a, _, _ in self.intervals]]
        high = np.r_[self.points, [b for _, b, _ in self.intervals]]
        return np.asarray(low[which] + share * (high[which] - low[which]))

    def where(self, dimension: Dimension, condition: Condition, satisfied: bool = True) -> Axis:
        """The part of this distribution on which a condition holds (or does not), with its weight."""
        inside = holds(dimension, condition, self.points) == satisfied
        pieces: list[tuple[float, float, float]] = []
        for low, high, weight in self.intervals:
            assert condition.codes is None, "a condition that lists values needs an axis of points"
            first, last = max(low, condition.low), min(high, condition.high)
            cuts = [(first, last)] if satisfied else [(low, min(high, first)), (max(low, last), high)]
            if not satisfied and first >= last:
                cuts = [(low, high)]
            pieces += [(a, b, weight * (b - a) / (high - low)) for a, b in cuts if b > a]
        return Axis(self.points[inside], self.point_weights[inside], tuple(pieces))


def holds(dimension: Dimension, condition: Condition, u: Array) -> Mask:
    """Whether encoded values of the parent satisfy a condition."""
    if condition.codes is not None:
        return np.isin(dimension.code(u), condition.codes) if len(u) else np.zeros(0, dtype=bool)
    snapped = dimension.snap(u)
    return np.asarray((snapped >= condition.low) & (snapped <= condition.high))


@dataclass(frozen=True)
class _Piece:
    """One way in which a parameter enters an average: `held` at the grid's values, or averaged over an axis.

    on     which of its children are active in this case
    mask   grid points for which this is the case; None for all of them
    """

    held: Array | None
    axis: Axis | None
    on: tuple[bool, ...]
    mask: Mask | None = None


_OFF = Axis.at(INACTIVE)
# Average factors between two distributions of many points, by kernel, length scale and the distributions.
_double_means: dict[tuple[object, ...], float] = {}
_MOST_KEPT = 4096


class Factors:
    """The one-dimensional factors of a product kernel, and their averages over pieces."""

    def __init__(self, kernel: Kernel, lengthscales: Array) -> None:
        if kernel.radial:
            raise ValueError(f"Exact averages need a product kernel, but got {kernel.name!r}: use method='mc' for it.")
        self.kernel, self.lengthscales = kernel, lengthscales

    def between(self, j: int, x: Array, t: Array) -> Array:
        """Factor of column j between values x and t, broadcast."""
        l = float(self.lengthscales[j])
        if self.kernel.is_nominal(j):
            same = self.kernel.codes(x, j) == self.kernel.codes(t, j)
            return np.asarray(np.where(same, 1.0, np.exp(-1.0 / l)))
        return integrals.factor(self.kernel.name, x, t, l)

    def mean(self, j: int, piece: _Piece, t: Array, slope: bool = False) -> Array:
        """Average factor (G or 1, n) between a piece and the values t (n,), or its derivative in t."""
        name, l = self.kernel.name, float(self.lengthscales[j])
        if slope and self.kernel.is_nominal(j):
            return np.zeros((1, len(t)))
        if piece.held is not None:
            x = piece.held[:, None]
            return integrals.factor_slope(name, x, t, l) if slope else self.between(j, x, t)
        assert piece.axis is not None
        return np.asarray(self._axis_mean(j, piece.axis, t, slope)[None])

    def _axis_mean(self, j: int, axis: Axis, t: Array, slope: bool) -> Array:
        name, l = self.kernel.name, float(self.lengthscales[j])
        out = np.zeros(len(t))
        if len(axis.points):
            distinct, which = np.unique(t, return_inverse=True) if len(t) > _MANY_ROWS else (t, np.arange(len(t)))
            x = axis.points[:, None]
            table = integrals.factor_slope(name, x, distinct, l) if slope else self.between(j, x, distinct)
            out += (axis.point_weights @ table)[which]
        interval_mean = integrals.interval_mean_slope if slope else integrals.interval_mean
        for low, high, weight in axis.intervals:
            out += weight * interval_mean(name, t, low, high, l)
        return out

    def double_mean(self, j: int, first: _Piece, second: _Piece) -> Array:
        """Average factor between two pieces, (G or 1, G' or 1)."""
        if first.held is not None and second.held is not None:
            return self.between(j, first.held[:, None], second.held[None, :])
        if first.held is not None:
            return np.asarray(self.mean(j, second, first.held).T)
        if second.held is not None:
            return self.mean(j, first, second.held)
        assert first.axis is not None and second.axis is not None
        if max(len(first.axis.points), len(second.axis.points)) < _MANY_ROWS or self.kernel.is_nominal(j):
            return np.array([[self._double_mean(j, first.axis, second.axis)]])
        # The same two distributions meet in every average of a model.
        key = (self.kernel.name, float(self.lengthscales[j]), first.axis.key, second.axis.key)
        mean = _double_means.get(key)
        if mean is None:
            mean = self._double_mean(j, first.axis, second.axis)
            if len(_double_means) >= _MOST_KEPT:
                _double_means.clear()
            _double_means[key] = mean
        return np.array([[mean]])

    def _double_mean(self, j: int, first: Axis, second: Axis) -> float:
        total = float(self._axis_mean(j, first, second.points, False) @ second.point_weights)
        for low, high, weight in second.intervals:
            points = integrals.interval_mean(self.kernel.name, first.points, low, high, self.lengthscales[j])
            total += weight * float(points @ first.point_weights)
            for a, b, w in first.intervals:
                rectangle = integrals.rectangle_mean(self.kernel.name, (a, b), (low, high), self.lengthscales[j])
                total += weight * w * rectangle
        return total


@dataclass(frozen=True)
class Average:
    """The average over a space of all parameters but the held ones.

    held    column -> its values at the grid points (G,), encoded
    axes    column -> distribution of an averaged parameter, if it is not the uniform one
    """

    space: Space
    held: Mapping[int, Array]
    axes: Mapping[int, Axis] = field(default_factory=dict)

    @staticmethod
    def of(space: Space, held: Mapping[int, Array], axes: Mapping[int, Axis] | None = None) -> Average:
        """Average over the configurations that have all parameters of `held` and `axes`.

        `axes`: distributions of other parameters, for averages over a part of the space.
        """
        narrowed = dict(axes or {})
        for j in (*held, *narrowed):
            child = j
            while space.names[child] in space.conditions:
                condition = space.conditions[space.names[child]]
                parent = space.index[condition.parent]
                if parent not in held:
                    narrowed[parent] = _where_active(space, child, narrowed.get(parent))
                child = parent
        return Average(space, dict(held), narrowed)

    @cached_property
    def size(self) -> int:
        return len(next(iter(self.held.values())))

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Parent -> columns that it switches; conditions on a parameter outside the space do not count."""
        out: dict[int, list[int]] = {j: [] for j in range(len(self.space))}
        for j in self.space.order:
            out[self.space.index[self.space.conditions[self.space.names[j]].parent]].append(j)
        return out

    @cached_property
    def roots(self) -> list[int]:
        return [j for j in range(len(self.space)) if j not in self.space.order]

    @cached_property
    def touched(self) -> frozenset[int]:
        """Roots of the trees in which a parameter is held or not averaged uniformly."""
        out = set()
        for j in (*self.held, *self.axes):
            while self.space.names[j] in self.space.conditions:
                j = self.space.index[self.space.conditions[self.space.names[j]].parent]
            out.add(j)
        return frozenset(out)

    def tree(self, root: int) -> list[int]:
        out = [root]
        for j in out:
            out += self.children[j]
        return out

    @cached_property
    def _pieces(self) -> dict[tuple[int, bool], list[_Piece]]:
        return {}

    def pieces(self, j: int, on: bool) -> list[_Piece]:
        """The pieces of parameter j if it is active (`on`) or not."""
        if (j, on) not in self._pieces:
            self._pieces[j, on] = self._find_pieces(j, on)
        return self._pieces[j, on]

    def _find_pieces(self, j: int, on: bool) -> list[_Piece]:
        children = self.children[j]
        if not on:
            return [_Piece(None, _OFF, (False,) * len(children))]
        rules = [self.space.conditions[self.space.names[c]] for c in children]
        dimension = self.space.dimensions[j]
        if j in self.held:
            values = self.held[j]
            states = [holds(dimension, rule, values) for rule in rules]
            patterns = sorted(set(zip(*(s.tolist() for s in states), strict=True))) if rules else [()]
            return [
                _Piece(values, None, pattern, _all(states, pattern) if len(patterns) > 1 else None)
                for pattern in patterns
            ]
        listed = any(rule.codes is not None for rule in rules)
        parts: list[tuple[Axis, tuple[bool, ...]]] = [(self.axes.get(j) or Axis.of(dimension, every_value=listed), ())]
        for rule in rules:
            split = [(a.where(dimension, rule, on), (*p, on)) for a, p in parts for on in (True, False)]
            parts = [(a, p) for a, p in split if a.weight > 0.0]
        return [_Piece(None, a, p) for a, p in parts]

    # ------------------------------------------------------------------ averages of kernel factors

    def tree_cross(self, factors: Factors, j: int, T: Array, on: bool = True, slope: int | None = None) -> Array:
        """Factor (G or 1, n) of the tree under j between this average and rows T; its derivative in column `slope`."""
        total: Array | float = 0.0
        for piece in self.pieces(j, on):
            value = factors.mean(j, piece, T[:, j], slope == j)
            for child, child_on in zip(self.children[j], piece.on, strict=True):
                value = value * self.tree_cross(factors, child, T, child_on, slope)
            total = total + (value if piece.mask is None else piece.mask[:, None] * value)
        return np.asarray(total)

    def cross(self, factors: Factors, T: Array) -> Array:
        """(G, n)"""
        out = np.ones((self.size, len(T)))
        for root in self.roots:
            out *= self.tree_cross(factors, root, T)
        return out

    def prior(self, factors: Factors, other: Average) -> Array:
        """(G, G')"""
        out = np.ones((self.size, other.size))
        for root in self.roots:
            out *= self._tree_prior(factors, other, root, True, True)
        return out

    def _tree_prior(self, factors: Factors, other: Average, j: int, on: bool, other_on: bool) -> Array:
        total: Array | float = 0.0
        for piece in self.pieces(j, on):
            for other_piece in other.pieces(j, other_on):
                value = factors.double_mean(j, piece, other_piece)
                for child, a, b in zip(self.children[j], piece.on, other_piece.on, strict=True):
                    value = value * self._tree_prior(factors, other, child, a, b)
                if piece.mask is not None:
                    value = piece.mask[:, None] * value
                if other_piece.mask is not None:
                    value = value * other_piece.mask[None, :]
                total = total + value
        return np.asarray(total)


def _where_active(space: Space, child: int, axis: Axis | None) -> Axis:
    """Distribution of a parent (`axis`, or uniform) among its values for which the child is active."""
    condition = space.conditions[space.names[child]]
    dimension = space.dimensions[space.index[condition.parent]]
    if axis is None:
        axis = Axis.of(dimension, every_value=condition.codes is not None)
    part = axis.where(dimension, condition)
    if part.weight <= 0.0:
        raise ValueError(
            printable(
                f"`{space.names[child]}` does not exist for the requested values of `{condition.parent}`, so there is "
                "nothing to average."
            )
        )
    return part.normalised()


def _all(states: Sequence[Mask], pattern: Sequence[bool]) -> Mask:
    return np.asarray(np.logical_and.reduce([state == value for state, value in zip(states, pattern, strict=True)]))
