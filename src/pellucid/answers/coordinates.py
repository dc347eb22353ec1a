"""Every trial as a line through the values of its parameters, and what the best of them have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from optuna.study import Study

from pellucid.answers.finding import Finding
from pellucid.beliefs import Beliefs
from pellucid.beliefs.of_study import beliefs_of
from pellucid.notebook import Rows
from pellucid.numerics import Array, Mask, one_thread
from pellucid.pareto import front
from pellucid.space.encoding import Dimension
from pellucid.space.text import axis_ticks
from pellucid.study.arrays import Arrays
from pellucid.words import NoAnswerYet, Note, value_text


@dataclass(frozen=True)
class Coordinate:
    """One parameter of the trials. `ticks`: places between 0 and 1 with the values there, as text."""

    param: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class ParallelCoordinates(Finding):
    """Every trial as a line through the values of its parameters, and what the best of them have in common.

    numbers   of the trials;  places  per trial, its place on every axis, between 0 and 1; None without the parameter
    best      per trial, whether it is among the best tenth, or on the front of several objectives
    shared    the parameters that the best have in common, unlike many others
    """

    _rows: ClassVar[Rows] = "even"

    axes: tuple[Coordinate, ...]
    numbers: tuple[int, ...]
    places: tuple[tuple[float | None, ...], ...]
    best: tuple[bool, ...]
    sentence: str
    notes: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        columns: dict[str, Any] = {"trial": self.numbers, "best": self.best}
        for i, axis in enumerate(self.axes):
            name = axis.param if axis.param not in columns else f"{axis.param}_"
            columns[name] = [places[i] for places in self.places]
        return columns


# With fewer finished trials, or fewer good ones, having something in common means nothing.
_FEWEST, _FEWEST_BEST = 10, 3
# The best have a number in common if it stays within this share of its range, and if this share of all trials does not.
_NARROW, _ELSEWHERE = 0.35, 0.3
# What a sentence names.
_MOST_NAMED = 3
_ALIKE = Note("Samplers look where trials were good, which alone makes good trials alike.", "sampling")


def parallel_coordinates(study: Study) -> ParallelCoordinates:
    """Every finished trial of a study with the values of its parameters; the best tenth, or the front, stand out.

    Args:
        study: any study with at least ten finished trials.
    """
    with one_thread:
        return coordinates_of(beliefs_of(study))


def coordinates_of(beliefs: Beliefs) -> ParallelCoordinates:
    view, data = beliefs.view, beliefs.view.data
    n = len(data.observations)
    if not len(data.space) or n < _FEWEST:
        what = "no parameter varies" if n else "no trial has finished"
        reason = f"there are {n}" if 0 < n < _FEWEST else what
        raise NoAnswerYet(f"What the best trials share needs at least {_FEWEST} finished trials, but {reason}.")
    best = _front(data) if view.several else _best_tenth(data)
    columns = sorted(range(len(data.space)), key=lambda j: view.positions[data.space.names[j]])
    dimensions = [data.space.dimensions[j] for j in columns]
    U = data.X[:, columns]
    present = np.array([[d.name in c for d in dimensions] for c in data.observations.configurations])
    places = [
        tuple(round(float(u), 4) if here else None for u, here in zip(row, mask, strict=True))
        for row, mask in zip(U, present, strict=True)
    ]
    shared = [_shared(d, U[:, i], present[:, i], best) for i, d in enumerate(dimensions)]
    return ParallelCoordinates(
        axes=tuple(Coordinate(dimension.name, axis_ticks(dimension)) for dimension in dimensions),
        numbers=data.observations.numbers,
        places=tuple(places),
        best=tuple(best.tolist()),
        sentence=_sentence(int(best.sum()), n, [text for text in shared if text], several=view.several),
        notes=(_ALIKE,) if any(shared) else (),
        shared=tuple(dimension.name for dimension, text in zip(dimensions, shared, strict=True) if text),
    )


def _best_tenth(data: Arrays) -> Mask:
    """The tenth with the lowest losses, at least three, and all that are as good; infeasible trials come last."""
    standing = data.standing(data.losses)
    count = max(_FEWEST_BEST, math.ceil(len(standing) / 10))
    return np.asarray(standing <= np.sort(standing)[count - 1])


def _front(data: Arrays) -> Mask:
    """The trials that no other one beats in every objective."""
    numbers = data.observations.numbers
    feasible = np.flatnonzero(data.observations.feasible)
    best = np.zeros(len(numbers), dtype=bool)
    if len(feasible):
        best[feasible[front(data.observations.values[feasible])]] = True
    return best


def _shared(dimension: Dimension, u: Array, present: Mask, best: Mask) -> str:
    """What the best trials have in common that others have not, in words; empty if nothing."""
    if best.sum() < _FEWEST_BEST or not present[best].all():
        return ""
    low, high = float(u[best].min()), float(u[best].max())
    elsewhere = float(((u < low) | (u > high) | ~present).mean())
    if elsewhere < _ELSEWHERE or (dimension.nominal and low < high) or high - low > _NARROW:
        return ""
    first, last = (value_text(value) for value in dimension.decode(np.array([low, high])))
    return f"`{dimension.name}` = {first}" if first == last else f"`{dimension.name}` from {first} to {last}"


def _sentence(count: int, n: int, shared: list[str], *, several: bool) -> str:
    who = f"{count} of {n} trials on the front" if several else f"best {count} of {n} trials"
    if not shared:
        return f"The {who} have no setting in common that other trials lack."
    more = f" and {len(shared) - _MOST_NAMED} more" if len(shared) > _MOST_NAMED else ""
    return f"Unlike many others, the {who} all have {', '.join(shared[:_MOST_NAMED])}{more}."
