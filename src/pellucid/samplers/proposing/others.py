"""The other trials of a study, as a proposal has to see them: known, failed, and still running.

"Complete" configurations have every parameter that is always active; only they can be encoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.numerics import Array
from pellucid.study import study_io
from pellucid.study.encoding import Space

_GRID = 2.0**20


def plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: study_io.plain(value) for name, value in params.items()}


def taken(params: Mapping[str, Any], others: Mapping[int, Mapping[str, Any]]) -> bool:
    """Whether another running trial has, or was offered, exactly these parameters."""
    return any(
        all(name in other and other[name] == value for name, value in params.items()) for other in others.values()
    )


def known(space: Space, found: Sequence[FrozenTrial], number: int) -> Array:
    """Canonical configurations of all other trials that fit the space, whatever became of them."""
    others = [t.params for t in found if t.number != number and t.state.is_finished() and complete(space, t.params)]
    others += [c for c in study_io.pending(found, number).values() if complete(space, c)]
    if not others:
        return np.empty((0, len(space)))
    X, fits = space.encode(others)
    return space.canonical(X[fits])


def silent(space: Space, found: Sequence[FrozenTrial]) -> tuple[list[int], Array]:
    """Failed trials that fit the space: their numbers and encoded configurations."""
    failed = [t for t in study_io.failed(found) if complete(space, t.params)]
    if not failed:
        return [], np.empty((0, len(space)))
    X, fits = space.encode([t.params for t in failed])
    return [t.number for t, fit in zip(failed, fits, strict=True) if fit], X[fits]


def pending(space: Space, found: Sequence[FrozenTrial], number: int) -> dict[int, Array]:
    """Other running trials that fit the space: encoded configurations by number."""
    waiting = {k: c for k, c in study_io.pending(found, number).items() if complete(space, c)}
    if not waiting:
        return {}
    X, fits = space.encode(list(waiting.values()))
    return {k: x for k, x, fit in zip(waiting, space.canonical(X), fits, strict=True) if fit}


def complete(space: Space, configuration: Mapping[str, Any]) -> bool:
    """Whether a configuration has every parameter that is always active."""
    return all(name in configuration for name in space.names if name not in space.conditions)


def on_a_grid(space: Space, x: Array) -> Array:
    """Continuous coordinates as multiples of 2^-20 of their range.

    An objective in another unit, or another BLAS, changes the last bits of everything; without this, such bits grow
    from proposal to proposal until two studies that should be the same have nothing in common.
    """
    continuous = np.array([dimension.cells == 0 for dimension in space.dimensions])
    return np.where(continuous, np.round(x * _GRID) / _GRID, x)
