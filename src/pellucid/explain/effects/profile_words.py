"""A profile in sentences: which value is best, what others cost, and reasons for doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.explain.effects.trials import MATTERS, NO_EFFECT
from pellucid.explain.effects.words import gap_notes, provisional
from pellucid.explain.text import counted, value_text, with_error
from pellucid.numerics import Array, Integers, Mask
from pellucid.study.arrays import Arrays
from pellucid.study.encoding import Dimension

# Choices that a sentence names, and choices of other parameters that a note does.
_MOST_CHOICES, _MOST_UNTRIED = 6, 3
# A choice of another parameter that has had fewer trials than this is named.
_FEW = 5


@dataclass(frozen=True)
class Profile:
    """A profile on its grid, in the unit of the objective.

    mean (G,), ends (2, G)   see `ProfileEffect`;  support (G,)  trials near each value
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
        """The mean at a value with the half-width of its band."""
        return with_error(float(self.mean[i]), float(0.5 * (self.ends[1, i] - self.ends[0, i])))


def profile_sentence(profile: Profile, dimension: Dimension, verdict: str, *, level: float) -> str:
    """The finding for a reader in a hurry."""
    where = f" (where {profile.condition})" if profile.condition else ""
    subject = f"`{profile.name}`{where}"
    if profile.margin <= 0.0:
        return f"All {profile.n_trials} trials returned about the same value, so the best {subject} is not known."
    if dimension.categorical:
        return _choices(profile, subject, verdict)
    best, reached = value_text(profile.values[profile.best]), profile.reached(profile.best)
    if verdict == MATTERS:
        lost = _lost(profile)
        return f"The best {subject} is about {best}, which reaches {reached}{f'; {lost}' if lost else ''}."
    if verdict == NO_EFFECT:
        within = float(np.ptp(profile.ends))
        return (
            f"{subject} hardly changes what can be reached: with the best other settings, every value comes within "
            f"{within:.2g} of the best ({100 * level:g}% band, {profile.n_trials} trials)."
        )
    return f"It is not clear which {subject} is best: {best} reaches {reached}, but {_doubt(profile)}."


def _doubt(profile: Profile) -> str:
    """Why no value is known to be worse than another."""
    if not profile.enough:
        return f"it has had only {counted(profile.tried, 'trial')}"
    if profile.needless:
        return f"the {profile.n_trials} trials are explained as well without it"
    differences = np.abs(profile.mean - profile.mean[profile.best])
    worst = int(np.argmax(differences))
    if differences[worst] > profile.margin and profile.support[worst] == 0:
        return f"no trial is near {value_text(profile.values[worst])}, which looks worst"
    if differences[worst] < profile.ends[1, worst] - profile.ends[0, worst]:
        half = 0.5 * (profile.ends[1, worst] - profile.ends[0, worst])
        return f"the other values look at most {differences[worst]:.2g} worse, where the band is ± {half:.2g}"
    return "other values may reach as much"


def _lost(profile: Profile) -> str:
    """What values below and above the best one cost: "values up to 0.0001 are at least 0.02 worse"."""
    parts = []
    for values, costs, words in (
        (profile.values[: profile.best], profile.lost[: profile.best], "values up to {}"),
        (profile.values[: profile.best : -1], profile.lost[: profile.best : -1], "values from {} up"),
    ):
        if len(values) == 0:
            continue
        # All values from the end on cost at least this much; the widest stretch with a high cost is named.
        at_least = np.minimum.accumulate(costs)
        last = int(np.argmax(at_least * np.arange(1, len(values) + 1)))
        if at_least[last] > profile.margin:
            parts.append(f"{words.format(value_text(values[last]))} are at least {at_least[last]:.2g} worse")
    if not parts:
        worst = int(np.argmax(profile.lost))
        if profile.lost[worst] > profile.margin:
            parts.append(f"{value_text(profile.values[worst])} is at least {profile.lost[worst]:.2g} worse")
    return " and ".join(parts)


def _choices(profile: Profile, subject: str, verdict: str) -> str:
    """What every choice reaches, and with how many trials: the best first."""
    order = sorted(range(len(profile.values)), key=lambda i: (abs(profile.mean[i] - profile.mean[profile.best]), i))
    parts = []
    for rank, i in enumerate(order[:_MOST_CHOICES]):
        count = int(profile.support[i])
        trials = counted(count, "trial") if rank == 0 else str(count)
        few = "" if profile.judged[i] else ", too few to judge"
        verb = "reaches " if rank == 0 else ""
        parts.append(f"{value_text(profile.values[i])} {verb}{profile.reached(i)} ({trials}{few})")
    left = len(order) - _MOST_CHOICES
    listed = ", ".join(parts) + (f" and {left} more" if left > 0 else "")
    if verdict == MATTERS:
        return f"{subject}: {listed}."
    if verdict == NO_EFFECT:
        return f"{subject} hardly changes what can be reached: {listed}."
    why = f": the {profile.n_trials} trials are explained as well without it" if profile.needless else ""
    return f"{subject}: {listed}; no choice is clearly better{why}."


def profile_notes(data: Arrays, column: int, profile: Profile) -> list[str]:
    """Reasons to doubt a profile: values and branches that few trials have seen."""
    dimension = data.space.dimensions[column]
    notes = gap_notes(dimension, profile.values, profile.support == 0)
    if not dimension.categorical and profile.support[profile.best] == 0:
        notes.append("No trial is near the best value: try it before you use it.")
    return [*notes, *_untried(data, column), *provisional(data)]


def _untried(data: Arrays, column: int) -> list[str]:
    """A note on choices of other parameters that few trials have had: what they can reach is mostly a guess."""
    rare = []
    for j, dimension in enumerate(data.space.dimensions):
        if j == column or not dimension.categorical or dimension.cells > len(data.losses) / _FEW:
            continue
        values = [c[dimension.name] for c in data.observations.configurations if dimension.name in c]
        codes = dimension.code(dimension.encode(values)[0]) if values else np.empty(0, dtype=np.int64)
        counts = np.bincount(codes, minlength=dimension.cells)
        names = dimension.decode(dimension.midpoint(np.arange(dimension.cells)))
        rare += [f"`{dimension.name}` = {value_text(names[k])} ({counts[k]})" for k in np.flatnonzero(counts < _FEW)]
    if not rare:
        return []
    more = " and others" if len(rare) > _MOST_UNTRIED else ""
    return [
        f"Too few trials to know what can be reached with {', '.join(rare[:_MOST_UNTRIED])}{more}: run more of them."
    ]
