"""What a study shall be looked at for: being among the best, among the worst, below a value, or failing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pellucid.numerics import Array

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Goal:
    """A set of outcomes to reach.

    words     complete "what matters for ..."
    reached   from values (n,) in the user's unit (NaN where there is none), which trials failed (n,), and the sign that
              turns values into losses: which trials reach the goal (n,)
    failures  whether failed trials count too: as trials that reach the goal, or that do not
    wanted    whether one would rather reach it than not
    share     of the trials, where the goal is one
    """

    words: str
    reached: Callable[[Array, Mask, float], Mask]
    failures: bool = False
    wanted: bool = True
    share: float | None = None


def as_goal(goal: Goal | Callable[[float], bool] | None) -> Goal:
    """A goal, from whatever stands for one: nothing is the best tenth, a function of the objective a predicate."""
    if goal is None:
        return best()
    if isinstance(goal, Goal):
        return goal
    if callable(goal):
        return such_that(goal)
    raise ValueError(f"`goal` is made by best, worst, below, above or failed, or is a predicate, but got {goal!r}.")


def best(share: float = 0.1) -> Goal:
    """The best `share` of the trials, in the study's direction."""
    words = f"being among the best {100 * _share(share):g} %"
    return Goal(words, lambda values, _, sign: _lowest(sign * values, share), share=share)


def worst(share: float = 0.1) -> Goal:
    """The worst `share` of the trials."""
    words = f"being among the worst {100 * _share(share):g} %"
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
    """Trials that failed: an exception, or no number."""
    return Goal("failing", lambda _, failures, __: failures, failures=True, wanted=False)


def such_that(predicate: Callable[[float], bool], words: str = "reaching the goal") -> Goal:
    """Trials whose objective satisfies a predicate."""
    if not callable(predicate):
        raise ValueError(f"A predicate is a function of the objective's value, but got {predicate!r}.")
    return Goal(words, lambda values, _, __: np.array([bool(predicate(float(v))) for v in values], dtype=bool))


def _share(share: float) -> float:
    if not 0.0 < share < 1.0:
        raise ValueError(f"A share of the trials is between 0 and 1, but got {share}.")
    return share


def _lowest(losses: Array, share: float) -> Mask:
    """The share, and whatever is as good as the last of it."""
    if len(losses) == 0:
        return np.zeros(0, dtype=bool)
    last = np.sort(losses)[math.ceil(share * len(losses)) - 1]
    inside = losses <= last
    # Where everything is as good as the last of it, those that are better.
    return np.asarray(losses < last if inside.all() else inside)
