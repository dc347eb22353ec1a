"""Goals of a study: trials among the best or worst, below or above a value, on the front, failed, or by a predicate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pellucid.numerics import Array, Mask
from pellucid.words import OBJECTIVE, number_text, printable

Sign = float | Array
Reached = Callable[[Array, Mask, Sign], Mask]
_DEFAULT_SHARE = 0.1
# Trials that are compared with all others at once: they bound the memory.
_AT_ONCE = 256


@dataclass(frozen=True)
class Goal:
    """A set of outcomes.

    words     completes "what matters for ..."
    reached   which trials reach the goal (n,), from their values (n,) in the user's unit (NaN without a value or if the
              trial was not feasible), which of them failed (n,), and the sign that turns values into losses
    failures  whether failed trials are included in the analysis
    wanted    whether reaching the goal is desirable
    share     of the trials that reach the goal, if the goal is defined by a share
    joint     whether the goal is about all objectives: `reached` then takes values (n, k) and signs (k,)
    place     where trials are that reach the goal: "among the best 10%"; empty if there is no such word
    bounds    what the goal asks of an objective whose name it does not know: "below 3"; empty if it is another goal
    """

    words: str
    reached: Reached
    failures: bool = False
    wanted: bool = True
    share: float | None = None
    joint: bool = False
    place: str = ""
    bounds: str = ""

    def __repr__(self) -> str:
        return printable(f"<Goal: {self.words}>")

    def about(self, objective: str) -> Goal:
        """With the name of the objective in its words, if it has one and if they speak of it."""
        if self.joint or self.failures or objective == OBJECTIVE:
            return self
        if self.bounds:
            return replace(self, words=f"{objective} {self.bounds}")
        if self.share is None:
            return self
        place = f"{self.place} in {objective}" if self.place else ""
        return replace(self, words=f"{self.words} in {objective}", place=place)

    @property
    def fewer(self) -> str:
        """What fewer trials are where the goal is out of reach: completes "fewer trials are ..." """
        return self.place or f"good for {self.words}"


def as_goal(goal: Goal | Callable[[float], bool] | None, *, joint: bool = False) -> Goal:
    """The goal itself, or trials that satisfy a predicate of the objective. None: the best tenth, or if it is `joint`,
    the tenth nearest to the front."""
    if goal is None:
        return on_the_front(_DEFAULT_SHARE) if joint else best(_DEFAULT_SHARE)
    if isinstance(goal, Goal):
        return goal
    if callable(goal):
        return such_that(goal)
    raise ValueError(
        "`goal` must be a goal of `pellucid.goals` (best, worst, below, above, on_the_front or failed) or a predicate, "
        f"but got {goal!r}."
    )


def best(share: float = 0.1) -> Goal:
    """The best `share` of the trials, in the study's direction."""
    place = f"among the best {100 * _share(share):g}%"
    return Goal(f"being {place}", lambda values, _, sign: _lowest(sign * values, share), share=share, place=place)


def worst(share: float = 0.1) -> Goal:
    """The worst `share` of the trials."""
    place = f"among the worst {100 * _share(share):g}%"
    reached: Reached = lambda values, _, sign: _lowest(-sign * values, share)  # noqa: E731
    return Goal(f"being {place}", reached, wanted=False, share=share, place=place)


def on_the_front(share: float | None = None) -> Goal:
    """Trials on the front of all objectives: no other trial is as good in every objective and better in one.

    Few trials are on a front, often too few to compare them with the rest. With a `share`, the goal is reached by this
    share of the trials: those that the fewest others dominate, so that the front itself comes first. With one
    objective, the front is the best trial, and `on_the_front(0.1)` the same as `best(0.1)`.
    """
    if share is None:
        front: Reached = lambda values, _, signs: _n_better(values * signs) == 0  # noqa: E731
        return Goal("being on the front", front, joint=True, place="on the front")
    place = f"among the {100 * _share(share):g}% nearest to the front"
    near: Reached = lambda values, _, signs: _lowest(_n_better(values * signs), share)  # noqa: E731
    return Goal(f"being {place}", near, share=share, joint=True, place=place)


def below(value: float) -> Goal:
    """An objective below `value`, in the user's unit."""
    limit = float(value)
    bounds = f"below {number_text(limit, 'g')}"
    return Goal(f"an objective {bounds}", lambda values, _, __: values < limit, bounds=bounds)


def above(value: float) -> Goal:
    """An objective above `value`, in the user's unit."""
    limit = float(value)
    bounds = f"above {number_text(limit, 'g')}"
    return Goal(f"an objective {bounds}", lambda values, _, __: values > limit, bounds=bounds)


def failed() -> Goal:
    """Trials that failed: they raised an exception or returned no number."""
    return Goal("failing", lambda _, failures, __: failures, failures=True, wanted=False)


def such_that(predicate: Callable[[float], bool], words: str = "reaching the goal") -> Goal:
    """Trials whose objective satisfies a predicate."""
    if not callable(predicate):
        raise ValueError(f"`predicate` must be a function of the objective's value, but got {predicate!r}.")

    def reached(values: Array, _: Mask, __: Sign) -> Mask:
        return np.array([not math.isnan(value) and bool(predicate(value)) for value in values.tolist()], dtype=bool)

    return Goal(words, reached)


def _share(share: float) -> float:
    if not 0.0 < share < 1.0:
        raise ValueError(printable(f"`share` must be between 0 and 1, but got {share}."))
    return share


def _lowest(losses: Array, share: float) -> Mask:
    """The lowest `share` of the losses, with ties; NaN is never among them."""
    losses = np.where(np.isnan(losses), np.inf, losses)
    if len(losses) == 0:
        return np.zeros(0, dtype=bool)
    last = np.sort(losses)[math.ceil(share * len(losses)) - 1]
    inside = losses <= last
    # If all losses would be included, only those below the tie are.
    return np.asarray(losses < last if inside.all() else inside)


def _n_better(losses: Array) -> Array:
    """How many rows (n,) dominate each row of losses (n, k); infinitely many if a value is NaN."""
    out = np.full(len(losses), np.inf)
    known = np.flatnonzero(~np.isnan(losses).any(axis=1))
    rows = losses[known]
    for first in range(0, len(rows), _AT_ONCE):
        part = rows[first : first + _AT_ONCE]
        as_good = np.logical_and.reduce([column <= own[:, None] for column, own in zip(rows.T, part.T, strict=True)])
        better = np.logical_or.reduce([column < own[:, None] for column, own in zip(rows.T, part.T, strict=True)])
        out[known[first : first + _AT_ONCE]] = (as_good & better).sum(axis=1)
    return out
