"""Partial dependence in sentences: what it shows, and reasons to doubt it.

Every number comes rounded to the digits that the band leaves meaningful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.answers.effects.trials import MATTERS, NO_EFFECT, support_of
from pellucid.models.averages.mixture import Mixture
from pellucid.numerics import Array, Integers, Mask
from pellucid.space.grids import axis_grid
from pellucid.study.arrays import Arrays
from pellucid.words import Note, about, called, spoken, value_text, with_error

# How many times the model's own sd the jackknife may reach before a curve counts as driven by few trials.
_FEW_TRIALS = 4.0
# Trials per parameter below which effects are called provisional.
_TRIALS_PER_PARAMETER = 15
# Gaps, and choices, that a note names.
_MOST_GAPS, _MOST_UNTRIED = 4, 6
# Values of a number at which gaps are looked for.
_N_GAPS = 41


@dataclass(frozen=True)
class Curve:
    """A partial dependence on its grid, in the unit of the objective.

    names       of the parameters;  values  per parameter, its value at every grid point
    mean, low, high   (G,), see `PartialDependence`
    best              index of the best point;  largest  possible effect
    pair              two points that clearly differ, the better one first: the best one if that is clear
    difference        the half-width of the band of their difference; None if the model has a bent scale
    rank              what is known of the best point: "the best on average"
    """

    names: Sequence[str]
    values: Sequence[Sequence[Any]]
    mean: Array
    low: Array
    high: Array
    best: int
    pair: tuple[int, int]
    difference: float | None
    rank: str
    largest: float

    @property
    def subject(self) -> str:
        return " and ".join(f"`{name}`" for name in self.names)

    def point(self, i: int) -> str:
        """The values of the parameters at a grid point."""
        return " and ".join(value_text(column[i]) for column in self.values)

    def settings(self, i: int) -> str:
        """The parameters with their values at a grid point."""
        columns = zip(self.names, self.values, strict=True)
        return " and ".join(f"`{name}` = {value_text(column[i])}" for name, column in columns)

    def objective(self, i: int) -> str:
        """The mean at a grid point with its half-width."""
        return with_error(float(self.mean[i]), float(0.5 * (self.high[i] - self.low[i])))

    def apart(self) -> str:
        """ ", which is 0.05 ± 0.04 less": how far the second point of the pair is off, even if the bands overlap."""
        if self.difference is None:
            return ""
        gap = float(self.mean[self.pair[1]] - self.mean[self.pair[0]])
        return f", which is {with_error(abs(gap), self.difference)} {'less' if gap < 0.0 else 'more'}"


def effect_sentence(
    curve: Curve,
    verdict: str,
    *,
    level: float,
    n_trials: int,
    condition: str,
    typical: bool,
    spread: float,
    unsure: bool,
    objective: str,
) -> str:
    """What the parameter does on average, or that this is not known.

    `condition`: the part of the space that the average covers, in words; `typical`: curves show typical values;
    `spread`: between the best and the worst trial; `unsure`: about most of the space; `objective`: its name.
    """
    where = f" (where {condition})" if condition else ""
    if spread == 0.0:
        unknown = f"so the effect of {curve.subject}{where} is not known"
        return about(objective, f"All {n_trials} trials returned the same value, {unknown}.")
    if verdict == MATTERS:
        better, worse = curve.pair
        best = f" ({curve.rank})" if better == curve.best else ""
        averages = "is typically" if typical else "averages"
        supposed = ", if untried settings are like the others" if unsure else ""
        return (
            f"With {curve.settings(better)}{best}, {called(objective)} {averages} {curve.objective(better)} over all "
            f"other settings{where}; with {curve.point(worse)}, {curve.objective(worse)}{curve.apart()} "
            f"({100 * level:g}% band, {n_trials} trials{supposed})."
        )
    if verdict == NO_EFFECT:
        have = "has" if len(curve.names) == 1 else "have"
        return about(
            objective,
            f"{curve.subject} {have} almost no effect on average over all other settings{where}: less than "
            f"{curve.largest:.2g} ({100 * level:g}% band, {n_trials} trials).",
        )
    one = len(curve.names) == 1
    which = f"value of {curve.subject} is" if one else f"values of {curve.subject} are"
    # A band wider than the trials' own differences says nothing, and its width could be mistaken for a finding.
    bound = (
        f"any difference is probably below {curve.largest:.2g}"
        if curve.largest < spread
        else f"{'its' if one else 'their'} values could differ as much as the best and the worst trial"
    )
    return about(
        objective,
        f"{n_trials} trials can't show which {which} better on average over all other settings{where}; {bound}.",
    )


def effect_notes(
    data: Arrays,
    columns: Sequence[int],
    curve: Curve,
    support: Integers,
    band: Mixture,
    unsure: Sequence[str],
) -> list[str]:
    """Reasons to doubt a partial dependence. `support`: trials near each grid point; `band`: on the latent scale;
    `unsure`: the notes of `unexplored` on its model."""
    notes: list[str] = []
    if len(columns) == 1:
        notes += gap_notes(data, columns[0], curve.values[0], support == 0)
    elif (support == 0).any():
        share = f"{100 * np.mean(support == 0):.0f}%"
        notes.append(Note(f"No value is known near {share} of the pairs shown: those are a guess.", "evidence"))
    notes += provisional(data)
    notes += unsure
    raw_sd = np.maximum(band.raw_sd, 1e-300)
    few = np.flatnonzero(band.jackknife_sd > _FEW_TRIALS * raw_sd)
    if len(few):
        most = int(few[np.argmax(band.jackknife_sd[few] / raw_sd[few])])
        few_decide = "a few trials decide the curve: more there would steady it"
        notes.append(Note(f"Around {curve.settings(most)}, {few_decide}.", "evidence"))
    return notes


def provisional(data: Arrays) -> list[str]:
    """A note if there are few trials for so many parameters."""
    n, d = data.X.shape
    enough = _TRIALS_PER_PARAMETER * d
    if n >= enough:
        return []
    text = f"Effects are provisional: {n} trials for {d} parameters; run {enough} before you rely on them."
    return [Note(text, "size")]


def gap_notes(data: Arrays, column: int, values: Sequence[Any], empty: Mask) -> list[str]:
    """Notes on the values that no trial came near, and on choices that a grid leaves out.

    values, empty (G,)   the choices of a grid, and which of them no trial has; a number is judged on a grid of its own,
                         so that all answers name the same gaps
    """
    dimension = data.space.dimensions[column]
    if not dimension.categorical:
        fine = axis_grid(data.space, column, _N_GAPS)
        values, empty = dimension.decode(fine), support_of(data, [column], fine[:, None]) == 0
    name = dimension.name
    left_out = dimension.categorical and len(values) < dimension.cells
    compared = f"Only {len(values)} of {dimension.cells} choices of `{name}` are compared."
    notes: list[str] = [Note(compared, "omission")] if left_out else []
    if not empty.any():
        return notes
    if dimension.categorical:
        untried = [value_text(value) for value, none in zip(values, empty, strict=True) if none]
        more = f" and {len(untried) - _MOST_UNTRIED} others" if len(untried) > _MOST_UNTRIED else ""
        listed = ", ".join(untried[:_MOST_UNTRIED])
        text = f"No trial had `{name}` = {listed}{more}: what is shown there is a guess."
        return [*notes, Note(text, "evidence")]
    edges = np.flatnonzero(np.diff(np.r_[False, empty, False]))
    gaps = []
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        low, high = value_text(values[first]), value_text(values[after - 1])
        if first == 0 and after == len(values):
            return [*notes, Note(f"No trial shows what `{name}` does: the curve is a guess.", "evidence")]
        gaps.append(low if after == first + 1 else f"{low} to {high}")
    shown = spoken(gaps[:_MOST_GAPS]) if len(gaps) <= _MOST_GAPS else f"{', '.join(gaps[:_MOST_GAPS])} and others"
    return [Note(f"No value is known near `{name}` = {shown}: the curve there is a guess.", "evidence")]
