"""Partial dependence: what a parameter does to the objective on average, and how certain that is.

Works on studies of any sampler: a surrogate is fitted to the finished trials, and exact averages of it follow (see
`models.averages.effects`). Inside, numbers are latent and encoded; results are in the user's unit and direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study
from scipy.special import ndtri

from pellucid.answers.effects.records import IndividualCurve, PartialDependence
from pellucid.answers.effects.trials import (
    CANNOT_TELL,
    MATTERS,
    NO_EFFECT,
    condition_of,
    effect_data,
    models_of,
    names_of,
    support_of,
)
from pellucid.answers.effects.words import Curve, effect_notes, effect_sentence
from pellucid.beliefs import Beliefs, Model
from pellucid.beliefs.explored import all_over, unexplored
from pellucid.beliefs.of_study import opened
from pellucid.claims import AVERAGE_MATTERS, AVERAGE_NO_EFFECT
from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Axis
from pellucid.models.averages.functionals import average
from pellucid.models.averages.mixture import Mixture, contrasts, mixture
from pellucid.models.gp import check_template
from pellucid.numerics import Array, check_level
from pellucid.space.encoding import Condition, Dimension
from pellucid.space.grids import effect_grid
from pellucid.space.text import value_range
from pellucid.study.targets import Target
from pellucid.threads import cached_property
from pellucid.words import printable

# Exact averages cost the square of the trials: beyond this many, the best ones and an even selection are used.
_MOST_TRIALS = 1500
# Grid points of a curve, and per side of a map.
_LINE, _SIDE = 40, 15
# Curves through single trials: a figure with more is crowded.
_N_INDIVIDUAL = 12
# A range is widened by this much, so that rounding does not exclude a value at its end.
_ROUNDING = 1e-9


def partial_dependence(
    study: Study,
    params: str | Sequence[str],
    *,
    objective: str | int | None = None,
    level: float = 0.95,
    trial: int | None = None,
    conditional_on: Mapping[str, Any] | None = None,
    surrogate: GaussianProcess | None = None,
) -> PartialDependence:
    """The average effect of one parameter, or of two together, with a calibrated band.

    Args:
        study: any study, whichever sampler ran it.
        params: a name, or two names for the joint effect.
        objective: the name or number of one of several objectives, or the name of a constraint, for an answer about
            that; default: the study's only objective.
        level: of the band.
        trial: show the curve through this trial's configuration, with its own band, instead of a dozen without.
        conditional_on: average only over configurations with these values of other parameters: a value, a list of
            values (with equal weights), or a (low, high) range of a number. A conditional parameter is always averaged
            over the configurations in which it exists.
        surrogate: kernel and warp of the model; default `GaussianProcess(warp="auto")`.
    """
    names = names_of(params, 2, "Partial dependence is of one parameter or of two different ones")
    if trial is not None and len(names) == 2:
        raise ValueError("`trial` needs a single parameter, but got two: leave `trial` out.")
    check_level(level)
    check_template(surrogate)
    if conditional_on is not None and not isinstance(conditional_on, Mapping):
        raise ValueError(
            f"`conditional_on` gives values of other parameters, such as {{'depth': 3}}, but got {conditional_on!r}."
        )
    conditions = dict(conditional_on or {})
    with opened(study, "partial_dependence", objective) as (beliefs, target):
        return _effect(_fitted(beliefs, target, (*names, *conditions), surrogate), names, level, trial, conditions)


def effects_of(
    beliefs: Beliefs, target: Target, subjects: Sequence[tuple[str, ...]], level: float = 0.95
) -> tuple[PartialDependence, ...]:
    """Several partial dependences of one model. `subjects`: the parameters of each."""
    fitted = _fitted(beliefs, target, [name for names in subjects for name in names], None)
    return tuple(_effect(fitted, names, level, None, {}) for names in subjects)


@dataclass(frozen=True)
class _Fitted:
    """The model of a study's trials. `typical`: see `Fits.effect_model`.

    notes       on trials that were left out
    positions   of the parameters in the study's order
    """

    model: Model
    typical: bool
    notes: tuple[str, ...]
    positions: Mapping[str, int]

    @cached_property
    def unsure(self) -> list[str]:
        """A note if the model is unsure about most of the space."""
        return unexplored(self.model.gp, all_over(self.model.data.space))

    @cached_property
    def spread(self) -> float:
        """How far apart the model's means all over the space are, on the latent scale."""
        means = self.model.gp.latent_mean(all_over(self.model.data.space))
        return float(np.subtract(*np.quantile(means, [0.95, 0.05])))

    def in_user_units(self, latent: Array) -> Array:
        return self.model.target.sign * self.model.gp.losses(latent)


def _fitted(beliefs: Beliefs, target: Target, names: Sequence[str], surrogate: GaussianProcess | None) -> _Fitted:
    data, notes = effect_data(beliefs, target, names, "This answer", _MOST_TRIALS)
    return _Fitted(*beliefs.fits(target).effect_model(data, surrogate), tuple(notes), beliefs.view.positions)


def _effect(
    fitted: _Fitted, names: tuple[str, ...], level: float, trial: int | None, conditions: dict[str, Any]
) -> PartialDependence:
    data, gp, target = fitted.model.data, fitted.model.gp, fitted.model.target
    space = data.space
    axes = {space.index[name]: _axis(space.dimensions[space.index[name]], value) for name, value in conditions.items()}
    for name in names:
        if name in conditions:
            raise ValueError(f"`conditional_on` must name other parameters than `params`, but both have {name!r}.")
    columns = [space.index[name] for name in names]
    grid = effect_grid(space, columns, _LINE if len(names) == 1 else _SIDE)
    band = mixture(gp, models_of(fitted.model), average(gp, columns, grid, space, axes))
    z = float(ndtri(0.5 + 0.5 * level))
    constant = bool(np.ptp(data.losses) == 0.0)
    curve = _curve(fitted, names, columns, grid, band, z)
    support = support_of(data, columns, grid)
    verdict = _verdict(fitted, band, z, constant=constant)
    raw = np.abs(fitted.in_user_units(band.mean + band.raw_sd) - fitted.in_user_units(band.mean - band.raw_sd)) / 2.0
    condition = condition_of(space, names, conditions)
    return PartialDependence(
        params=names,
        values=tuple(tuple(values) for values in curve.values),
        mean=_floats(curve.mean),
        low=_floats(curve.low),
        high=_floats(curve.high),
        raw_sd=_floats(raw),
        level=level,
        support=tuple(int(count) for count in support),
        axes=tuple(space.dimensions[j].scale for j in columns),
        trial_numbers=data.observations.numbers,
        trial_values=tuple(tuple(c.get(name) for c in data.observations.configurations) for name in names),
        trial_objectives=_floats(target.sign * data.losses),
        individual=_individual(fitted, columns[0], grid[:, 0], z, trial) if len(names) == 1 else (),
        typical=fitted.typical,
        direction=target.direction,
        sentence=effect_sentence(
            curve,
            verdict,
            level=level,
            n_trials=len(data.losses),
            condition=condition,
            typical=fitted.typical,
            spread=float(np.ptp(data.losses)),
            unsure=bool(fitted.unsure),
            objective=target.name,
        ),
        condition=condition,
        notes=(*effect_notes(data, columns, curve, support, band, fitted.unsure), *fitted.notes),
        best=curve.best,
        verdict=verdict,
        objective=target.name,
        position=fitted.positions[names[0]],
        pair=curve.pair if verdict == MATTERS else None,
        difference=_difference(curve) if verdict == MATTERS else None,
    )


def _difference(curve: Curve) -> tuple[float, float] | None:
    better, worse = curve.pair
    return None if curve.difference is None else (float(abs(curve.mean[worse] - curve.mean[better])), curve.difference)


def _curve(
    fitted: _Fitted, names: tuple[str, ...], columns: Sequence[int], grid: Array, band: Mixture, z: float
) -> Curve:
    """The band in the unit of the objective, with its best point and another one that clearly differs from it."""
    ends = [fitted.in_user_units(band.mean - z * band.sd), fitted.in_user_units(band.mean + z * band.sd)]
    low, high = np.sort(ends, axis=0)
    values = [fitted.model.data.space.dimensions[j].decode(grid[:, i]) for i, j in enumerate(columns)]
    differences, sd = contrasts(band.mean, band.covariance)
    best = int(np.argmin(band.mean))
    gaps = np.where(differences[:, best] >= AVERAGE_MATTERS.threshold * sd[:, best], differences[:, best], -np.inf)
    worse, better = int(np.argmax(gaps)), best
    if not np.isfinite(gaps[worse]):  # The best value is not well known, but others differ.
        worse, better = (int(i) for i in np.unravel_index(np.argmax(differences / sd), sd.shape))
    mean, largest = fitted.in_user_units(band.mean), float(np.max(high) - np.min(low))
    difference = None
    if not fitted.typical and differences[worse, better] > 0.0:
        unit = float(np.abs(mean[worse] - mean[better])) / float(differences[worse, better])
        difference = z * float(sd[worse, better]) * unit
    cells = [fitted.model.data.space.dimensions[j].cells for j in columns]
    every = all(0 < count == len(np.unique(grid[:, i])) for i, count in enumerate(cells))
    clear = bool((np.delete(gaps, best) > -np.inf).all())
    rank = "about the best" if not every else "the best" if clear else "looks best"
    return Curve(names, values, mean, low, high, best, (better, worse), difference, f"{rank} on average", largest)


def _verdict(fitted: _Fitted, band: Mixture, z: float, *, constant: bool) -> str:
    """Whether the average differs between values: by contrasts of all pairs of them."""
    if constant:
        return CANNOT_TELL
    differences, sd = contrasts(band.mean, band.covariance)
    if float((differences / sd).max()) >= AVERAGE_MATTERS.threshold:
        return MATTERS
    widest = float((band.mean + z * band.sd).max() - (band.mean - z * band.sd).min())
    return NO_EFFECT if widest < AVERAGE_NO_EFFECT.threshold * fitted.spread else CANNOT_TELL


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def _individual(fitted: _Fitted, column: int, grid: Array, z: float, trial: int | None) -> tuple[IndividualCurve, ...]:
    """Curves through trials: one with a band if a trial is named, otherwise a dozen from the best to the worst."""
    data, gp = fitted.model.data, fitted.model.gp
    numbers = data.observations.numbers
    name = data.space.names[column]
    having = [i for i, configuration in enumerate(data.observations.configurations) if name in configuration]
    if trial is not None:
        rows = [i for i in having if numbers[i] == trial]
        if not rows:
            raise ValueError(
                printable(
                    f"Trial {trial} is not among the {len(having)} finished trials with `{name}` that the model uses."
                )
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
        X = data.space.canonical(X)
        if trial is None:
            curves.append(IndividualCurve(numbers[i], _floats(fitted.in_user_units(gp.latent_mean(X))), (), ()))
            continue
        mean, sd = gp.latent(X)
        ends = np.sort([fitted.in_user_units(mean - z * sd), fitted.in_user_units(mean + z * sd)], axis=0)
        curves.append(IndividualCurve(numbers[i], _floats(fitted.in_user_units(mean)), *map(_floats, ends)))
    return tuple(curves)


# ---------------------------------------------------------------------- parameters


def _axis(dimension: Dimension, values: Any) -> Axis:
    """The distribution of a parameter. `values`: a single value, a list of values, or a (low, high) range."""
    name = dimension.name
    if not dimension.categorical and isinstance(values, tuple) and len(values) == 2:
        u, inside = dimension.encode(list(values))
        if not inside.all():
            raise ValueError(
                printable(
                    f"`conditional_on` asks for `{name}` from {values[0]!r} to {values[1]!r}, but "
                    f"{value_range(dimension)}."
                )
            )
        if u[0] > u[1]:
            raise ValueError(
                printable(
                    f"A range in `conditional_on` is (low, high), but got {values!r} for `{name}`: the lower end is "
                    "first."
                )
            )
        if not dimension.cells:
            return Axis.between(float(u[0]), float(u[1]))
        # With the weights that they have in the whole range: on a logarithmic scale these differ.
        between = Condition(name, None, float(u[0]) - _ROUNDING, float(u[1]) + _ROUNDING)
        return Axis.of(dimension, every_value=True).where(dimension, between).normalised()
    listed = list(values) if isinstance(values, (list, tuple, set, frozenset)) else [values]
    u, inside = dimension.encode(listed)
    if not listed or not inside.all():
        raise ValueError(printable(f"`conditional_on` asks for `{name}` = {values!r}, but {value_range(dimension)}."))
    return Axis.at(*u.tolist())
