"""From Optuna's parameters to the unit cube and back. The encoding of a parameter is the CDF of its distribution.

Notation
    u in [0, 1]   encoded value; each of the K values of a discrete parameter has a cell, represented by its mid-point
    cells         K for discrete parameters, 0 for continuous ones and for those with more than 2^52 values
    X (n, d)      encoded configurations, one column per parameter; an inactive parameter has the value `INACTIVE` = 1/2
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from pellucid.numerics import Array, Integers, Mask
from pellucid.space.values import fraction, is_plain, key, numbers
from pellucid.threads import cached_property
from pellucid.words import printable

INACTIVE = 0.5
# A last step that rounding has made slightly too long still counts.
_STEP_TOLERANCE = 1e-8
# More values than a float has digits for are treated as continuous, and rounded when they are decoded.
_MOST_CELLS = 2**52
# Larger choices are not compared as numbers.
_LARGEST_CHOICE = 1e300
# Replaces zero and negative numbers before a logarithm is taken.
_SMALLEST_POSITIVE = 1e-300


@dataclass(frozen=True)
class Condition:
    """Active if and only if the parent is active and its value is in `codes` (discrete) or in [low, high] (encoded)."""

    parent: str
    codes: tuple[int, ...] | None = None
    low: float = 0.0
    high: float = 1.0

    def to_list(self) -> list[Any]:
        return [self.parent, list(self.codes)] if self.codes is not None else [self.parent, self.low, self.high]

    @staticmethod
    def from_list(data: Sequence[Any]) -> Condition:
        if len(data) == 2:
            return Condition(str(data[0]), tuple(int(c) for c in data[1]))
        return Condition(str(data[0]), None, float(data[1]), float(data[2]))


@dataclass(frozen=True)
class Dimension:
    """One parameter and its map to [0, 1]."""

    name: str
    distribution: BaseDistribution
    ordinal: bool = False

    @cached_property
    def cells(self) -> int:
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return len(d.choices)
        if isinstance(d, IntDistribution):
            count = (d.high - d.low) // d.step + 1
        else:
            assert isinstance(d, FloatDistribution)
            count = 0 if d.step is None else math.floor((d.high - d.low) / d.step + _STEP_TOLERANCE) + 1
        return count if count <= _MOST_CELLS else 0

    @property
    def categorical(self) -> bool:
        """Whether the values are choices, ordered or not."""
        return isinstance(self.distribution, CategoricalDistribution)

    @property
    def nominal(self) -> bool:
        """Whether the values are choices without an order."""
        return self.categorical and not self.ordinal

    @property
    def scale(self) -> str:
        """'category', 'log' or 'linear'."""
        if self.categorical:
            return "category"
        assert isinstance(self.distribution, (FloatDistribution, IntDistribution))
        return "log" if self.distribution.log else "linear"

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Ends of the interval, as logarithms on a log scale; discrete values extend half a step to each side."""
        d = self.distribution
        assert isinstance(d, (FloatDistribution, IntDistribution))
        low, high = float(d.low), float(d.high)
        if self.cells and d.step is not None:
            half = 0.5 * d.step
            low, high = d.low - half, d.low + (self.cells - 1) * d.step + half
        return (math.log(low), math.log(high)) if d.log else (low, high)

    @cached_property
    def _codes(self) -> dict[Any, int]:
        assert isinstance(self.distribution, CategoricalDistribution)
        choices = self.distribution.choices
        # A receipt stores choices that are not plain values, such as lists and tuples, as their text.
        texts = {key(repr(choice)): i for i, choice in enumerate(choices) if not is_plain(choice)}
        return {**texts, **{key(choice): i for i, choice in reversed(list(enumerate(choices)))}}

    def encode(self, values: Sequence[Any]) -> tuple[Array, Mask]:
        """Encoded values, and which of them are inside the range (the others have no meaning)."""
        if isinstance(self.distribution, CategoricalDistribution):
            known = self._codes
            codes = np.array([known.get(key(v), -1) for v in values], dtype=float)
            return (codes + 0.5) / self.cells, codes >= 0
        d = self.distribution
        assert isinstance(d, (FloatDistribution, IntDistribution))
        raw = numbers(values)
        inside = (raw >= d.low) & (raw <= d.high)
        safe = np.where(inside, raw, float(d.low))  # NumPy 1 makes objects of large ints.
        low, high = self._range
        if d.log and self.cells:
            lower, upper = np.log(safe - 0.5), np.log(safe + 0.5)
            u = (0.5 * (lower + upper) - low) / (high - low)
        else:
            u = fraction(np.log(safe) if d.log else safe, low, high)
        return np.clip(u, 0.0, 1.0), inside

    def place(self, values: Array) -> Array:
        """Encoded numbers; those outside the range are below 0 or above 1."""
        d = self.distribution
        assert isinstance(d, (FloatDistribution, IntDistribution))
        low, high = self._range
        if d.log and self.cells:
            inner = np.maximum(values, 1.0)
            at = 0.5 * (np.log(inner - 0.5) + np.log(inner + 0.5))
        else:
            at = np.log(np.maximum(values, _SMALLEST_POSITIVE)) if d.log else values
        return fraction(at, low, high)

    def snap(self, u: Array) -> Array:
        """The nearest encoded value that exists: a mid-point for discrete parameters, u itself for continuous ones."""
        if not self.cells:
            return np.clip(u, 0.0, 1.0)
        return self.midpoint(self.code(u))

    def code(self, u: Array) -> Integers:
        """Index of the cell that contains u."""
        if isinstance(self.distribution, IntDistribution) and self.distribution.log:
            low, high = self._range
            k = np.rint(np.exp(low + np.clip(u, 0.0, 1.0) * (high - low))) - self.distribution.low
        else:
            k = np.floor(np.asarray(u) * self.cells)
        return np.asarray(np.clip(k, 0, self.cells - 1), dtype=np.int64)

    def midpoint(self, code: Integers) -> Array:
        if isinstance(self.distribution, IntDistribution) and self.distribution.log:
            low, high = self._range
            value = code + float(self.distribution.low)
            return np.asarray((0.5 * (np.log(value - 0.5) + np.log(value + 0.5)) - low) / (high - low))
        return np.asarray((code + 0.5) / self.cells)

    def cell(self, code: Integers) -> tuple[Array, Array]:
        """Lower and upper ends of the cells of discrete values; the cells partition [0, 1]."""
        if isinstance(self.distribution, IntDistribution) and self.distribution.log:
            low, high = self._range
            value = code + float(self.distribution.low)
            ends = [(np.log(value + half) - low) / (high - low) for half in (-0.5, 0.5)]
        else:
            ends = [code / self.cells, (code + 1) / self.cells]
        return np.clip(ends[0], 0.0, 1.0), np.clip(ends[1], 0.0, 1.0)

    def decode(self, u: Array) -> list[Any]:
        """Values as Python objects (never NumPy scalars), always inside the distribution's range."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return [d.choices[k] for k in self.code(u)]
        assert isinstance(d, (FloatDistribution, IntDistribution))
        if self.cells and d.step is not None:
            return [min(d.low + int(k) * d.step, d.high) for k in self.code(u)]
        low, high = self._range
        u = np.clip(u, 0.0, 1.0)
        raw = (1.0 - u) * low + u * high
        raw = np.clip(np.exp(raw) if d.log else raw, float(d.low), float(d.high))
        raw = np.where(u <= 0.0, float(d.low), np.where(u >= 1.0, float(d.high), raw))
        if isinstance(d, IntDistribution):
            # In Python's integers, which have no largest one.
            steps = [(max(int(v) - d.low, 0) + d.step // 2) // d.step for v in raw]
            return [min(d.low + k * d.step, d.high) for k in steps]
        if d.step is not None:
            return [min(d.low + round((float(v) - d.low) / d.step) * d.step, d.high) for v in raw]
        return [float(v) for v in raw]


def is_ordered(distribution: BaseDistribution) -> bool:
    """Whether the choices of a categorical form an ordered scale: three or more numbers, ascending or descending."""
    if not isinstance(distribution, CategoricalDistribution) or len(distribution.choices) < 3:
        return False
    choices = distribution.choices
    if not all(isinstance(c, (int, float)) and not isinstance(c, bool) and abs(c) < _LARGEST_CHOICE for c in choices):
        return False
    steps = np.diff(np.array(choices, dtype=float))
    return bool((steps > 0).all() or (steps < 0).all())


@dataclass(frozen=True)
class Space:
    """An ordered set of parameters with their activity conditions.

    A parameter without a condition is always active. In `order`, parents come before their children.
    """

    dimensions: tuple[Dimension, ...]
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    @staticmethod
    def of(
        distributions: Mapping[str, BaseDistribution],
        conditions: Mapping[str, Condition] | None = None,
        ordinal: Sequence[str] | None = None,
    ) -> Space:
        """`ordinal`: names of the ordered categoricals; None treats sorted numeric choices as ordered."""
        dimensions = tuple(
            Dimension(name, distribution, is_ordered(distribution) if ordinal is None else name in ordinal)
            for name, distribution in distributions.items()
        )
        known = {
            child: condition
            for child, condition in (conditions or {}).items()
            if child in distributions and condition.parent in distributions
        }
        continuous = {dimension.name for dimension in dimensions if not dimension.cells}
        for child, condition in known.items():
            if condition.codes is not None and condition.parent in continuous:
                raise ValueError(
                    printable(
                        f"`{child}` cannot depend on some values of `{condition.parent}`, which takes any value of a "
                        "range."
                    )
                )
        return Space(dimensions, known)

    def __len__(self) -> int:
        return len(self.dimensions)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.dimensions)

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    @property
    def ordinal(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.dimensions if d.ordinal)

    @cached_property
    def nominal(self) -> tuple[int, ...]:
        """Number of categories per column, 0 for ordered columns; empty if no column is nominal."""
        sizes = tuple(d.cells if d.nominal else 0 for d in self.dimensions)
        return sizes if any(sizes) else ()

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Columns of conditional parameters, parents first."""
        done: list[int] = []
        waiting = [j for j, name in enumerate(self.names) if name in self.conditions]
        while waiting:
            ready = [j for j in waiting if self.index[self.conditions[self.names[j]].parent] not in waiting]
            done.extend(ready or waiting)
            waiting = [j for j in waiting if ready and j not in ready]
        return tuple(done)

    def size(self) -> float:
        """Number of configurations, ignoring conditions; inf if a parameter is continuous."""
        return math.prod(float(d.cells) if d.cells else math.inf for d in self.dimensions)

    @cached_property
    def _tables(self) -> dict[int, Mask]:
        """For every conditional column with a list of codes, whether it is active for each code of its parent."""
        out = {}
        for j in self.order:
            condition = self.conditions[self.names[j]]
            if condition.codes is not None:
                table = np.zeros(self.dimensions[self.index[condition.parent]].cells, dtype=bool)
                table[[code for code in condition.codes if code < len(table)]] = True
                out[j] = table
        return out

    def active(self, X: Array) -> Mask:
        """Which entries of X are active."""
        out = np.ones(X.shape, dtype=bool)
        codes: dict[int, Integers] = {}
        for j in self.order:
            condition = self.conditions[self.names[j]]
            p = self.index[condition.parent]
            if j in self._tables:
                if p not in codes:
                    codes[p] = self.dimensions[p].code(X[:, p])
                on = self._tables[j][codes[p]]
            else:
                u = self.dimensions[p].snap(X[:, p])
                on = (u >= condition.low) & (u <= condition.high)
            out[:, j] = on & out[:, p]
        return out

    def canonical(self, X: Array) -> Array:
        """X with values that exist and inactive entries at 1/2, so that equal configurations have equal rows."""
        out = np.minimum(np.maximum(X, 0.0), 1.0)
        for j in self._discrete:
            out[:, j] = self.dimensions[j].snap(X[:, j])
        if self.conditions:
            out[~self.active(out)] = INACTIVE
        return out

    @cached_property
    def _discrete(self) -> list[int]:
        return [j for j, dimension in enumerate(self.dimensions) if dimension.cells]

    @cached_property
    def _floats(self) -> list[int]:
        """Columns of numbers that are not rounded, which are encoded and decoded together."""
        kinds = [(j, dimension.distribution) for j, dimension in enumerate(self.dimensions)]
        return [j for j, kind in kinds if isinstance(kind, FloatDistribution) and kind.step is None]

    @cached_property
    def _others(self) -> list[int]:
        return [j for j in range(len(self)) if j not in self._floats]

    @cached_property
    def _bounds(self) -> tuple[Array, Array, Array, Array, Mask]:
        """Columns of floats: low and high in the user's units, the same as logarithms if log, and which are log."""
        kinds = [self.dimensions[j].distribution for j in self._floats]
        floats = [kind for kind in kinds if isinstance(kind, FloatDistribution)]
        low, high = np.array([f.low for f in floats]), np.array([f.high for f in floats])
        log = np.array([f.log for f in floats], dtype=bool)
        return low, high, np.log(low, where=log, out=low.copy()), np.log(high, where=log, out=high.copy()), log

    def encode(self, configurations: Sequence[Mapping[str, Any]]) -> tuple[Array, Mask]:
        """X (n, d), and which rows have all their parameters inside the ranges. Missing parameters are inactive."""
        n = len(configurations)
        X = np.full((n, len(self)), INACTIVE)
        fits = np.ones(n, dtype=bool)
        columns = self._encode_floats(configurations, X, fits)
        for j in columns:
            dimension, name = self.dimensions[j], self.names[j]
            rows = [i for i, c in enumerate(configurations) if name in c]
            if rows:
                X[rows, j], inside = dimension.encode([configurations[i][name] for i in rows])
                fits[rows] &= inside
        return X, fits

    def _encode_floats(self, configurations: Sequence[Mapping[str, Any]], X: Array, fits: Mask) -> list[int]:
        """Fill all columns of floats at once if every configuration has all of them; returns the columns left."""
        names = [self.names[j] for j in self._floats]
        if not names:
            return list(range(len(self)))
        try:
            rows = map(itemgetter(*names), configurations)
            values = rows if len(names) == 1 else chain.from_iterable(rows)
            raw = np.fromiter(values, float, len(configurations) * len(names)).reshape(-1, len(names))
        except (KeyError, TypeError, ValueError, OverflowError):
            return list(range(len(self)))
        if len(raw) == 0:
            return list(range(len(self)))
        low, high, start, stop, log = self._bounds
        inside = (raw >= low) & (raw <= high)
        raw = np.where(inside, raw, low)
        raw = np.log(raw, where=log, out=raw)
        X[:, self._floats] = np.minimum(np.maximum(fraction(raw, start, stop), 0.0), 1.0)
        fits &= inside.all(axis=1)
        return self._others

    def decode(self, X: Array, *, only_active: bool = True) -> list[dict[str, Any]]:
        """Configurations as dictionaries, without inactive parameters unless `only_active` is False."""
        columns: list[list[Any]] = [[]] * len(self)
        for j in self._others:
            columns[j] = self.dimensions[j].decode(X[:, j])
        for j, values in zip(self._floats, self._decode_floats(X), strict=True):
            columns[j] = values
        if not (only_active and self.conditions):
            return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]
        active = self.active(X)
        return [
            {name: column[i] for name, column, on in zip(self.names, columns, active[i], strict=True) if on}
            for i in range(len(X))
        ]

    def _decode_floats(self, X: Array) -> list[list[float]]:
        """`Dimension.decode` for all columns of floats at once."""
        if not self._floats:
            return []
        low, high, start, stop, log = self._bounds
        u = np.minimum(np.maximum(X[:, self._floats], 0.0), 1.0)
        raw = (1.0 - u) * start + u * stop
        raw = np.exp(raw, where=log, out=raw)
        raw = np.minimum(np.maximum(raw, low), high)
        raw = np.where(u <= 0.0, low, np.where(u >= 1.0, high, raw))
        values: list[list[float]] = raw.T.tolist()
        return values
