"""From the encoding of a study to that of a meta-trained model, and whether their parameters are the same.

The study may have other ranges, steps, scales or orders of choices; values in the user's units connect the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.numerics import Array
from pellucid.space.encoding import INACTIVE, Condition, Dimension, Space, is_ordered


def differences(trained: Space, distributions: Mapping[str, BaseDistribution], *, partial: bool = False) -> list[str]:
    """Why a model cannot be used in a study with these parameters, one phrase per reason; empty if it can.

    A conditional parameter may be missing from the study, because no trial may have had it yet. `partial`: so may any
    other parameter, because no trial has finished yet.
    """
    reasons = []
    for name, distribution in distributions.items():
        if name not in trained.index:
            if not distribution.single():
                reasons.append(f"the study has `{name}`, which the model does not know")
            continue
        theirs = trained.dimensions[trained.index[name]].distribution
        if isinstance(theirs, CategoricalDistribution) != isinstance(distribution, CategoricalDistribution):
            kinds = (
                ("choices", "numbers") if isinstance(distribution, CategoricalDistribution) else ("numbers", "choices")
            )
            reasons.append(f"`{name}` has {kinds[0]} in the study and {kinds[1]} in the model")
        elif isinstance(theirs, CategoricalDistribution) and isinstance(distribution, CategoricalDistribution):
            new = [repr(choice) for choice in distribution.choices if not is_among(choice, theirs)]
            if new:
                choices = f"the choice{'s' if len(new) > 1 else ''} {', '.join(new)}"
                reasons.append(f"`{name}` has {choices} only in the study")
    missing = [name for name in trained.names if name not in distributions and name not in trained.conditions]
    if not partial:
        reasons += [f"the model has `{name}`, which the study does not have" for name in missing]
    return reasons


def is_among(choice: object, distribution: CategoricalDistribution) -> bool:
    """Whether the distribution has this choice; True is not 1, but 1 is 1.0."""
    return bool(Dimension("", distribution).encode([choice])[1][0])


@dataclass(frozen=True)
class Translation:
    """From the encoding of a study's space to that of the model's; both have the same parameters in the same order."""

    space: Space
    trained: Space

    @staticmethod
    def of(trained: Space, distributions: Mapping[str, BaseDistribution]) -> Translation:
        """Ranges of the study for the parameters it has, those of the model for the others; conditions of the model."""
        dimensions = tuple(
            _in_study(dimension, distributions[dimension.name]) if dimension.name in distributions else dimension
            for dimension in trained.dimensions
        )
        space = Space(dimensions, {})
        return Translation(Space(dimensions, _conditions(trained, space)), trained)

    def __call__(self, X: Array) -> Array:
        """(n, d) -> (n, d). Values outside the ranges that the model was trained on are moved to the nearest end,
        because the model knows nothing about them."""
        return np.clip(self.in_model_encoding(X), 0.0, 1.0)

    def distance_outside(self, X: Array) -> Array:
        """Distance from the ranges that the model was trained on, in widths of these, summed over parameters, (n,)."""
        moved = self.in_model_encoding(X)
        return np.asarray(np.abs(moved - np.clip(moved, 0.0, 1.0)).sum(axis=1))

    def in_model_encoding(self, X: Array) -> Array:
        """(n, d) -> (n, d); numbers outside the ranges that the model was trained on are below 0 or above 1."""
        if self.space.dimensions == self.trained.dimensions:
            return X
        out = np.empty_like(X)
        for j, (ours, theirs) in enumerate(zip(self.space.dimensions, self.trained.dimensions, strict=True)):
            out[:, j] = X[:, j] if ours.distribution == theirs.distribution else _reencoded(ours, theirs, X[:, j])
        out[~self.space.active(X)] = INACTIVE
        return out


def _reencoded(ours: Dimension, theirs: Dimension, u: Array) -> Array:
    values = ours.decode(u)
    if isinstance(theirs.distribution, CategoricalDistribution):
        return theirs.encode(values)[0]
    return theirs.place(np.array(values, dtype=float))


def _in_study(dimension: Dimension, distribution: BaseDistribution) -> Dimension:
    """The parameter with the distribution that it has in the study."""
    keeps_order = not isinstance(distribution, CategoricalDistribution) or is_ordered(distribution)
    return Dimension(dimension.name, _discrete_if_single(distribution), dimension.ordinal and keeps_order)


def _discrete_if_single(distribution: BaseDistribution) -> BaseDistribution:
    """A range of one number as one cell: encoded values inside it would otherwise count as different configurations."""
    if isinstance(distribution, FloatDistribution) and distribution.single():
        return FloatDistribution(distribution.low, distribution.high, step=1.0)
    return distribution


def _conditions(trained: Space, space: Space) -> dict[str, Condition]:
    """The model's conditions in the encoding of the study's space."""
    conditions = {}
    for child, rule in trained.conditions.items():
        theirs, ours = (s.dimensions[s.index[rule.parent]] for s in (trained, space))
        conditions[child] = rule if theirs.distribution == ours.distribution else _converted(rule, theirs, ours)
    return conditions


def _converted(rule: Condition, theirs: Dimension, ours: Dimension) -> Condition:
    """A condition on the parent `theirs` of the model, as one on the same parent in the study."""
    at = theirs.midpoint(np.arange(theirs.cells))
    if isinstance(theirs.distribution, CategoricalDistribution):
        # Choices may be in another order, where an interval has no meaning, so they are converted one by one.
        codes = np.flatnonzero((at >= rule.low) & (at <= rule.high)) if rule.codes is None else list(rule.codes)
        u, inside = ours.encode(theirs.decode(at[codes]))
        return Condition(rule.parent, tuple(sorted({int(code) for code in ours.code(u[inside])})))
    low, high = rule.low, rule.high
    if rule.codes is not None:
        values = theirs.decode(at[list(rule.codes)])
        if ours.cells:
            u, inside = ours.encode(values)
            same = inside & np.isclose(ours.decode(u), values, rtol=1e-9, atol=0.0)
            return Condition(rule.parent, tuple(sorted({int(code) for code in ours.code(u[same])})))
        lower, upper = theirs.cell(np.array([min(rule.codes), max(rule.codes)]))
        low, high = float(lower[0]), float(upper[1])
    ends = ours.place(_numbers_at(theirs, np.array([low, high])))
    # A condition that reaches to the end of the model's range also holds beyond it.
    return Condition(rule.parent, None, 0.0 if low <= 0.0 else float(ends[0]), 1.0 if high >= 1.0 else float(ends[1]))


def _numbers_at(dimension: Dimension, u: Array) -> Array:
    """Encoded values in the user's unit; for a discrete parameter also those between its values, for thresholds."""
    d = dimension.distribution
    assert isinstance(d, (FloatDistribution, IntDistribution))
    half = 0.0 if d.step is None else 0.5 * d.step
    top = d.high if d.step is None else d.low + (dimension.cells - 1) * d.step
    return np.array(Dimension("", FloatDistribution(d.low - half, top + half, log=d.log)).decode(u))
