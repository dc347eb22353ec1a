"""Which ranges to change: the cheapest value that costs nothing, good values at a bound, choices that ruin trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from optuna.distributions import CategoricalDistribution
from optuna.study import Study
from scipy.special import bdtr, bdtrc

from pellucid.explain.effects.words import value_text
from pellucid.explain.importance.analysis import LEVEL, negligible
from pellucid.explain.importance.draws import Sample, in_a_step, sample_of
from pellucid.explain.importance.hsic import MEDIAN, hsic_index, permutation_test
from pellucid.goals import Goal, as_goal, best, worst
from pellucid.numerics import Array, one_thread
from pellucid.records import IntervalReduction, ParameterRanges, RangeAdvice, RangeAxis
from pellucid.study import study_io
from pellucid.study.encoding import Dimension

Mask = npt.NDArray[np.bool_]
Cheap = Literal["low", "high"]
_N_CUTS = 12
_FEWEST_LEFT, _FEWEST_IN_GOAL = 20, 5
_EDGE = 0.1
_ABOUT = 0.75
_FEW_CELLS = 20
_SURE = 0.01
_N_TICKED, _MOST_CHOICES = 12, 60


def interval_reduction(
    study: Study,
    param: str,
    cheap: Cheap = "low",
    *,
    goal: Goal | Callable[[float], bool] | None = None,
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
    wanted = as_goal(goal)
    if not wanted.wanted:
        raise ValueError(f"A value costs nothing if a goal is reached as often; {wanted.words} is not one to reach.")
    with one_thread:
        sample, notes, _ = sample_of(study_io.trials(study), wanted, study_io.sign(study))
        return reduced(
            sample, numeric_column(sample, param), cheap, wanted, notes, n_permutations=n_permutations, seed=seed
        )


def numeric_column(sample: Sample, param: str) -> int:
    """Where a parameter with an interval is; ValueError where it is none."""
    if param not in sample.space.index:
        close = get_close_matches(str(param), sample.space.names, n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        names = ", ".join(f"`{name}`" for name in sample.space.names)
        raise ValueError(f"The study has no parameter `{param}` that varies; it has {names}.{hint}")
    column = sample.space.index[param]
    if isinstance(sample.space.dimensions[column].distribution, CategoricalDistribution):
        raise ValueError(f"`{param}` is a choice: there is no interval to reduce. `range_advice` says which to drop.")
    return column


def reduced(
    sample: Sample,
    column: int,
    cheap: Cheap,
    goal: Goal,
    notes: Sequence[str] = (),
    *,
    n_permutations: int = 999,
    seed: int = 0,
) -> IntervalReduction:
    """Of draws that are at hand."""
    dimension = sample.space.dimensions[column]
    rows = sample.present[:, column]
    # Seen from the cheap end, whichever that is: 0 is the cheapest.
    u = sample.u[rows, column] if cheap == "low" else 1.0 - sample.u[rows, column]
    z = sample.in_goal[rows]
    cuts = _cuts(dimension, cheap)
    table: list[tuple[float, ...]] = []
    chosen: int | None = None
    for i, (first, value) in enumerate(cuts):
        after = cuts[i + 1][0] if i + 1 < len(cuts) else 1.0
        left = u >= first
        inside = z[left]
        if left.sum() < _FEWEST_LEFT or not _FEWEST_IN_GOAL <= inside.sum() < left.sum():
            break
        rescaled = np.clip((u[left] - first) / (1.0 - first), 0.0, 1.0)
        index, stderr = hsic_index(rescaled, inside, MEDIAN)
        test = permutation_test(rescaled, inside, MEDIAN, n_permutations, seed)
        end = u[left] < after
        rate, base = float(inside[end].mean()) if end.any() else 0.0, float(inside.mean())
        table.append((value, index, stderr, test.p, rate, base, float(left.sum())))
        # It matters, but not because the cheap end were bad: that reaches the goal about as often as the rest.
        worse = float(bdtr(int(inside[end].sum()), int(end.sum()), base)) <= LEVEL
        fine = test.p <= LEVEL and rate >= _ABOUT * base and not worse and end.sum() >= _FEWEST_LEFT
        # Not being able to see an effect is not the same as seeing that there is none.
        if chosen is None and (fine or (test.p > LEVEL and negligible(index, stderr, test, inside, MEDIAN))):
            chosen = i
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
        value=None if chosen is None else table[chosen][0],
        verdict=_verdict(dimension.name, cheap, goal.words, table, chosen),
        notes=tuple(notes),
    )


def _cuts(dimension: Dimension, cheap: Cheap) -> list[tuple[float, float]]:
    """Where what is left begins, seen from the cheap end (0 is the cheapest), and its cheapest value: every value of a
    discrete parameter with few, a dozen even steps otherwise."""
    even = np.linspace(0.0, 1.0, _N_CUTS, endpoint=False)
    if not dimension.cells:
        values = dimension.decode(even if cheap == "low" else 1.0 - even)
        return list(zip(even.tolist(), values, strict=True))
    if dimension.cells <= _N_CUTS:
        codes = np.arange(dimension.cells)
    else:
        codes = np.unique(dimension.code(even if cheap == "low" else 1.0 - even))
    low, high = dimension.cell(codes)
    starts = low if cheap == "low" else (1.0 - high)
    values = dimension.decode(dimension.midpoint(codes))
    return sorted(zip(starts.tolist(), values, strict=True))


def _verdict(name: str, cheap: Cheap, goal: str, table: Sequence[tuple[float, ...]], chosen: int | None) -> str:
    way = "lowest" if cheap == "low" else "highest"
    if not table:
        return f"What `{name}` costs cannot be told: too few trials reach the goal ({goal})."
    if chosen is None:
        if all(row[3] <= LEVEL for row in table):
            return f"Every {cheap} value of `{name}` that can be judged costs something ({goal})."
        return f"What `{name}` costs cannot be told: with {int(table[0][6])} trials an effect could be missed ({goal})."
    value, row = table[chosen][0], table[chosen]
    rates = f"{100 * row[4]:.0f} % reach the goal there, {100 * row[5]:.0f} % of all that are left"
    why = f"p = {row[3]:.2g}" if row[3] > LEVEL else rates
    if chosen == 0:
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
    no good trial ever was, drop choices that fill the worst tenth and are missing among the best.

    Trials of a search in steps are left out: they hold parameters at values that nobody compared with others."""
    study_io.require_single_objective(study, "range_advice")
    with one_thread:
        return _advice(*_best_and_worst(study))


def parameter_ranges(study: Study) -> ParameterRanges:
    """The ranges of a study, where its trials and the best of them are, and the advice of `range_advice`."""
    study_io.require_single_objective(study, "parameter_ranges")
    with one_thread:
        top, bad_ones = _best_and_worst(study)
        axes = []
        for j, dimension in enumerate(top.space.dimensions):
            mine = top.present[:, j]
            others, good = (tuple(top.u[mine & part, j].tolist()) for part in (~top.in_goal, top.in_goal))
            axes.append(RangeAxis(dimension.name, _ticks(dimension), others, good))
        return ParameterRanges(tuple(axes), tuple(_advice(top, bad_ones)), len(top.in_goal))


def _ticks(dimension: Dimension) -> tuple[tuple[float, str], ...]:
    """Every value where there are few, or choices; five over the range otherwise."""
    choices = isinstance(dimension.distribution, CategoricalDistribution)
    if 0 < dimension.cells <= (_MOST_CHOICES if choices else _N_TICKED):
        at = dimension.midpoint(np.arange(dimension.cells))
    else:
        at = np.linspace(0.0, 1.0, 5)
    return tuple((float(u), value_text(value)) for u, value in zip(at, dimension.decode(at), strict=True))


def _best_and_worst(study: Study) -> tuple[Sample, Mask]:
    """The trials with their being among the best tenth, and among the worst."""
    found, loss_sign = [t for t in study_io.trials(study) if not in_a_step(t)], study_io.sign(study)
    top, _, _ = sample_of(found, best(), loss_sign, source="all")
    try:
        bad_ones = sample_of(found, worst(), loss_sign, source="all")[0].in_goal
    except ValueError:  # So many are equally bad that there is no worst tenth.
        bad_ones = np.zeros(len(top.in_goal), dtype=bool)
    return top, bad_ones


def _advice(top: Sample, bad_ones: Mask) -> list[RangeAdvice]:
    tests = 4 * len(top.space)
    out: list[RangeAdvice] = []
    for j, dimension in enumerate(top.space.dimensions):
        rows = top.present[:, j]
        u, good, bad = top.u[rows, j], top.in_goal[rows], bad_ones[rows]
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
    for end, near, beside in _ends(dimension, u):
        hits, share = int((good & near).sum()), float(near.mean())
        declared = 1.0 / dimension.cells if 0 < dimension.cells <= _FEW_CELLS else _EDGE
        # More than the range as declared would give, and more than the trials themselves do.
        p = min(1.0, tests * _more_than(hits, m, declared))
        also = _more_than(hits, m, share)
        rate, next_to = (float(good[part].mean()) if part.any() else 0.0 for part in (near, beside))
        if p <= _SURE and also <= LEVEL and rate > next_to:
            bound = dimension.decode(np.array([1.0 if end == "upper" else 0.0]))[0]
            sentence = (
                f"Widen `{dimension.name}` beyond its {end} bound {value_text(bound)}: {100 * hits / m:.0f} % of the "
                f"best trials lie at that end of its range, where {100 * share:.0f} % of all trials are."
            )
            start, stop = (1.0 - declared, 1.0) if end == "upper" else (0.0, declared)
            out.append(RangeAdvice(dimension.name, "widen", sentence, p, start, stop))
    return out


def _ends(dimension: Dimension, u: Array) -> list[tuple[str, Mask, Mask]]:
    """Both ends of a range, and what is next to them: values where there are few, tenths otherwise."""
    if 0 < dimension.cells <= _FEW_CELLS:
        code, last = dimension.code(u), dimension.cells - 1
        return [("upper", code == last, code == last - 1), ("lower", code == 0, code == 1)]
    return [
        ("upper", u > 1.0 - _EDGE, (u <= 1.0 - _EDGE) & (u > 1.0 - 2 * _EDGE)),
        ("lower", u < _EDGE, (u >= _EDGE) & (u < 2 * _EDGE)),
    ]


def _narrow(dimension: Dimension, u: Array, good: Mask, tests: int) -> list[RangeAdvice]:
    out = []
    m = int(good.sum())
    position = dimension.midpoint(dimension.code(u)) if dimension.cells else u
    first, last = float(position[good].min()), float(position[good].max())
    for end, edge, empty in (("below", first, position < first), ("above", last, position > last)):
        share = float(empty.mean())
        # No good trial there: how likely is that for a stretch that held this share of all trials?
        p = min(1.0, tests * (1.0 - share) ** m)
        if p <= _SURE and share >= _EDGE:
            cut = dimension.decode(np.array([edge]))[0]
            sentence = (
                f"Narrow `{dimension.name}`: none of the best trials has it {end} {value_text(cut)}, where "
                f"{100 * share:.0f} % of the trials were."
            )
            start, stop = (0.0, edge) if end == "below" else (edge, 1.0)
            out.append(RangeAdvice(dimension.name, "narrow", sentence, p, start, stop))
    return out


def _drops(dimension: Dimension, u: Array, good: Mask, bad: Mask, tests: int) -> list[RangeAdvice]:
    out = []
    codes = dimension.code(u)
    for code in range(dimension.cells if bad.any() else 0):
        mine = codes == code
        share, hits = float(mine.mean()), int((bad & mine).sum())
        p = min(1.0, tests * _more_than(hits, int(bad.sum()), share))
        if p <= _SURE and not (good & mine).any():
            choice = dimension.decode(dimension.midpoint(np.array([code])))[0]
            sentence = (
                f"Drop `{dimension.name}` = {value_text(choice)}: it makes up {100 * hits / int(bad.sum()):.0f} % of "
                f"the worst trials ({100 * share:.0f} % of all) and none of the best."
            )
            low, high = dimension.cell(np.array([code]))
            out.append(RangeAdvice(dimension.name, "drop", sentence, p, float(low[0]), float(high[0])))
    return out
