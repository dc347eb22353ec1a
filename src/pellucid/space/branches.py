"""The choices of a space, with the parameters that exist under them, and configurations that have a choice.

Notation
    X (n, d)      encoded configurations, canonical
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.numerics import Array, Mask, low_discrepancy, stream
from pellucid.space.encoding import Space

# Configurations over the whole space.
_N_EVERYWHERE = 160
# Trials that give a choice its chance: without parameters of its own, or with them, for itself and for each of them.
_CHANCE, _OWN_CHANCE, _PER_PARAMETER = 5, 3, 8


def everywhere(space: Space, count: int = _N_EVERYWHERE) -> Array:
    """Evenly spread configurations."""
    return space.canonical(spread_evenly(space, count))


def spread_evenly(space: Space, count: int) -> Array:
    """The same, which may have parameters that do not exist."""
    return low_discrepancy(0, count, stream(0, "everywhere").random(len(space)))


@dataclass(frozen=True)
class Branch:
    """One choice of a categorical parameter, with the parameters that exist under it. `n_trials`: that had it."""

    column: int
    code: int
    n_own: int
    n_trials: int

    @property
    def fair_chance(self) -> int:
        """Trials after which it counts as tried: fewer say little about how good it could be."""
        return _OWN_CHANCE + _PER_PARAMETER * self.n_own if self.n_own else _CHANCE

    def holds(self, space: Space, X: Array, active: Mask) -> Mask:
        return np.asarray((space.dimensions[self.column].code(X[:, self.column]) == self.code) & active[:, self.column])


def branches(space: Space, X: Array) -> list[Branch]:
    """Every choice of every categorical parameter, tried or not. X (n, d): the trials."""
    active = space.active(X)
    parents = {condition.parent for condition in space.conditions.values()}
    out = []
    for j, dimension in enumerate(space.dimensions):
        if not dimension.categorical:
            continue
        codes = dimension.code(X[:, j])
        for code in range(dimension.cells):
            own = _n_own(space, j, code) if dimension.name in parents else 0
            out.append(Branch(j, code, own, int(((codes == code) & active[:, j]).sum())))
    return out


def _n_own(space: Space, column: int, code: int) -> int:
    """How many parameters exist because of a choice."""
    rows = forced(space, spread_evenly(space, 1), column, code)
    return sum(descends(space, k, column) for k in np.flatnonzero(space.active(rows)[0]).tolist())


def forced(space: Space, X: Array, column: int, code: int) -> Array:
    """Configurations with this choice, and with what it takes for the parameter to exist."""
    out = X.copy()
    out[:, column] = space.dimensions[column].midpoint(np.array([code]))[0]
    name = space.names[column]
    for _ in space.order:
        if name not in space.conditions:
            break
        rule = space.conditions[name]
        name, parent = rule.parent, space.index[rule.parent]
        allowed = rule.codes
        at = 0.5 * (rule.low + rule.high)
        out[:, parent] = space.dimensions[parent].midpoint(np.array([allowed[0]]))[0] if allowed else at
    return space.canonical(out)


def descends(space: Space, column: int, ancestor: int) -> bool:
    """Whether a parameter exists only for some values of another."""
    name = space.names[column]
    for _ in space.order:
        if name not in space.conditions:
            return False
        name = space.conditions[name].parent
        if name == space.names[ancestor]:
            return True
    return False
