"""A part of a space: some parameters are held at a value, the others are searched.

Notation
    whole    the space of the model, with d parameters;  free  the space of those that are searched
    held     an encoded row (d,) with the values of the others
A free parameter whose parent is held either always exists (then it has no condition left) or never does (then it is not
searched at all).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pellucid.numerics import Array
from pellucid.search.acquisition.base import Effort, Pool, Scored
from pellucid.search.acquisition.optimize import SEPARATION, Allowed, Known, propose
from pellucid.space.encoding import INACTIVE, Condition, Space
from pellucid.threads import cached_property

# Rows around which the search looks closely.
_N_INCUMBENTS = 5
# Larger parts are not listed to find out whether everything in them has been tried.
_COUNTABLE = 5000


@dataclass(frozen=True)
class Slice:
    whole: Space
    free: Space
    held: Array

    @staticmethod
    def of(whole: Space, held: Mapping[str, float]) -> Slice:
        """`held`: encoded values by name."""
        row = np.array([held.get(name, INACTIVE) for name in whole.names])
        rules: dict[str, Condition] = {}
        dimensions = []
        for dimension in whole.dimensions:
            exists, rule = (False, None) if dimension.name in held else _condition(whole, dimension.name, held, row)
            if exists:
                dimensions.append(dimension)
                if rule is not None:
                    rules[dimension.name] = rule
        return Slice(whole, Space(tuple(dimensions), rules), row)

    @cached_property
    def columns(self) -> npt.NDArray[np.intp]:
        return np.array([self.whole.index[name] for name in self.free.names], dtype=np.intp)

    def embedded(self, X: Array) -> Array:
        """Rows of the free space as canonical rows of the whole one."""
        rows = np.repeat(self.held[None], len(X), axis=0)
        rows[:, self.columns] = X
        return self.whole.canonical(rows)

    def best(
        self,
        function: Scored,
        X: Array,
        seen: Array,
        rng: np.random.Generator,
        separation: float,
        allowed: Allowed | None = None,
    ) -> Array:
        """The row of the whole space (d,) with the best score that is allowed and not in `seen`.

        X (n, d): evaluated rows. The search looks closely around those that score best once they are in the slice.
        """
        inside = OnSlice(function, self)
        rows = np.unique(self.free.canonical(X[:, self.columns]), axis=0)
        incumbents = rows[np.argsort(-inside.score(rows), kind="stable")[:_N_INCUMBENTS]]
        known = self.embedded(seen[:, self.columns])
        seen_inside = seen[(np.abs(known - seen) <= separation).all(axis=1)][:, self.columns]
        fine: Allowed | None = None if allowed is None else lambda X: allowed(self.embedded(X))
        known_inside = self.free.canonical(seen_inside)
        x = propose(inside, self.free, incumbents, known_inside, rng, separation, allowed=fine)
        return np.asarray(self.embedded(x[None])[0])

    def exhausted(self, seen: Array) -> bool:
        """Whether every configuration of the part is in `seen` (n, d), canonical rows of the whole space."""
        if self.free.size() > _COUNTABLE:
            return False
        axes = [dimension.midpoint(np.arange(dimension.cells)) for dimension in self.free.dimensions]
        rows = self.embedded(np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1))
        known = Known(self.whole, seen, SEPARATION)
        return all(known.near(row) for row in rows)


def _condition(whole: Space, name: str, held: Mapping[str, float], row: Array) -> tuple[bool, Condition | None]:
    """Whether a parameter can exist in the slice, and the condition that is left of its own."""
    rule = whole.conditions.get(name)
    if rule is None:
        return True, None
    possible, above = _condition(whole, rule.parent, held, row)
    if not possible:
        return False, None
    if rule.parent not in held:
        return True, rule
    alone = Space(whole.dimensions, {name: rule})
    return bool(alone.active(row[None])[0, whole.index[name]]), above


@dataclass(frozen=True)
class OnSlice:
    """A function of the whole space, as a function of the free parameters."""

    function: Scored
    part: Slice

    @property
    def effort(self) -> Effort:
        return self.function.effort

    def score(self, X: Array) -> Array:
        return self.function.score(self.part.embedded(X))

    def screen(self, X: Array) -> Array:
        return self.function.screen(self.part.embedded(X))

    def screen_pool(self, pool: Pool) -> Array:
        return self.screen(pool.X)

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        score, gradient = self.function.score_with_gradient(self.part.embedded(X))
        return score, gradient[:, self.part.columns]
