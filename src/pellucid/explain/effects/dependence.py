"""Partial dependence of a study: what a parameter does to the objective on average, and how far to believe it.

Works on studies of any sampler: a surrogate is fitted to the finished trials, and exact averages of it follow (see
`surrogates.effects`). Inside, numbers are latent and encoded; what leaves is in the user's units and direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from scipy.special import ndtri

from pellucid.acquisition.information import effect_grid
from pellucid.explain.effects.words import alarms_of, condition_text, verdict_of
from pellucid.explain.model import Explanation, explanation_model
from pellucid.numerics import Array, one_thread
from pellucid.records import IndividualCurve, PartialDependence
from pellucid.study import study_io
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.encoding import Condition, Dimension, Space
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.averages.averages import Axis
from pellucid.surrogates.averages.effects import Effects
from pellucid.surrogates.averages.functionals import average

_FEWEST = 3
_MOST_TRIALS = 1500
_BEST_KEPT = 300
_LINE, _SIDE = 40, 15
_N_INDIVIDUAL = 12
_WINDOW = 0.05
_FEW_CELLS = 12
_ROUNDING = 1e-9


def partial_dependence(
    study: Study,
    params: str | Sequence[str],
    level: float = 0.95,
    trial: int | None = None,
    conditional_on: Mapping[str, Any] | None = None,
    *,
    surrogate: GaussianProcess | None = None,
) -> PartialDependence:
    """The average effect of one parameter, or of two together, with a calibrated band.

    Args:
        study: any study with one objective, whatever sampler ran it.
        params: a name, or two names for the joint effect.
        level: of the band.
        trial: show the curve through this trial's configuration, with a band of its own, instead of a dozen without.
        conditional_on: average only over configurations with these values of other parameters: a value, a list of
            values (which weigh the same), or a (low, high) range of a number. A conditional parameter is always
            averaged over the configurations in which it exists.
        surrogate: kernel and warp of the model; default `GaussianProcess(warp="auto")`.
    """
    study_io.require_single_objective(study, "partial_dependence")
    names = (params,) if isinstance(params, str) else tuple(params)
    if not 1 <= len(set(names)) == len(names) <= 2:
        raise ValueError(f"Partial dependence is of one parameter or of two different ones, but got {params!r}.")
    if trial is not None and len(names) == 2:
        raise ValueError("A curve through one trial is along one parameter: leave `trial` out for two.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must be between 0 and 1, but got {level}.")
    with one_thread:
        given = dict(conditional_on or {})
        return _effect(_fitted(study, (*names, *given), surrogate), names, level, trial, given)


def effects_of(study: Study, wanted: Sequence[tuple[str, ...]], level: float = 0.95) -> Iterator[PartialDependence]:
    """Several partial dependences from one fit of the model."""
    study_io.require_single_objective(study, "effects_of")
    with one_thread:
        fitted = _fitted(study, [name for names in wanted for name in names], None)
    for names in wanted:
        with one_thread:
            yield _effect(fitted, names, level, None, {})


@dataclass(frozen=True)
class _Fitted:
    """The trials of a study, the model of them, and what is to be said about either."""

    data: Arrays
    explained: Explanation
    notes: tuple[str, ...]
    loss_sign: float


def _fitted(study: Study, names: Sequence[str], surrogate: GaussianProcess | None) -> _Fitted:
    loss_sign = study_io.sign(study)
    data, notes = _data(study, names, loss_sign)
    return _Fitted(data, explanation_model(data, surrogate), tuple(notes), loss_sign)


def _effect(
    fitted: _Fitted, names: tuple[str, ...], level: float, trial: int | None, given: dict[str, Any]
) -> PartialDependence:
    data, explained, loss_sign = fitted.data, fitted.explained, fitted.loss_sign
    space = data.space
    axes = {space.index[name]: _axis(space.dimensions[space.index[name]], wanted) for name, wanted in given.items()}
    held = [name for name in names if name in given]
    if held:
        raise ValueError(f"`conditional_on` is about other parameters than the explained one, but has {held[0]!r}.")
    columns = [space.index[name] for name in names]
    grid = effect_grid(space, columns, _LINE if len(names) == 1 else _SIDE)
    gp = explained.gp
    band = Effects(gp, [average(gp, columns, grid, space, axes)]).band
    z = float(ndtri(0.5 + 0.5 * level))

    def in_user_units(latent: Array) -> Array:
        return loss_sign * gp.losses(latent)

    low, high = np.sort([in_user_units(band.mean - z * band.sd), in_user_units(band.mean + z * band.sd)], axis=0)
    raw = np.abs(in_user_units(band.mean + band.raw_sd) - in_user_units(band.mean - band.raw_sd)) / 2.0
    mean = in_user_units(band.mean)
    # Where the band is as wide as what the trials themselves have returned, the curve says nothing that they do not.
    quantiles = np.quantile(data.losses, [0.05, 0.95])
    trusted = high - low < max(float(quantiles[1] - quantiles[0]), 1e-300)
    support = _support(data, columns, grid)
    values = tuple(tuple(space.dimensions[j].decode(grid[:, i])) for i, j in enumerate(columns))
    believable = np.flatnonzero(trusted)
    best = int(believable[np.argmin(loss_sign * mean[believable])]) if len(believable) else None
    condition = _condition(space, names, given)
    return PartialDependence(
        params=names,
        values=values,
        mean=_floats(mean),
        low=_floats(low),
        high=_floats(high),
        raw_sd=_floats(raw),
        level=level,
        support=tuple(int(v) for v in support),
        trusted=tuple(bool(v) for v in trusted),
        axes=tuple(_axis_kind(space.dimensions[j]) for j in columns),
        trial_numbers=data.observations.numbers,
        trial_values=tuple(tuple(c.get(name) for c in data.observations.configurations) for name in names),
        trial_objectives=_floats(loss_sign * data.losses),
        individual=_individual(data, gp, columns[0], grid[:, 0], z, loss_sign, trial) if len(names) == 1 else (),
        typical=explained.typical,
        direction="maximize" if loss_sign < 0 else "minimize",
        verdict=verdict_of(names, values, mean, low, high, trusted, best, level, len(data.losses), condition,
                           explained.typical, bool(np.ptp(data.losses) == 0.0)),
        condition=condition,
        alarms=(*alarms_of(data, gp, columns, names, values, support, band), *fitted.notes),
        best=best,
    )  # fmt: skip


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


# ---------------------------------------------------------------------- trials


def _data(study: Study, names: Sequence[str], loss_sign: float) -> tuple[Arrays, list[str]]:
    """The finished trials, encoded, and notes on those that had to be left out."""
    found = study_io.trials(study)
    seen = study_io.observations(found, loss_sign)
    known = {name: dist for name, (dist, _) in study_io.distributions(found).items()}
    if len(seen) < _FEWEST:
        raise ValueError(
            f"Partial dependence needs at least {_FEWEST} finished trials with a value; this study has {len(seen)}."
        )
    for name in names:
        if name not in known:
            close = get_close_matches(str(name), known, n=1)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            raise ValueError(f"The study has no parameter `{name}`; it has {', '.join(f'`{k}`' for k in known)}.{hint}")
        if known[name].single():
            raise ValueError(f"`{name}` can take one value only ({known[name]}), so it has no effect to show.")
    data = arrays({name: dist for name, dist in known.items() if not dist.single()}, seen)
    notes = []
    if len(data.losses) < _FEWEST:
        raise ValueError(
            f"Partial dependence needs at least {_FEWEST} finished trials inside the present ranges; this study has "
            f"{len(data.losses)} of {len(seen)} there."
        )
    if len(data.losses) < len(seen):
        left = len(seen) - len(data.losses)
        notes.append(f"{left} of {len(seen)} trials lie outside the present ranges and are left out.")
    if len(data.losses) > _MOST_TRIALS:
        notes.append(f"The model saw {_MOST_TRIALS} of {len(data.losses)} trials: the best ones and an even selection.")
        data = _thinned(data)
    return data, notes


def _thinned(data: Arrays) -> Arrays:
    """The best trials, and the others evenly over time."""
    order = np.argsort(data.losses, kind="stable")
    rest = np.sort(order[_BEST_KEPT:])
    even = rest[np.linspace(0, len(rest) - 1, _MOST_TRIALS - _BEST_KEPT).round().astype(int)]
    keep = np.sort(np.concatenate([order[:_BEST_KEPT], even]))
    return Arrays(data.space, data.observations.select(keep.tolist()), data.X[keep])


def _support(data: Arrays, columns: Sequence[int], grid: Array) -> npt.NDArray[np.int64]:
    """How many trials are near each grid point: the same value where there are few, within a twentieth of the axis
    where there are many; trials in which a parameter does not exist are near none of its values."""
    near = np.ones((len(grid), len(data.X)), dtype=bool)
    for i, j in enumerate(columns):
        dimension = data.space.dimensions[j]
        window = 1e-9 if dimension.nominal or 0 < dimension.cells <= _FEW_CELLS else _WINDOW
        near &= np.abs(grid[:, i][:, None] - data.X[:, j]) <= window * len(columns)
        near &= np.array([dimension.name in c for c in data.observations.configurations])
    return np.asarray(near.sum(axis=1))


def _individual(
    data: Arrays, gp: GaussianProcess, column: int, grid: Array, z: float, loss_sign: float, trial: int | None
) -> tuple[IndividualCurve, ...]:
    """Curves through trials: one with a band where a trial is named, otherwise a dozen from the best to the worst."""
    numbers = data.observations.numbers
    name = data.space.names[column]
    has = [i for i, c in enumerate(data.observations.configurations) if name in c]
    if trial is not None:
        rows = [i for i in has if numbers[i] == trial]
        if not rows:
            raise ValueError(
                f"Trial {trial} is not among the {len(has)} finished trials with `{name}` that the model saw."
            )
    elif not has:
        return ()
    else:
        order = sorted(has, key=lambda i: float(data.losses[i]))
        rows = [order[k] for k in np.unique(np.linspace(0, len(order) - 1, _N_INDIVIDUAL).round().astype(int))]
    out = []
    for i in rows:
        X = np.repeat(data.X[i : i + 1], len(grid), axis=0)
        X[:, column] = grid
        mean, sd = gp.latent(data.space.canonical(X))
        ends = np.sort([loss_sign * gp.losses(mean - z * sd), loss_sign * gp.losses(mean + z * sd)], axis=0)
        band = (_floats(ends[0]), _floats(ends[1])) if trial is not None else ((), ())
        out.append(IndividualCurve(numbers[i], _floats(loss_sign * gp.losses(mean)), *band))
    return tuple(out)


# ---------------------------------------------------------------------- parameters


def _axis_kind(dimension: Dimension) -> str:
    if isinstance(dimension.distribution, CategoricalDistribution):
        return "category"
    assert isinstance(dimension.distribution, (FloatDistribution, IntDistribution))
    return "log" if dimension.distribution.log else "linear"


def _axis(dimension: Dimension, wanted: Any) -> Axis:
    """The distribution that stands for a value, a list of values, or a (low, high) range."""
    name, kind = dimension.name, dimension.distribution
    numeric = not isinstance(kind, CategoricalDistribution)
    if numeric and isinstance(wanted, tuple) and len(wanted) == 2:
        u, inside = dimension.encode(list(wanted))
        if not inside.all() or u[0] > u[1]:
            raise ValueError(f"A range of `{name}` is (low, high) inside {kind}, but got {wanted!r}.")
        if not dimension.cells:
            return Axis.between(float(u[0]), float(u[1]))
        # Values as likely as they are in the whole range: on a logarithmic scale they are not all the same.
        between = Condition(name, None, float(u[0]) - _ROUNDING, float(u[1]) + _ROUNDING)
        return Axis.of(dimension, every_value=True).where(dimension, between).normalised()
    listed = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
    u, inside = dimension.encode(listed)
    if not listed or not inside.all():
        choices = f"the choices {list(kind.choices)!r}" if isinstance(kind, CategoricalDistribution) else str(kind)
        raise ValueError(f"`conditional_on` asks for `{name}` = {wanted!r}, but it has {choices}.")
    return Axis.at(*u.tolist())


def _condition(space: Space, names: Sequence[str], given: Mapping[str, Any]) -> str:
    """In words, over which part of the space the average is taken; empty when over all of it."""
    words = [f"{name} = {wanted!r}" for name, wanted in given.items()]
    for name in names:
        child = name
        while child in space.conditions:
            rule = space.conditions[child]
            if rule.parent not in names and rule.parent not in given:
                words.append(condition_text(space, rule))
            child = rule.parent
    return " and ".join(words)
