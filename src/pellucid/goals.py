"""Goals of a study: trials among the best or worst, below or above a value, failed, or chosen by a predicate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.numerics import Array, Mask


@dataclass(frozen=True)
class Goal:
    """A set of outcomes.

    words     completes "what matters for ..."
    reached   which trials reach the goal (n,), from their values (n,) in the user's unit (NaN without a value or if the
              trial was not feasible), which of them failed (n,), and the sign that turns values into losses
    failures  whether failed trials are included in the analysis
    wanted    whether reaching the goal is desirable
    share     of the trials that reach the goal, if the goal is defined by a share
    """

    words: str
    reached: Callable[[Array, Mask, float], Mask]
    failures: bool = False
    wanted: bool = True
    share: float | None = None


def as_goal(goal: Goal | Callable[[float], bool] | None) -> Goal:
    """The goal itself, the best tenth for None, or trials that satisfy a predicate of the objective."""
    if goal is None:
        return best()
    if isinstance(goal, Goal):
        return goal
    if callable(goal):
        return such_that(goal)
    raise ValueError(
        "`goal` must be a goal of `pellucid.goals` (best, worst, below, above or failed) or a predicate, but got "
        f"{goal!r}."
    )


def best(share: float = 0.1) -> Goal:
    """The best `share` of the trials, in the study's direction."""
    words = f"being among the best {100 * _share(share):g}%"
    return Goal(words, lambda values, _, sign: _lowest(sign * values, share), share=share)


def worst(share: float = 0.1) -> Goal:
    """The worst `share` of the trials."""
    words = f"being among the worst {100 * _share(share):g}%"
    return Goal(words, lambda values, _, sign: _lowest(-sign * values, share), wanted=False, share=share)


def below(value: float) -> Goal:
    """An objective below `value`, in the user's unit."""
    limit = float(value)
    return Goal(f"an objective below {limit:g}", lambda values, _, __: values < limit)


def above(value: float) -> Goal:
    """An objective above `value`, in the user's unit."""
    limit = float(value)
    return Goal(f"an objective above {limit:g}", lambda values, _, __: values > limit)


def failed() -> Goal:
    """Trials that failed: they raised an exception or returned no number."""
    return Goal("failing", lambda _, failures, __: failures, failures=True, wanted=False)


def such_that(predicate: Callable[[float], bool], words: str = "reaching the goal") -> Goal:
    """Trials whose objective satisfies a predicate."""
    if not callable(predicate):
        raise ValueError(f"`predicate` must be a function of the objective's value, but got {predicate!r}.")

    def reached(values: Array, _: Mask, __: float) -> Mask:
        return np.array([not math.isnan(value) and bool(predicate(value)) for value in values.tolist()], dtype=bool)

    return Goal(words, reached)


def _share(share: float) -> float:
    if not 0.0 < share < 1.0:
        raise ValueError(f"`share` must be between 0 and 1, but got {share}.")
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
