"""What a user wants of a compromise: a weight for every objective, or limits on some of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from pellucid.numerics import Array, is_whole_number
from pellucid.study.targets import named
from pellucid.study.view import StudyView
from pellucid.words import printable

_LIMIT = re.compile(r"\s*(<=|>=)\s*([^\s<>=]+)\s*")


@dataclass(frozen=True)
class Limit:
    """A limit on the objective with this index: `loss` is the largest that keeps it. `text`: as "<= 20"."""

    index: int
    loss: float
    text: str


def weights_of(view: StudyView, prefer: Any) -> Array:
    """(k,), adding up to 1. Raises ValueError if they are no weights of all objectives."""
    rule = f"`prefer` takes a weight for every objective ({named(view.objectives)})"
    if not isinstance(prefer, Mapping):
        raise ValueError(printable(f"{rule}, as a dict such as {_example(view)}, but got {prefer!r}."))
    weights: Array = np.full(len(view.objectives), math.nan)
    for key, weight in prefer.items():
        index = _index(view, key, "prefer")
        number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not number or not 0.0 <= weight < math.inf:
            raise ValueError(printable(f"{rule}: a number of at least 0, but got {weight!r} for {key!r}."))
        weights[index] = float(weight)
    missing = [view.objectives[i] for i in np.flatnonzero(np.isnan(weights))]
    if missing:
        raise ValueError(
            printable(f"{rule}, but has none for {named(missing)}. Pass 0 for an objective that does not count.")
        )
    if not weights.sum() > 0.0:
        raise ValueError(printable(f"{rule}, at least one of them above 0, but got {dict(prefer)!r}."))
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())


def limits_of(view: StudyView, limits: Any) -> tuple[Limit, ...]:
    """Raises ValueError if they are no limits on objectives of the study."""
    if not isinstance(limits, Mapping) or not limits:
        raise ValueError(f'`limits` takes limits by objective, as {{"latency": "<= 20"}}, but got {limits!r}.')
    return tuple(_limit(view, key, text) for key, text in limits.items())


def _limit(view: StudyView, key: Any, text: Any) -> Limit:
    index = _index(view, key, "limits")
    objective = view.objectives[index]
    wanted = "<=" if objective.direction == "minimize" else ">="
    match = _LIMIT.fullmatch(text) if isinstance(text, str) else None
    try:
        number = float(match.group(2)) if match else math.nan
    except ValueError:
        number = math.nan
    if match is None or not math.isfinite(number):
        raise ValueError(
            printable(
                f'A limit is a text such as "{wanted} 20": {wanted} and a finite number, but got {text!r} for {key!r}.'
            )
        )
    if match.group(1) != wanted:
        raise ValueError(
            printable(
                f"{objective.name} is {objective.direction}d, so its limit begins with {wanted}, but got {text!r}. "
                f'Pass "{wanted} {match.group(2)}" if that is what you mean.'
            )
        )
    return Limit(index, objective.sign * number, f"{wanted} {match.group(2)}")


def _index(view: StudyView, key: Any, argument: str) -> int:
    names = [objective.name for objective in view.objectives]
    if isinstance(key, str) and key in names:
        return names.index(key)
    if is_whole_number(key) and 0 <= key < len(names):
        return int(key)
    if key in {constraint.name for constraint in view.constraints}:
        raise ValueError(
            printable(
                f"`{argument}` is about objectives ({named(view.objectives)}), but {key!r} is a constraint, which has "
                "a limit of its own, 0. Pass `feasible`, the chance that constraints are kept."
            )
        )
    raise ValueError(
        printable(
            f"`{argument}` is about objectives of the study ({named(view.objectives)}), but got {key!r}. Names are "
            "those of `study.set_metric_names`."
        )
    )


def _example(view: StudyView) -> str:
    return repr({objective.name: 1 for objective in view.objectives})
