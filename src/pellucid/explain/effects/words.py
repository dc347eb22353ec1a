"""Partial dependence in sentences: what it shows, and reasons to doubt it.

Every number comes rounded to the digits that the band leaves meaningful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.explain.text import value_text, with_error
from pellucid.numerics import Array, Integers, Mask, low_discrepancy
from pellucid.study.arrays import Arrays
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.averages.effects import Band

# Points at which the model's uncertainty over the whole space is averaged.
_N_COVER = 256
# The share of the trials' variance that the model may leave unexplained before the space counts as unexplored.
_UNEXPLORED = 0.2
# How many times the model's own sd the jackknife may reach before a curve counts as driven by few trials.
_FEW_TRIALS = 4.0
# Trials per parameter below which effects are called provisional.
_TRIALS_PER_PARAMETER = 15
# Gaps that a note names.
_MOST_GAPS = 4


@dataclass(frozen=True)
class Curve:
    """A partial dependence on its grid, in the unit of the objective.

    names       of the parameters;  values  per parameter, its value at every grid point
    mean, low, high, trusted   (G,), see `PartialDependence`;  best  index of the best trusted point, if any
    """

    names: Sequence[str]
    values: Sequence[Sequence[Any]]
    mean: Array
    low: Array
    high: Array
    trusted: Mask
    best: int | None

    @property
    def subject(self) -> str:
        return " and ".join(f"`{name}`" for name in self.names)

    def point(self, i: int) -> str:
        """The values of the parameters at a grid point."""
        return " and ".join(value_text(column[i]) for column in self.values)

    def objective(self, i: int) -> str:
        """The mean at a grid point with its half-width."""
        return with_error(float(self.mean[i]), float(0.5 * (self.high[i] - self.low[i])))


def effect_sentence(curve: Curve, *, level: float, n_trials: int, condition: str, typical: bool, constant: bool) -> str:
    """What the parameter does, or that this is not known.

    `condition`: the part of the space that the average covers, in words; `typical`: curves show typical values;
    `constant`: all trials returned the same value.
    """
    where = f" (where {condition})" if condition else ""
    if constant:
        return f"All {n_trials} trials returned the same value, so the effect of {curve.subject}{where} is not known."
    if curve.best is None:
        return (
            f"{n_trials} trials do not show what {curve.subject} does{where}: everywhere the {100 * level:g}% band is "
            "as wide as the range of the values that the trials returned."
        )
    inside = np.flatnonzero(curve.trusted)
    average = "typical" if typical else "average"
    if float(curve.low[inside].max()) <= float(curve.high[inside].min()):
        largest = float(curve.high[inside].max() - curve.low[inside].min())
        known = "" if len(inside) == len(curve.mean) else " where enough is known"
        return (
            f"{n_trials} trials cannot show an effect of {curve.subject}{where}: a constant {average} value fits "
            f"inside the {100 * level:g}% band. Any effect is probably below {largest:.2g}{known}."
        )
    worst = int(inside[np.argmax(np.abs(curve.mean[inside] - curve.mean[curve.best]))])
    return (
        f"{curve.subject} {'matters' if len(curve.names) == 1 else 'matter'}{where}: the {average} objective is "
        f"{curve.objective(curve.best)} at {curve.point(curve.best)}, the best value, and {curve.objective(worst)} at "
        f"{curve.point(worst)} ({100 * level:g}% band, {n_trials} trials)."
    )


def unexplored(gp: GaussianProcess, anywhere: Array) -> list[str]:
    """A note if the model is unsure about most of the space: `anywhere` are encoded rows spread all over it."""
    unexplained = float(np.mean(gp.latent(anywhere)[1] ** 2)) / max(float(np.var(gp.data.z)), 1e-300)
    if unexplained <= _UNEXPLORED:
        return []
    share = f"{100 * min(unexplained, 9.99):.0f}%"
    return [f"The model is unsure about most of the space: its variance is {share} of that of the trials' values."]


def effect_notes(
    data: Arrays,
    gp: GaussianProcess,
    columns: Sequence[int],
    curve: Curve,
    support: Integers,
    band: Band,
) -> list[str]:
    """Reasons to doubt a partial dependence. `support`: trials near each grid point; `band`: on the latent scale."""
    notes = []
    n, d = data.X.shape
    if len(columns) == 1:
        notes += _gaps(data, columns[0], curve, support == 0)
    elif (support == 0).any():
        notes.append(f"No trial is near {100 * np.mean(support == 0):.0f}% of the pairs of values shown.")
    if n < _TRIALS_PER_PARAMETER * d:
        enough = _TRIALS_PER_PARAMETER * d
        notes.append(f"Provisional: {n} trials for {d} parameters ({enough} would be better).")
    notes += unexplored(gp, data.space.canonical(low_discrepancy(0, _N_COVER, np.full(d, 0.5))))
    raw_sd = np.maximum(band.raw_sd, 1e-300)
    few = np.flatnonzero(band.jackknife_sd > _FEW_TRIALS * raw_sd)
    if len(few):
        most = int(few[np.argmax(band.jackknife_sd[few] / raw_sd[few])])
        settings = zip(curve.names, curve.values, strict=True)
        place = " and ".join(f"{name} = {value_text(values[most])}" for name, values in settings)
        notes.append(f"Around {place} the curve depends on few trials.")
    return notes


def _gaps(data: Arrays, column: int, curve: Curve, empty: Mask) -> list[str]:
    """A note on the values that no trial came near."""
    if not empty.any():
        return []
    (name,), (values,) = curve.names, curve.values
    dimension = data.space.dimensions[column]
    if dimension.categorical:
        untried = ", ".join(value_text(value) for value, none in zip(values, empty, strict=True) if none)
        return [f"No trial had `{name}` = {untried}: the value shown there is a guess."]
    edges = np.flatnonzero(np.diff(np.r_[False, empty, False]))
    gaps = []
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        low, high = value_text(values[first]), value_text(values[after - 1])
        if first == 0 and after == len(values):
            gaps.append("anywhere")
        elif after == first + 1:
            gaps.append(f"= {low}")
        elif first == 0:
            gaps.append(f"up to {high}")
        elif after == len(values):
            gaps.append(f"from {low} up")
        else:
            gaps.append(f"between {low} and {high}")
    shown = " or ".join(gaps[:_MOST_GAPS]) + (" and elsewhere" if len(gaps) > _MOST_GAPS else "")
    return [f"No trial is near `{name}` {shown}: the curve there is a guess."]
