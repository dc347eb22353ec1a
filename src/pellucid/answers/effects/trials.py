"""What effects share: the trials that they are read from, how many are near each value, and the part of the space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.of_study import curve_notes
from pellucid.models import GaussianProcess
from pellucid.models.thinning import MOST_ROWS
from pellucid.numerics import Array, Integers, Mask
from pellucid.space.branches import descends, forced
from pellucid.space.encoding import INACTIVE, Space
from pellucid.space.text import condition_text
from pellucid.study.arrays import Arrays
from pellucid.study.targets import Target
from pellucid.words import (
    NoAnswer,
    NoAnswerYet,
    choice_note,
    outside_note,
    printable,
    selection_note,
    unknown_parameter,
)

# A model needs this many trials to say anything.
_FEWEST = 3
# Beyond this many trials hyperparameters are known well enough, and every further model costs their cube.
_MANY_TRIALS = 300
# A trial is near a grid point within this share of the axis; parameters with few values are compared exactly.
_WINDOW, _FEW_CELLS = 0.05, 12
# A branch is judged once it has had this many trials for itself and for each of its parameters: its best point must be
# searched for. A choice without parameters of its own shares what is known of the others.
_PER_PARAMETER, _PER_CHOICE = 4, 3
# The verdicts on a parameter.
MATTERS, NO_EFFECT, CANNOT_TELL = "matters", "no effect", "cannot tell"


def names_of(params: object, most: int, rule: str) -> tuple[str, ...]:
    """The names of one to `most` different parameters, from a name or several. `rule`: the beginning of the error."""
    names = (params,) if isinstance(params, str) else tuple(params) if isinstance(params, Iterable) else ()
    if not (all(isinstance(name, str) for name in names) and 1 <= len(set(names)) == len(names) <= most):
        raise ValueError(printable(f"{rule}, but got {params!r}."))
    return names


def effect_data(
    beliefs: Beliefs, target: Target, names: Sequence[str], what: str, most: int
) -> tuple[Arrays, list[str]]:
    """The finished trials, encoded, and notes on those that are left out. `what`: the answer that needs them; `most`:
    trials that it can use."""
    view = beliefs.view
    n = len(view.observed(target))
    if n < _FEWEST:
        raise NoAnswerYet(f"{what} needs at least {_FEWEST} finished trials with a value; this study has {n}.")
    for name in names:
        if name not in view.distributions:
            raise ValueError(printable(unknown_parameter(name, view.distributions)))
        if name not in view.varying:
            raise NoAnswer(f"`{name}` has only one value ({view.distributions[name]}), so it has no effect to show.")
    data = beliefs.data(target)
    inside = len(data)
    if inside < _FEWEST:
        raise NoAnswerYet(
            f"{what} needs at least {_FEWEST} finished trials inside the present ranges; this study has {inside}."
        )
    notes: list[str] = []
    if inside < n:
        notes.append(outside_note(n - inside, n))
    chosen = view.chosen(data)
    if len(chosen) < inside and most >= MOST_ROWS:
        # Other answers have the model of these.
        notes += choice_note(len(chosen), inside)
        data = chosen
    elif inside > most:
        notes.append(selection_note(what, most, inside))
        data = _thinned(data, most)
    return data, [*notes, *curve_notes(data)]


def _thinned(data: Arrays, most: int) -> Arrays:
    """The best trials, and the others evenly over time."""
    best_kept = most // 5
    order = np.argsort(data.losses, kind="stable")
    rest = np.sort(order[best_kept:])
    even = rest[np.linspace(0, len(rest) - 1, most - best_kept).round().astype(int)]
    keep = np.sort(np.concatenate([order[:best_kept], even]))
    return Arrays(data.space, data.observations.select(keep.tolist()), data.X[keep])


def models_of(model: Model) -> tuple[GaussianProcess, ...]:
    """The models of equal weight that an effect is averaged over."""
    return (model.gp,) if len(model.data) > _MANY_TRIALS else model.plausible


def support_of(data: Arrays, columns: Sequence[int], grid: Array) -> Integers:
    """How many trials are near each grid point: with the same value of a parameter that has few, within a twentieth of
    the axis otherwise. A trial without the parameter is near none of its values."""
    near = np.ones((len(grid), len(data.X)), dtype=bool)
    for i, j in enumerate(columns):
        dimension = data.space.dimensions[j]
        window = 1e-9 if dimension.nominal or 0 < dimension.cells <= _FEW_CELLS else _WINDOW
        near &= np.abs(grid[:, i][:, None] - data.X[:, j]) <= window * len(columns)
        near &= np.array([dimension.name in c for c in data.observations.configurations])
    return np.asarray(near.sum(axis=1))


def judged_choices(data: Arrays, column: int, grid: Array) -> Mask:
    """Which values (G,) of a parameter have had enough trials to be judged: all of those of a number."""
    dimension = data.space.dimensions[column]
    if not dimension.categorical:
        return np.ones(len(grid), dtype=bool)
    space = data.space
    blank = np.full((1, len(space)), INACTIVE)
    rows = np.vstack([forced(space, blank, column, int(code)) for code in dimension.code(grid)])
    own = [j for j in space.order if descends(space, j, column)]
    parameters = space.active(rows)[:, own].sum(axis=1)
    needed = np.where(parameters > 0, _PER_PARAMETER * (1 + parameters), _PER_CHOICE)
    return np.asarray(support_of(data, [column], grid[:, None]) >= needed)


def judged_branch(data: Arrays, column: int) -> bool:
    """Whether the branch in which a parameter exists has had enough trials to be judged."""
    rule = data.space.conditions.get(data.space.names[column])
    if rule is None:
        return True
    parameters = sum(other == rule for other in data.space.conditions.values())
    had = sum(data.space.names[column] in c for c in data.observations.configurations)
    return had >= _PER_PARAMETER * (1 + parameters)


def condition_of(space: Space, names: Sequence[str], conditions: Mapping[str, Any]) -> str:
    """The part of the space that the average covers, in words; empty if all of it."""
    words = [f"{name} = {value!r}" for name, value in conditions.items()]
    for name in names:
        child = name
        while child in space.conditions:
            rule = space.conditions[child]
            if rule.parent not in names and rule.parent not in conditions:
                words.append(condition_text(space, rule))
            child = rule.parent
    return " and ".join(dict.fromkeys(words))
