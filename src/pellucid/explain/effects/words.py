"""What a partial dependence says, and what speaks against believing it, in sentences.

Nothing is computed that is not in the arrays already; every number comes rounded to what the band allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from optuna.distributions import FloatDistribution, IntDistribution

from pellucid.numerics import Array, low_discrepancy
from pellucid.study.arrays import Arrays
from pellucid.study.encoding import Condition, Space
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.averages.effects import Band

_N_COVER = 256
_UNEXPLORED = 0.2
_FEW_TRIALS = 4.0
_PROVISIONAL = 15
_MOST_STRETCHES = 4
Mask = npt.NDArray[np.bool_]


def value_text(value: Any) -> str:
    """Numbers short, words as they are; words that look like a number or a constant in quotes."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return repr(value) if isinstance(value, str) and _looks_like_something_else(value) else str(value)


def _looks_like_something_else(text: str) -> bool:
    if text in ("None", "True", "False"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def condition_text(space: Space, rule: Condition) -> str:
    """When a conditional parameter exists: "opt is sgd or rms", "depth is between 2 and 5"."""
    parent = space.dimensions[space.index[rule.parent]]
    if rule.codes is not None:
        allowed = [value_text(parent.decode(parent.midpoint(np.array([code])))[0]) for code in rule.codes]
        return f"{rule.parent} is {' or '.join(allowed)}"
    low, high = parent.decode(np.array([rule.low, rule.high]))
    return f"{rule.parent} is between {value_text(low)} and {value_text(high)}"


def with_error(value: float, half: float) -> str:
    """A value to the digits that its half-width leaves standing."""
    if not (math.isfinite(half) and half > 0.0):
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(half)))
    if digits > 6 or abs(value) >= 1e6:
        return f"{value:.4g} ± {half:.2g}"
    return f"{value:.{digits}f} ± {half:.{digits}f}"


def verdict_of(
    names: Sequence[str],
    values: Sequence[Sequence[Any]],
    mean: Array,
    low: Array,
    high: Array,
    trusted: Mask,
    best: int | None,
    level: float,
    n_trials: int,
    condition: str,
    typical: bool,
    constant: bool,
) -> str:
    """One sentence: what the parameter does, or that nobody can tell."""
    what = " and ".join(f"`{name}`" for name in names)
    where = f" (where {condition})" if condition else ""
    average = "typical" if typical else "average"
    if constant:
        return f"All {n_trials} trials have returned the same value, so nothing can be told about {what}{where}."
    if best is None:
        return (
            f"What {what} does{where} cannot be told from {n_trials} trials: everywhere the {100 * level:g} % band is "
            "as wide as the range of what the trials have returned."
        )
    inside = np.flatnonzero(trusted)
    worst = int(inside[np.argmax(np.abs(mean[inside] - mean[best]))])
    half = 0.5 * (high - low)

    def at(i: int) -> str:
        return " and ".join(value_text(column[i]) for column in values)

    if float(low[inside].max()) <= float(high[inside].min()):
        most = float(high[inside].max() - low[inside].min())
        near = "" if len(inside) == len(mean) else " where it is narrow enough to say anything"
        return (
            f"No effect of {what}{where} can be told from {n_trials} trials: a constant {average} value fits inside "
            f"the {100 * level:g} % band, which leaves room for differences of up to {most:.2g}{near}."
        )
    verb = "matters" if len(names) == 1 else "matter"
    return (
        f"{what} {verb}{where}: the {average} objective is {with_error(float(mean[best]), float(half[best]))} at "
        f"{at(best)}, the best value, and {with_error(float(mean[worst]), float(half[worst]))} at {at(worst)} "
        f"({100 * level:g} % band, {n_trials} trials)."
    )


def unexplored(gp: GaussianProcess, anywhere: Array) -> list[str]:
    """A sentence where the model knows little of the space: its variance at rows all over it, against the trials'."""
    unexplained = float(np.mean(gp.latent(anywhere)[1] ** 2)) / max(float(np.var(gp.data.z)), 1e-300)
    if unexplained <= _UNEXPLORED:
        return []
    return [
        "Much of the space is unexplored: on average over the space the model's variance is "
        f"{100 * min(unexplained, 9.99):.0f} % of that of the values the trials returned."
    ]


def alarms_of(
    data: Arrays,
    gp: GaussianProcess,
    columns: Sequence[int],
    names: Sequence[str],
    values: Sequence[Sequence[Any]],
    support: npt.NDArray[np.int64],
    band: Band,
) -> list[str]:
    """Reasons for doubt."""
    out = []
    n, d = data.X.shape
    if len(columns) == 1:
        out += _unvisited(data, columns[0], names[0], values[0], support)
    elif (support == 0).any():
        out.append(f"No trial is near {100 * np.mean(support == 0):.0f} % of the pairs of values shown.")
    if n < _PROVISIONAL * d:
        out.append(f"Provisional: {n} trials for {d} parameters ({_PROVISIONAL * d} would be better).")
    anywhere = data.space.canonical(low_discrepancy(0, _N_COVER, np.full(d, 0.5)))
    out += unexplored(gp, anywhere)
    few = np.flatnonzero(band.jackknife_sd > _FEW_TRIALS * np.maximum(band.raw_sd, 1e-300))
    if len(few):
        most = int(few[np.argmax(band.jackknife_sd[few] / np.maximum(band.raw_sd[few], 1e-300))])
        place = " and ".join(f"{name} = {value_text(v[most])}" for name, v in zip(names, values, strict=True))
        out.append(f"Around {place} the curve is driven by few trials.")
    return out


def _unvisited(
    data: Arrays, column: int, name: str, values: Sequence[Any], support: npt.NDArray[np.int64]
) -> list[str]:
    """Values that no trial has come near, in the parameter's own units."""
    empty = support == 0
    if not empty.any():
        return []
    dimension = data.space.dimensions[column]
    if dimension.nominal or not isinstance(dimension.distribution, (FloatDistribution, IntDistribution)):
        missing = ", ".join(value_text(v) for v, none in zip(values, empty, strict=True) if none)
        return [f"No trial has had `{name}` = {missing}: what is shown there is a guess."]
    edges = np.flatnonzero(np.diff(np.r_[False, empty, False]))
    stretches = []
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        low, high = value_text(values[first]), value_text(values[after - 1])
        if first == 0 and after == len(values):
            stretches.append("anywhere")
        elif after == first + 1:
            stretches.append(f"= {low}")
        elif first == 0:
            stretches.append(f"up to {high}")
        elif after == len(values):
            stretches.append(f"from {low} on")
        else:
            stretches.append(f"between {low} and {high}")
    shown = " or ".join(stretches[:_MOST_STRETCHES]) + (" and elsewhere" if len(stretches) > _MOST_STRETCHES else "")
    return [f"No trial is near `{name}` {shown}: what is shown there is a guess."]
