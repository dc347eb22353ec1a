"""A profile in sentences: which value is best, what others cost, and reasons for doubt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.answers.effects.records import Cost
from pellucid.answers.effects.trials import MATTERS, NO_EFFECT
from pellucid.answers.effects.words import gap_notes, provisional
from pellucid.beliefs.failing import always_fails, fails_with
from pellucid.beliefs.settings import FailingSetting
from pellucid.numerics import Array, Integers, Mask, low_discrepancy
from pellucid.space.encoding import Dimension, Space
from pellucid.study.arrays import Arrays
from pellucid.words import Note, counted, rounded, value_text

# Choices that a sentence names, and choices of other parameters that a note does.
_MOST_CHOICES, _MOST_UNTRIED = 6, 3
# A choice of another parameter that has had fewer trials than this is named.
_FEW = 5
# Configurations that are looked at for one that has two things.
_MEETINGS = 512


@dataclass(frozen=True)
class Profile:
    """A profile on its grid, in the unit of the objective.

    mean (G,), ends (2, G)   see `ProfileEffect`;  level  of the band;  support (G,)  trials near each value
    judged (G,)  whether a value has had enough trials;  best  index of the best value
    lost (G,)    how much worse every value is than the best, at least;  margin  a difference that is worth mentioning
    condition    the branch in which the parameter exists, in words; empty if it always does
    n_trials     of the study;  tried  those that have the parameter;  enough  whether they suffice to judge it
    needless     whether a model without the parameter explains the trials better
    """

    name: str
    values: Sequence[Any]
    mean: Array
    ends: Array
    level: float
    support: Integers
    judged: Mask
    best: int
    lost: Array
    margin: float
    condition: str
    n_trials: int
    tried: int
    enough: bool
    needless: bool

    def reached(self, i: int) -> str:
        """ "0.965 (95% band 0.963 to 0.983)" """
        return f"{self.mean_text(i)} ({self.level:.0%} band {self.band_text(i)})"

    def setting(self, value: Any) -> str:
        return f"`{self.name}` = {value_text(value)}"

    def mean_text(self, i: int) -> str:
        return rounded(float(self.mean[i]), self._half(i))

    def band_text(self, i: int) -> str:
        """The ends of the band at a value: the mean is seldom half-way between them."""
        return f"{rounded(float(self.ends[0, i]), self._half(i))} to {rounded(float(self.ends[1, i]), self._half(i))}"

    def _half(self, i: int) -> float:
        return float(0.5 * (self.ends[1, i] - self.ends[0, i]))


def profile_sentence(profile: Profile, dimension: Dimension, verdict: str, costs: Sequence[Cost]) -> str:
    """The finding for a reader in a hurry. `costs`: as of `costs_of`."""
    where = f" (where {profile.condition})" if profile.condition else ""
    subject = f"`{profile.name}`{where}"
    if profile.margin <= 0.0:
        return f"All {profile.n_trials} trials returned about the same value, so the best {subject} is not known."
    if dimension.categorical:
        return _choices(profile, subject, verdict)
    best, reached = value_text(profile.values[profile.best]), profile.reached(profile.best)
    if verdict == MATTERS:
        lost = _lost(profile, costs) or "it is not clear which other values are worse"
        return f"The best value of {subject} is about {best}, which reaches {reached}; {lost}."
    if verdict == NO_EFFECT:
        within = float(np.ptp(profile.ends))
        return (
            f"{subject} hardly changes what can be reached: with the best other settings, every value comes within "
            f"{within:.2g} of the best ({profile.level:.0%} band, {profile.n_trials} trials)."
        )
    return f"It is not clear which value of {subject} is best: {best} reaches {reached}, {_doubt(profile)}."


def _doubt(profile: Profile) -> str:
    """Why no value is known to be worse than another."""
    if not profile.enough:
        return f"but the parameter has had only {counted(profile.tried, 'trial')}"
    if profile.needless:
        return f"but the {profile.n_trials} trials are explained as well without it"
    differences = np.abs(profile.mean - profile.mean[profile.best])
    worst = int(np.argmax(differences))
    if differences[worst] > profile.margin and profile.support[worst] == 0:
        return f"but no trial is near {value_text(profile.values[worst])}, which looks worst"
    low, high = profile.ends[:, worst]
    if differences[worst] > profile.margin and low <= profile.mean[profile.best] <= high:
        looks = f"but even the value that looks worst, by {differences[worst]:.2g}, may reach as much"
        return f"{looks} ({profile.level:.0%} band {profile.band_text(worst)})"
    return "but other values may reach as much"


def costs_of(profile: Profile, dimension: Dimension, verdict: str) -> tuple[Cost, ...]:
    """What values of a number below and above the best one cost.

    Only values that trials came near are named. `pellucid bench truth` has the share of these bounds that are wrong.
    """
    if verdict != MATTERS or dimension.categorical or profile.margin <= 0.0:
        return ()
    costs, tried = [], profile.support > 0
    for side in (slice(None, profile.best), slice(None, profile.best, -1)):
        values, near = profile.values[side], tried[side]
        if not near.any():
            continue
        # All values from the end on cost at least this much; the widest stretch with a high cost is named.
        at_least = np.minimum.accumulate(profile.lost[side])
        last = int(np.argmax(np.where(near, at_least, 0.0) * np.arange(1, len(values) + 1)))
        if near[last] and at_least[last] > profile.margin:
            low, high = sorted((values[0], values[last]))
            costs.append(Cost(low, high, _floor(at_least[last])))
    if not costs:
        worst = int(np.argmax(np.where(tried, profile.lost, -np.inf)))
        if tried[worst] and profile.lost[worst] > profile.margin:
            value = profile.values[worst]
            costs.append(Cost(value, value, _floor(profile.lost[worst])))
    return tuple(costs)


def _lost(profile: Profile, costs: Sequence[Cost]) -> str:
    """ "expect values up to 0.0001 to be at least 0.02 worse"; empty if no cost is known."""
    parts = []
    for cost in costs:
        if cost.low == cost.high:
            named = profile.setting(cost.low)
        elif cost.low == profile.values[0]:
            named = f"values up to {value_text(cost.high)}"
        else:
            named = f"values from {value_text(cost.low)} up"
        parts.append(f"{named} to be at least {cost.at_least:.2g} worse")
    return f"expect {' and '.join(parts)}" if parts else ""


def _floor(bound: float) -> float:
    """A positive lower bound to two digits, not rounded up."""
    unit = 10.0 ** (math.floor(math.log10(bound)) - 1)
    return float(f"{math.floor(bound / unit * (1.0 + 1e-12)) * unit if unit > 0.0 else bound:.2g}")


def _choices(profile: Profile, subject: str, verdict: str) -> str:
    """What every choice reaches, and with how many trials: the best first."""
    order = sorted(range(len(profile.values)), key=lambda i: (abs(profile.mean[i] - profile.mean[profile.best]), i))
    parts = []
    for rank, i in enumerate(order[:_MOST_CHOICES]):
        count = int(profile.support[i])
        trials = counted(count, "trial") if rank == 0 else str(count)
        enough = profile.judged[i] and (verdict == MATTERS or count >= _FEW)
        few = "" if enough else ", too few to judge"
        verb, band = ("reaches ", f"{profile.level:.0%} band ") if rank == 0 else ("", "")
        reached = f"{verb}{profile.mean_text(i)} ({band}{profile.band_text(i)}; {trials}{few})"
        parts.append(f"{value_text(profile.values[i])} {reached}")
    left = len(order) - _MOST_CHOICES
    listed = ", ".join(parts) + (f" and {left} more" if left > 0 else "")
    if verdict == MATTERS:
        return f"{subject}: {listed}."
    if verdict == NO_EFFECT:
        return f"{subject} hardly changes what can be reached: {listed}."
    why = f": the {profile.n_trials} trials are explained as well without it" if profile.needless else ""
    return f"{subject}: {listed}; no choice is clearly better{why}."


def profile_notes(data: Arrays, column: int, profile: Profile, failing: Sequence[FailingSetting] = ()) -> list[str]:
    """Reasons to doubt a profile: values and branches that few trials have seen. `failing`: settings that fail."""
    dimension = data.space.dimensions[column]
    notes = gap_notes(data, column, profile.values, profile.support == 0)
    if not dimension.categorical and profile.support[profile.best] == 0:
        notes.append(Note("No trial is near the best value: try it before you use it.", "evidence"))
    return [*notes, *_untried(data, column, failing), *provisional(data)]


def _untried(data: Arrays, column: int, failing: Sequence[FailingSetting]) -> list[str]:
    """A note on choices of other parameters that few trials have had: what they can reach is mostly a guess."""
    rare = _rare(data, column)
    lost = [setting for name, value, _ in rare if (setting := always_fails(failing, name, value)) is not None]
    notes: list[str] = [
        Note(f"What can be reached with {s.words} is not known: {s.outcome}.", "failures") for s in lost[:_MOST_UNTRIED]
    ]
    rare = [entry for entry in rare if always_fails(failing, *entry[:2]) is None]
    if not rare:
        return notes
    more = " and others" if len(rare) > _MOST_UNTRIED else ""
    listed = ", ".join(f"`{name}` = {value_text(value)} ({count})" for name, value, count in rare[:_MOST_UNTRIED])
    few = f"Too few trials to know what can be reached with {listed}{more}: run more of them"
    return [*notes, Note(f"{few}{_but(rare, failing)}.", "evidence")]


def _rare(data: Arrays, column: int) -> list[tuple[str, Any, int]]:
    """Choices of other parameters that few trials have had: name, value and number of trials. Choices that never meet
    the parameter say nothing about it."""
    rare = []
    for j, dimension in enumerate(data.space.dimensions):
        if j == column or not dimension.categorical or dimension.cells > len(data.losses) / _FEW:
            continue
        values = [c[dimension.name] for c in data.observations.configurations if dimension.name in c]
        codes = dimension.code(dimension.encode(values)[0]) if values else np.empty(0, dtype=np.int64)
        counts = np.bincount(codes, minlength=dimension.cells)
        names = dimension.decode(dimension.midpoint(np.arange(dimension.cells)))
        few = [k for k in np.flatnonzero(counts < _FEW).tolist() if _meet(data.space, column, j, k)]
        rare += [(dimension.name, names[k], int(counts[k])) for k in few]
    return rare


def _meet(space: Space, column: int, other: int, code: int) -> bool:
    """Whether a configuration can have both a parameter and a choice of another one: whether one of many does."""
    if not space.conditions:
        return True
    points = low_discrepancy(1, _MEETINGS, np.zeros(len(space)))
    points[:, other] = space.dimensions[other].midpoint(np.array([code]))
    active = space.active(points)
    return bool((active[:, column] & active[:, other]).any())


def _but(rare: Sequence[tuple[str, Any, int]], failing: Sequence[FailingSetting]) -> str:
    """What not to combine rare choices with: ", but not with `solver` = lbfgs (all 14 such trials failed)"."""
    found = [entry for name, value, _ in rare for entry in fails_with(failing, name, value)]
    if not found:
        return ""
    if len(rare) == 1:
        return ", but not " + ", nor ".join(f"with {other} ({setting.outcome})" for other, setting in found)
    return ", but not " + ", nor ".join(dict.fromkeys(f"{setting.words} ({setting.outcome})" for _, setting in found))
