"""Partial dependence: what a parameter does to the objective on average, and how certain that is.

Works on studies of any sampler: a surrogate is fitted to the finished trials, and exact averages of it follow (see
`surrogates.averages.effects`). Inside, numbers are latent and encoded; results are in the user's unit and direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution
from optuna.study import Study
from scipy.special import ndtri

from pellucid.acquisition.information import effect_grid
from pellucid.explain.effects.words import Curve, effect_notes, effect_sentence
from pellucid.explain.model import EffectModel, effect_model, opened
from pellucid.explain.text import condition_text, unknown_parameter
from pellucid.numerics import Array, Integers
from pellucid.records import IndividualCurve, PartialDependence
from pellucid.study.arrays import Arrays
from pellucid.study.encoding import Condition, Dimension, Space
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.averages.averages import Axis
from pellucid.surrogates.averages.effects import Band, Effects
from pellucid.surrogates.averages.functionals import average

# A model needs this many trials to say anything.
_FEWEST = 3
# Exact averages cost the square of the trials: beyond this many, the best ones and an even selection are used.
_MOST_TRIALS, _BEST_KEPT = 1500, 300
# Grid points of a curve, and per side of a map.
_LINE, _SIDE = 40, 15
# Curves through single trials: a figure with more is crowded.
_N_INDIVIDUAL = 12
# A trial is near a grid point within this share of the axis; parameters with few values are compared exactly.
_WINDOW, _FEW_CELLS = 0.05, 12
# A range is widened by this much, so that rounding does not exclude a value at its end.
_ROUNDING = 1e-9


def partial_dependence(
    study: Study,
    params: str | Sequence[str],
    *,
    level: float = 0.95,
    trial: int | None = None,
    conditional_on: Mapping[str, Any] | None = None,
    surrogate: GaussianProcess | None = None,
) -> PartialDependence:
    """The average effect of one parameter, or of two together, with a calibrated band.

    Args:
        study: any study with one objective, whichever sampler ran it.
        params: a name, or two names for the joint effect.
        level: of the band.
        trial: show the curve through this trial's configuration, with its own band, instead of a dozen without.
        conditional_on: average only over configurations with these values of other parameters: a value, a list of
            values (with equal weights), or a (low, high) range of a number. A conditional parameter is always averaged
            over the configurations in which it exists.
        surrogate: kernel and warp of the model; default `GaussianProcess(warp="auto")`.
    """
    names = (params,) if isinstance(params, str) else tuple(params)
    if not 1 <= len(set(names)) == len(names) <= 2:
        raise ValueError(f"Partial dependence is of one parameter or of two different ones, but got {params!r}.")
    if trial is not None and len(names) == 2:
        raise ValueError("`trial` needs a single parameter, but got two: leave `trial` out.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must be between 0 and 1, but got {level}.")
    conditions = dict(conditional_on or {})
    with opened(study, "partial_dependence") as view:
        return _effect(_fitted(view, (*names, *conditions), surrogate), names, level, trial, conditions)


def effects_of(
    view: StudyView, subjects: Sequence[tuple[str, ...]], level: float = 0.95
) -> tuple[PartialDependence, ...]:
    """Several partial dependences of one model. `subjects`: the parameters of each."""
    fitted = _fitted(view, [name for names in subjects for name in names], None)
    return tuple(_effect(fitted, names, level, None, {}) for names in subjects)


@dataclass(frozen=True)
class _Fitted:
    """The encoded trials of a study and their model. `notes`: on trials that were left out."""

    data: Arrays
    model: EffectModel
    notes: tuple[str, ...]
    direction: str
    sign: float

    def in_user_units(self, latent: Array) -> Array:
        return self.sign * self.model.gp.losses(latent)


def _fitted(view: StudyView, names: Sequence[str], surrogate: GaussianProcess | None) -> _Fitted:
    data, notes = _data(view, names)
    return _Fitted(data, effect_model(view, data, surrogate), tuple(notes), view.direction, view.sign)


def _effect(
    fitted: _Fitted, names: tuple[str, ...], level: float, trial: int | None, conditions: dict[str, Any]
) -> PartialDependence:
    data, gp = fitted.data, fitted.model.gp
    space = data.space
    axes = {space.index[name]: _axis(space.dimensions[space.index[name]], value) for name, value in conditions.items()}
    for name in names:
        if name in conditions:
            raise ValueError(f"`conditional_on` must name other parameters than `params`, but both have {name!r}.")
    columns = [space.index[name] for name in names]
    grid = effect_grid(space, columns, _LINE if len(names) == 1 else _SIDE)
    band = Effects(gp, [average(gp, columns, grid, space, axes)]).band
    z = float(ndtri(0.5 + 0.5 * level))
    curve = _curve(fitted, names, columns, grid, band, z)
    support = _support(data, columns, grid)
    raw = np.abs(fitted.in_user_units(band.mean + band.raw_sd) - fitted.in_user_units(band.mean - band.raw_sd)) / 2.0
    condition = _condition(space, names, conditions)
    constant = bool(np.ptp(data.losses) == 0.0)
    return PartialDependence(
        params=names,
        values=tuple(tuple(values) for values in curve.values),
        mean=_floats(curve.mean),
        low=_floats(curve.low),
        high=_floats(curve.high),
        raw_sd=_floats(raw),
        level=level,
        support=tuple(int(count) for count in support),
        trusted=tuple(bool(trusted) for trusted in curve.trusted),
        axes=tuple(space.dimensions[j].scale for j in columns),
        trial_numbers=data.observations.numbers,
        trial_values=tuple(tuple(c.get(name) for c in data.observations.configurations) for name in names),
        trial_objectives=_floats(fitted.sign * data.losses),
        individual=_individual(fitted, columns[0], grid[:, 0], z, trial) if len(names) == 1 else (),
        typical=fitted.model.typical,
        direction=fitted.direction,
        sentence=effect_sentence(
            curve,
            level=level,
            n_trials=len(data.losses),
            condition=condition,
            typical=fitted.model.typical,
            constant=constant,
        ),
        condition=condition,
        notes=(*effect_notes(data, gp, columns, curve, support, band), *fitted.notes),
        best=curve.best,
    )


def _curve(fitted: _Fitted, names: tuple[str, ...], columns: Sequence[int], grid: Array, band: Band, z: float) -> Curve:
    """The band in the unit of the objective, with the points at which it is informative."""
    ends = [fitted.in_user_units(band.mean - z * band.sd), fitted.in_user_units(band.mean + z * band.sd)]
    low, high = np.sort(ends, axis=0)
    mean = fitted.in_user_units(band.mean)
    # A band as wide as the values of the trials themselves adds nothing to them.
    quantiles = np.quantile(fitted.data.losses, [0.05, 0.95])
    trusted = high - low < max(float(quantiles[1] - quantiles[0]), 1e-300)
    inside = np.flatnonzero(trusted)
    best = int(inside[np.argmin(fitted.sign * mean[inside])]) if len(inside) else None
    values = [fitted.data.space.dimensions[j].decode(grid[:, i]) for i, j in enumerate(columns)]
    return Curve(names, values, mean, low, high, trusted, best)


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


# ---------------------------------------------------------------------- trials


def _data(view: StudyView, names: Sequence[str]) -> tuple[Arrays, list[str]]:
    """The finished trials, encoded, and notes on those that are left out."""
    n = len(view.observations)
    if n < _FEWEST:
        raise ValueError(
            f"Partial dependence needs at least {_FEWEST} finished trials with a value; this study has {n}."
        )
    for name in names:
        if name not in view.distributions:
            raise ValueError(unknown_parameter(name, view.distributions))
        if name not in view.varying:
            raise ValueError(f"`{name}` has only one value ({view.distributions[name]}), so it has no effect to show.")
    data = view.data
    inside = len(data.losses)
    if inside < _FEWEST:
        raise ValueError(
            f"Partial dependence needs at least {_FEWEST} finished trials inside the present ranges; this study has "
            f"{inside} of {n} there."
        )
    notes = []
    if inside < n:
        notes.append(f"{n - inside} of {n} trials lie outside the present ranges and are left out.")
    if inside > _MOST_TRIALS:
        notes.append(f"The model uses {_MOST_TRIALS} of {inside} trials: the best ones and an even selection.")
        data = _thinned(data)
    return data, notes


def _thinned(data: Arrays) -> Arrays:
    """The best trials, and the others evenly over time."""
    order = np.argsort(data.losses, kind="stable")
    rest = np.sort(order[_BEST_KEPT:])
    even = rest[np.linspace(0, len(rest) - 1, _MOST_TRIALS - _BEST_KEPT).round().astype(int)]
    keep = np.sort(np.concatenate([order[:_BEST_KEPT], even]))
    return Arrays(data.space, data.observations.select(keep.tolist()), data.X[keep])


def _support(data: Arrays, columns: Sequence[int], grid: Array) -> Integers:
    """How many trials are near each grid point: with the same value of a parameter that has few, within a twentieth of
    the axis otherwise. A trial without the parameter is near none of its values."""
    near = np.ones((len(grid), len(data.X)), dtype=bool)
    for i, j in enumerate(columns):
        dimension = data.space.dimensions[j]
        window = 1e-9 if dimension.nominal or 0 < dimension.cells <= _FEW_CELLS else _WINDOW
        near &= np.abs(grid[:, i][:, None] - data.X[:, j]) <= window * len(columns)
        near &= np.array([dimension.name in c for c in data.observations.configurations])
    return np.asarray(near.sum(axis=1))


def _individual(fitted: _Fitted, column: int, grid: Array, z: float, trial: int | None) -> tuple[IndividualCurve, ...]:
    """Curves through trials: one with a band if a trial is named, otherwise a dozen from the best to the worst."""
    data, gp = fitted.data, fitted.model.gp
    numbers = data.observations.numbers
    name = data.space.names[column]
    having = [i for i, configuration in enumerate(data.observations.configurations) if name in configuration]
    if trial is not None:
        rows = [i for i in having if numbers[i] == trial]
        if not rows:
            raise ValueError(
                f"Trial {trial} is not among the {len(having)} finished trials with `{name}` that the model uses."
            )
    elif not having:
        return ()
    else:
        order = sorted(having, key=lambda i: float(data.losses[i]))
        rows = [order[k] for k in np.unique(np.linspace(0, len(order) - 1, _N_INDIVIDUAL).round().astype(int))]
    curves = []
    for i in rows:
        X = np.repeat(data.X[i : i + 1], len(grid), axis=0)
        X[:, column] = grid
        mean, sd = gp.latent(data.space.canonical(X))
        ends = np.sort([fitted.in_user_units(mean - z * sd), fitted.in_user_units(mean + z * sd)], axis=0)
        band = (_floats(ends[0]), _floats(ends[1])) if trial is not None else ((), ())
        curves.append(IndividualCurve(numbers[i], _floats(fitted.in_user_units(mean)), *band))
    return tuple(curves)


# ---------------------------------------------------------------------- parameters


def _axis(dimension: Dimension, values: Any) -> Axis:
    """The distribution of a parameter. `values`: a single value, a list of values, or a (low, high) range."""
    name, kind = dimension.name, dimension.distribution
    if not dimension.categorical and isinstance(values, tuple) and len(values) == 2:
        u, inside = dimension.encode(list(values))
        if not inside.all() or u[0] > u[1]:
            raise ValueError(f"A range of `{name}` is (low, high) inside {kind}, but got {values!r}.")
        if not dimension.cells:
            return Axis.between(float(u[0]), float(u[1]))
        # With the weights that they have in the whole range: on a logarithmic scale these differ.
        between = Condition(name, None, float(u[0]) - _ROUNDING, float(u[1]) + _ROUNDING)
        return Axis.of(dimension, every_value=True).where(dimension, between).normalised()
    listed = list(values) if isinstance(values, (list, tuple, set, frozenset)) else [values]
    u, inside = dimension.encode(listed)
    if not listed or not inside.all():
        choices = f"the choices {list(kind.choices)!r}" if isinstance(kind, CategoricalDistribution) else str(kind)
        raise ValueError(f"`conditional_on` asks for `{name}` = {values!r}, but it has {choices}.")
    return Axis.at(*u.tolist())


def _condition(space: Space, names: Sequence[str], conditions: Mapping[str, Any]) -> str:
    """The part of the space that the average covers, in words; empty if all of it."""
    words = [f"{name} = {value!r}" for name, value in conditions.items()]
    for name in names:
        child = name
        while child in space.conditions:
            rule = space.conditions[child]
            if rule.parent not in names and rule.parent not in conditions:
                words.append(condition_text(space, rule))
            child = rule.parent
    return " and ".join(words)
