"""Which ranges to change: the cheapest value that costs nothing, good values at a bound, choices that ruin trials."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from optuna.distributions import CategoricalDistribution
from optuna.study import Study
from scipy.special import bdtrc

from pellucid.explain.goals import Goal, best, worst
from pellucid.explain.hsic import MEDIAN, hsic_index, permutation_test
from pellucid.explain.importance import LEVEL, Sample, sample_of
from pellucid.explain.words import value_text
from pellucid.numerics import Array, one_thread
from pellucid.records import IntervalReduction, RangeAdvice
from pellucid.space import study_io
from pellucid.space.encoding import Dimension

Mask = npt.NDArray[np.bool_]
Cheap = Literal["low", "high"]
_N_CUTS = 12
_FEWEST_LEFT, _FEWEST_IN_GOAL = 20, 5
_EDGE = 0.1
_SURE = 0.01


def interval_reduction(
    study: Study,
    param: str,
    cheap: Cheap = "low",
    *,
    goal: Goal | None = None,
    n_permutations: int = 999,
    seed: int = 0,
) -> IntervalReduction:
    """The cheapest value of an ordered parameter that costs nothing: from the cheap end, values are left out until the
    parameter no longer matters for reaching the goal, or until the cheap end is as good as the rest.

    Args:
        study: with one objective; its random trials count, as for `hsic_importance`.
        param: an integer or float parameter.
        cheap: whether "low" or "high" values are the ones you would rather have.
        goal: default `pellucid.best(0.1)`.
    """
    study_io.require_single_objective(study, "interval_reduction")
    if cheap not in get_args(Cheap):
        raise ValueError(f"`cheap` is 'low' or 'high', but got {cheap!r}.")
    wanted = best() if goal is None else goal
    with one_thread:
        sample, notes, _ = sample_of(study, wanted)
        return _reduced(sample, _numeric(sample, param), cheap, wanted, n_permutations, seed, notes)


def _numeric(sample: Sample, param: str) -> int:
    if param not in sample.space.index:
        close = get_close_matches(str(param), sample.space.names, n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        names = ", ".join(f"`{name}`" for name in sample.space.names)
        raise ValueError(f"The study has no parameter `{param}` that varies; it has {names}.{hint}")
    column = sample.space.index[param]
    if isinstance(sample.space.dimensions[column].distribution, CategoricalDistribution):
        raise ValueError(f"`{param}` is a choice: there is no interval to reduce. `range_advice` says which to drop.")
    return column


def _reduced(
    sample: Sample, column: int, cheap: Cheap, goal: Goal, n_permutations: int, seed: int, notes: list[str]
) -> IntervalReduction:
    dimension = sample.space.dimensions[column]
    rows = sample.present[:, column]
    # Seen from the cheap end, whichever that is: 0 is the cheapest.
    u = sample.u[rows, column] if cheap == "low" else 1.0 - sample.u[rows, column]
    z = sample.in_goal[rows]
    steps = _cuts(dimension, cheap)
    table: list[tuple[float, ...]] = []
    value: float | None = None
    for first, after in pairwise(steps.tolist()):
        left = u >= first
        inside = z[left]
        if left.sum() < _FEWEST_LEFT or not _FEWEST_IN_GOAL <= inside.sum() < left.sum():
            break
        rescaled = np.clip((u[left] - first) / (1.0 - first), 0.0, 1.0)
        index, stderr = hsic_index(rescaled, inside, MEDIAN)
        p = permutation_test(rescaled, inside, MEDIAN, n_permutations, seed).p
        end = u[left] < after
        rate, base = float(inside[end].mean()) if end.any() else 0.0, float(inside.mean())
        table.append((_value(dimension, first, cheap), index, stderr, p, rate, base, float(left.sum())))
        if value is None and (p > LEVEL or rate >= base):
            value = table[-1][0]
    columns = list(zip(*table, strict=True)) if table else [()] * 7
    return IntervalReduction(
        param=dimension.name,
        cheap=cheap,
        goal=goal.words,
        cuts=columns[0],
        index=columns[1],
        stderr=columns[2],
        p=columns[3],
        rate=columns[4],
        base=columns[5],
        n=tuple(int(n) for n in columns[6]),
        value=value,
        verdict=_verdict(dimension.name, cheap, goal.words, table, value),
        notes=tuple(notes),
    )


def _cuts(dimension: Dimension, cheap: Cheap) -> Array:
    """Where cells begin, seen from the cheap end; a dozen even steps where there are more."""
    if 0 < dimension.cells <= _N_CUTS:
        low, high = dimension.cell(np.arange(dimension.cells))
        edges = np.append(low, high[-1])
        return edges if cheap == "low" else (1.0 - edges)[::-1]
    return np.linspace(0.0, 1.0, _N_CUTS + 1)


def _value(dimension: Dimension, cut: float, cheap: Cheap) -> float:
    """The cheapest value inside what is left."""
    inside = cut + 1e-9 if cheap == "low" else 1.0 - cut - 1e-9
    return float(dimension.decode(np.array([inside if dimension.cells else (cut if cheap == "low" else 1.0 - cut)]))[0])


def _verdict(name: str, cheap: Cheap, goal: str, table: Sequence[tuple[float, ...]], value: float | None) -> str:
    way = "lowest" if cheap == "low" else "highest"
    if not table:
        return f"What `{name}` costs cannot be told: too few trials reach the goal ({goal})."
    if value is None:
        return f"Every {cheap} value of `{name}` that can be judged costs something ({goal})."
    row = next(row for row in table if row[0] == value)
    rates = f"{100 * row[4]:.0f} % reach the goal there, {100 * row[5]:.0f} % of all that are left"
    why = f"p = {row[3]:.2g}" if row[3] > LEVEL else rates
    if value == table[0][0]:
        return f"`{name}` = {value_text(value)}, the {way} value, costs nothing that can be measured ({why}; {goal})."
    limit = "below" if cheap == "low" else "above"
    return (
        f"`{name}` = {value_text(value)} is the {way} value that costs nothing measurable ({why}); {limit} it, fewer "
        f"trials are {_reach(goal)}."
    )


def _reach(goal: str) -> str:
    return goal[len("being ") :] if goal.startswith("being ") else f"good for {goal}"


# ---------------------------------------------------------------------- advice


def range_advice(study: Study) -> list[RangeAdvice]:
    """What to change about the ranges of a study, surest first: widen where the best pile up at a bound, narrow where
    no good trial ever was, drop choices that fill the worst tenth and are missing among the best."""
    study_io.require_single_objective(study, "range_advice")
    with one_thread:
        top, _, _ = sample_of(study, best(), source="all")
        bottom, _, _ = sample_of(study, worst(), source="all")
    tests = 4 * len(top.space)
    out: list[RangeAdvice] = []
    for j, dimension in enumerate(top.space.dimensions):
        rows = top.present[:, j]
        u, good, bad = top.u[rows, j], top.in_goal[rows], bottom.in_goal[rows]
        if good.sum() < _FEWEST_IN_GOAL:
            continue
        if isinstance(dimension.distribution, CategoricalDistribution):
            out += _drops(dimension, u, good, bad, tests)
        else:
            out += [*_widen(dimension, u, good, tests), *_narrow(dimension, u, good, tests)]
    return sorted(out, key=lambda one: one.p)


def _more_than(hits: int, draws: int, share: float) -> float:
    """Chance of at least so many hits."""
    return float(bdtrc(hits - 1, draws, min(max(share, 1e-12), 1.0))) if hits > 0 else 1.0


def _widen(dimension: Dimension, u: Array, good: Mask, tests: int) -> list[RangeAdvice]:
    out = []
    m = int(good.sum())
    for end, near, next_to in (
        ("upper", u > 1.0 - _EDGE, (u <= 1.0 - _EDGE) & (u > 1.0 - 2 * _EDGE)),
        ("lower", u < _EDGE, (u >= _EDGE) & (u < 2 * _EDGE)),
    ):
        hits, share = int((good & near).sum()), float(near.mean())
        # Against the range as declared: an optimiser that has piled trials up there had its reasons.
        p = min(1.0, tests * _more_than(hits, m, _EDGE))
        rate, beside = (float(good[part].mean()) if part.any() else 0.0 for part in (near, next_to))
        # Piling up at the bound, and still rising towards it.
        if p <= _SURE and rate > beside:
            bound = dimension.decode(np.array([1.0 if end == "upper" else 0.0]))[0]
            sentence = (
                f"Widen `{dimension.name}` beyond its {end} bound {value_text(bound)}: {100 * hits / m:.0f} % of the "
                f"best tenth lie in the outermost tenth of its range, where {100 * share:.0f} % of all trials are."
            )
            out.append(RangeAdvice(dimension.name, "widen", sentence, p))
    return out


def _narrow(dimension: Dimension, u: Array, good: Mask, tests: int) -> list[RangeAdvice]:
    out = []
    m = int(good.sum())
    first, last = float(u[good].min()), float(u[good].max())
    for end, edge, empty in (("below", first, u < first), ("above", last, u > last)):
        share = float(empty.mean())
        # No good trial there: how likely is that for a stretch that held this share of all trials?
        p = min(1.0, tests * (1.0 - share) ** m)
        if p <= _SURE and share >= _EDGE:
            cut = dimension.decode(np.array([edge]))[0]
            sentence = (
                f"Narrow `{dimension.name}`: none of the best tenth has it {end} {value_text(cut)}, where "
                f"{100 * share:.0f} % of the trials were."
            )
            out.append(RangeAdvice(dimension.name, "narrow", sentence, p))
    return out


def _drops(dimension: Dimension, u: Array, good: Mask, bad: Mask, tests: int) -> list[RangeAdvice]:
    out = []
    codes = dimension.code(u)
    for code in range(dimension.cells):
        mine = codes == code
        share, hits = float(mine.mean()), int((bad & mine).sum())
        p = min(1.0, tests * _more_than(hits, int(bad.sum()), share))
        if p <= _SURE and not (good & mine).any():
            choice = dimension.decode(dimension.midpoint(np.array([code])))[0]
            sentence = (
                f"Drop `{dimension.name}` = {value_text(choice)}: it makes up {100 * hits / int(bad.sum()):.0f} % of "
                f"the worst tenth ({100 * share:.0f} % of all trials) and none of the best tenth."
            )
            out.append(RangeAdvice(dimension.name, "drop", sentence, p))
    return out
