"""The cheapest value of a parameter that costs nothing: interval reduction with HSIC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from optuna.study import Study
from scipy.special import bdtr

from pellucid.answers.importance.draws import Sample, Subject, opened_for, sample_of
from pellucid.answers.importance.hsic import MEDIAN, PermutationTest, hsic_index, negligible, permutation_test
from pellucid.answers.ranges.records import IntervalReduction
from pellucid.claims import SIGNIFICANCE
from pellucid.numerics import Array, Mask
from pellucid.space.encoding import Dimension
from pellucid.study.goals import Goal
from pellucid.words import NoAnswer, printable, unknown_parameter, value_text

Cheap = Literal["low", "high"]
# Cuts of a range with many values: each costs a permutation test.
_N_CUTS = 12
# Fewer remaining trials, or fewer of them in the goal, cannot show an effect.
_FEWEST_LEFT, _FEWEST_IN_GOAL = 20, 5
# The cheap end is as good as the rest if it reaches the goal at least this share as often.
_AS_GOOD = 0.75


def interval_reduction(
    study: Study,
    param: str,
    *,
    cheap: Cheap = "low",
    goal: Goal | Callable[[float], bool] | None = None,
    objective: str | int | None = None,
    n_permutations: int = 999,
    seed: int = 0,
) -> IntervalReduction:
    """The cheapest value of an ordered parameter that costs nothing.

    Values are cut off from the cheap end until the parameter no longer matters for reaching the goal, or until the
    cheap end of the rest is as good as the rest.

    Args:
        study: any study; its random trials are used, as for `hsic_importance`.
        param: an integer or float parameter.
        cheap: which values are cheap, "low" or "high" ones.
        goal: default `pellucid.best(0.1)`; with several objectives `pellucid.on_the_front(0.1)`, about all of them.
        objective: the one that the goal is about, by name or number, or a constraint by its name.
        n_permutations, seed: of the tests.
    """
    if cheap not in get_args(Cheap):
        raise ValueError(f"`cheap` is 'low' or 'high', but got {cheap!r}.")
    with opened_for(study, "interval_reduction", goal, objective) as (beliefs, target, checked):
        view = beliefs.view
        if not checked.wanted:
            raise ValueError(
                printable(
                    f"`goal` must be something to reach, but got {checked.words}: a value costs nothing if the goal is "
                    "reached as often with it."
                )
            )
        sample, notes, _ = sample_of(view.trials, checked, Subject.of(view, checked, target))
        column = numeric_column(sample, param)
        named = checked.about(target.name)
        found = reduced(sample, column, cheap, named, notes, n_permutations=n_permutations, seed=seed)
        return replace(found, position=view.positions[param])


def numeric_column(sample: Sample, param: str) -> int:
    """Column of a numeric parameter. Raises ValueError if there is no parameter of that name, NoAnswer if it is a
    choice."""
    if param not in sample.space.index:
        raise ValueError(printable(unknown_parameter(param, sample.space.names)))
    column = sample.space.index[param]
    if sample.space.dimensions[column].categorical:
        raise NoAnswer(
            f"`{param}` is categorical, so it has no interval to reduce. `pellucid.parameter_ranges` says which "
            "choices to drop."
        )
    return column


@dataclass(frozen=True)
class _Cut:
    """What is left from a cut on: its cheapest value, the index there, and how often trials reach the goal."""

    value: float
    index: float
    stderr: float
    p: float
    rate: float
    base: float
    n_trials: int


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
    """The reduction of one column of a sample."""
    dimension = sample.space.dimensions[column]
    rows = sample.present[:, column]
    # Measured from the cheap end: 0 is the cheapest.
    u = sample.u[rows, column] if cheap == "low" else 1.0 - sample.u[rows, column]
    z = sample.in_goal[rows]
    starts = _starts(dimension, cheap)
    cuts: list[_Cut] = []
    chosen: int | None = None
    for i, (first, value) in enumerate(starts):
        left = u >= first
        inside = z[left]
        if left.sum() < _FEWEST_LEFT or not _FEWEST_IN_GOAL <= inside.sum() < left.sum():
            break
        rescaled = np.clip((u[left] - first) / (1.0 - first), 0.0, 1.0)
        index, stderr = hsic_index(rescaled, inside, MEDIAN)
        test = permutation_test(rescaled, inside, MEDIAN, n_permutations, seed)
        end = u[left] < (starts[i + 1][0] if i + 1 < len(starts) else 1.0)
        rate, base = float(inside[end].mean()) if end.any() else 0.0, float(inside.mean())
        cuts.append(_Cut(value, index, stderr, test.p, rate, base, int(left.sum())))
        if chosen is None and _costs_nothing(cuts[-1], test, inside, end):
            chosen = i

    def column_of(name: str) -> tuple[Any, ...]:
        return tuple(getattr(cut, name) for cut in cuts)

    return IntervalReduction(
        param=dimension.name,
        cheap=cheap,
        goal=goal.words,
        cuts=column_of("value"),
        index=column_of("index"),
        stderr=column_of("stderr"),
        p=column_of("p"),
        rate=column_of("rate"),
        base=column_of("base"),
        n_trials=column_of("n_trials"),
        value=None if chosen is None else cuts[chosen].value,
        sentence=_sentence(dimension.name, cheap, goal, cuts, chosen),
        notes=tuple(notes),
    )


def _costs_nothing(cut: _Cut, test: PermutationTest, inside: Mask, end: Mask) -> bool:
    """Whether nothing is lost at the cheap end of what is left: the parameter has no effect there, or one that does not
    come from a bad cheap end. Seeing no effect is not enough: the trials must be able to show one."""
    if test.p > SIGNIFICANCE:
        return negligible(cut.index, cut.stderr, test, inside, MEDIAN)
    worse = float(bdtr(int(inside[end].sum()), int(end.sum()), cut.base)) <= SIGNIFICANCE
    return cut.rate >= _AS_GOOD * cut.base and not worse and bool(end.sum() >= _FEWEST_LEFT)


def _starts(dimension: Dimension, cheap: Cheap) -> list[tuple[float, float]]:
    """Where what is left begins, measured from the cheap end, and its cheapest value: every value of a discrete
    parameter that has few, a dozen even steps otherwise."""
    even: Array = np.linspace(0.0, 1.0, _N_CUTS, endpoint=False)
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


def _sentence(name: str, cheap: Cheap, goal: Goal, cuts: Sequence[_Cut], chosen: int | None) -> str:
    unknown = f"What {cheap} values of `{name}` cost is not known"
    if not cuts:
        return f"{unknown}: too few trials reach the goal ({goal.words})."
    if chosen is None:
        if all(cut.p <= SIGNIFICANCE for cut in cuts):
            return f"Every {cheap} value of `{name}` that could be tested costs something ({goal.words})."
        return f"{unknown}: {cuts[0].n_trials} trials could miss an effect ({goal.words})."
    cut = cuts[chosen]
    rates = f"{100 * cut.rate:.0f}% reach the goal there, {100 * cut.base:.0f}% of all that are left"
    reason = f"p = {cut.p:.2g}" if cut.p > SIGNIFICANCE else rates
    extreme = "lowest" if cheap == "low" else "highest"
    if chosen == 0:
        lowest = f"`{name}` = {value_text(cut.value)}, the {extreme} value"
        return f"{lowest}, costs nothing measurable ({reason}; {goal.words})."
    limit = "below" if cheap == "low" else "above"
    return (
        f"`{name}` = {value_text(cut.value)} is the {extreme} value that costs nothing measurable ({reason}); {limit} "
        f"it, fewer trials are {goal.fewer}."
    )
