"""A meta-trained model in the service of a study: whether their parameters are the same, and in whose encoding.

The study may have other ranges, steps, scales or orders of choices; values in the user's units connect the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.numerics import Array
from pellucid.study.encoding import INACTIVE, Condition, Dimension, Space, is_ordered


def differences(trained: Space, given: Mapping[str, BaseDistribution], *, partial: bool = False) -> list[str]:
    """Why a model does not serve a study with these parameters, one phrase each; empty where it does.

    A conditional parameter that no trial has had yet is no difference; `partial`: nor is any other, because no trial
    has asked for all that it will.
    """
    found = []
    for name, distribution in given.items():
        if name not in trained.index:
            if not distribution.single():
                found.append(f"the study has `{name}`, which the model does not know")
            continue
        theirs = trained.dimensions[trained.index[name]].distribution
        if isinstance(theirs, CategoricalDistribution) != isinstance(distribution, CategoricalDistribution):
            kinds = (
                ("choices", "numbers") if isinstance(distribution, CategoricalDistribution) else ("numbers", "choices")
            )
            found.append(f"`{name}` has {kinds[0]} in the study and {kinds[1]} in the model")
        elif isinstance(theirs, CategoricalDistribution) and isinstance(distribution, CategoricalDistribution):
            new = [repr(one) for one in distribution.choices if not is_among(one, theirs)]
            if new:
                found.append(f"`{name}` has the choice{'s' if len(new) > 1 else ''} {', '.join(new)} only in the study")
    missing = [name for name in trained.names if name not in given and name not in trained.conditions]
    if not partial:
        found += [f"the model has `{name}`, which the study does not have" for name in missing]
    return found


def is_among(choice: object, distribution: CategoricalDistribution) -> bool:
    """Whether it is one of the choices; True is not 1, but 1 is 1.0."""
    return bool(Dimension("", distribution).encode([choice])[1][0])


@dataclass(frozen=True)
class Translation:
    """From the encoding of a study's space to that of the model's; both have the same parameters in the same order."""

    space: Space
    trained: Space

    @staticmethod
    def of(trained: Space, given: Mapping[str, BaseDistribution]) -> Translation:
        """Ranges of the study where it has them, conditions of the model throughout."""
        dimensions = tuple(
            Dimension(one.name, _discrete_if_single(given[one.name]), one.ordinal and _keeps_order(given[one.name]))
            if one.name in given
            else one
            for one in trained.dimensions
        )
        space = Space(dimensions, {})
        return Translation(Space(dimensions, _conditions(trained, space)), trained)

    def __call__(self, X: Array) -> Array:
        """(n, d) -> (n, d). Beyond the ranges that the model was trained on it knows nothing: what lies there counts as
        what lies at their ends."""
        return np.clip(self.placed(X), 0.0, 1.0)

    def beyond(self, X: Array) -> Array:
        """How far from the ranges that the model was trained on, in widths of them, summed over parameters, (n,)."""
        placed = self.placed(X)
        return np.asarray(np.abs(placed - np.clip(placed, 0.0, 1.0)).sum(axis=1))

    def placed(self, X: Array) -> Array:
        """In the model's encoding; numbers beyond the ranges it was trained on lie outside [0, 1]."""
        if self.space.dimensions == self.trained.dimensions:
            return X
        out = np.empty_like(X)
        for j, (ours, theirs) in enumerate(zip(self.space.dimensions, self.trained.dimensions, strict=True)):
            out[:, j] = X[:, j] if ours.distribution == theirs.distribution else _moved(ours, theirs, X[:, j])
        out[~self.space.active(X)] = INACTIVE
        return out


def _moved(ours: Dimension, theirs: Dimension, u: Array) -> Array:
    values = ours.decode(u)
    if isinstance(theirs.distribution, CategoricalDistribution):
        return theirs.encode(values)[0]
    return theirs.place(np.array(values, dtype=float))


def _keeps_order(distribution: BaseDistribution) -> bool:
    return not isinstance(distribution, CategoricalDistribution) or is_ordered(distribution)


def _discrete_if_single(distribution: BaseDistribution) -> BaseDistribution:
    """A range of one number as one cell: places within it would pass for different configurations."""
    if isinstance(distribution, FloatDistribution) and distribution.single():
        return FloatDistribution(distribution.low, distribution.high, step=1.0)
    return distribution


def _conditions(trained: Space, space: Space) -> dict[str, Condition]:
    """The model's conditions in the encoding of the study's space."""
    found = {}
    for child, rule in trained.conditions.items():
        theirs, ours = (one.dimensions[one.index[rule.parent]] for one in (trained, space))
        found[child] = rule if theirs.distribution == ours.distribution else _carried(rule, theirs, ours)
    return found


def _carried(rule: Condition, theirs: Dimension, ours: Dimension) -> Condition:
    at = theirs.midpoint(np.arange(theirs.cells))
    if isinstance(theirs.distribution, CategoricalDistribution):
        # Choices may come in another order, where an interval means nothing: one by one.
        codes = np.flatnonzero((at >= rule.low) & (at <= rule.high)) if rule.codes is None else list(rule.codes)
        u, inside = ours.encode(theirs.decode(at[codes]))
        return Condition(rule.parent, tuple(sorted({int(code) for code in ours.code(u[inside])})))
    low, high = rule.low, rule.high
    if rule.codes is not None:
        values = theirs.decode(at[list(rule.codes)])
        if ours.cells:
            u, inside = ours.encode(values)
            there = inside & np.isclose(ours.decode(u), values, rtol=1e-9, atol=0.0)
            return Condition(rule.parent, tuple(sorted({int(code) for code in ours.code(u[there])})))
        lower, upper = theirs.cell(np.array([min(rule.codes), max(rule.codes)]))
        low, high = float(lower[0]), float(upper[1])
    ends = ours.place(_numbers_at(theirs, np.array([low, high])))
    # An end of the model's range is no end of the condition.
    return Condition(rule.parent, None, 0.0 if low <= 0.0 else float(ends[0]), 1.0 if high >= 1.0 else float(ends[1]))


def _numbers_at(dimension: Dimension, u: Array) -> Array:
    """In the user's unit, also between the values of a discrete parameter: thresholds lie there."""
    d = dimension.distribution
    assert isinstance(d, (FloatDistribution, IntDistribution))
    half = 0.0 if d.step is None else 0.5 * d.step
    top = d.high if d.step is None else d.low + (dimension.cells - 1) * d.step
    return np.array(Dimension("", FloatDistribution(d.low - half, top + half, log=d.log)).decode(u))
