"""Conditions of parameters, inferred from the parameters that finished trials had.

A define-by-run objective never declares its search space, but its trials show it: if `rate_drop` appeared exactly in
the trials with `booster = "dart"`, then that is its condition. Inference is cautious: a rule must explain every trial,
and more trials must have tested it than it has free choices. A parameter without such a rule counts as always active,
because a value that the objective does not ask for costs nothing; trials without it are modelled at its mid-point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pellucid.numerics import Array, Mask
from pellucid.space.encoding import Condition, Dimension, Space
from pellucid.words import printable

# An ordered parent with at most this many values may switch its child by any set of them; with more, only by a
# threshold, which needs fewer trials to be tested.
_MAX_CODES = 32
# Trials that agree with some threshold on a continuous parent by chance: only those beyond this number are evidence.
_CHANCE = 6

# Scores, compared in order (evidence, then preference), and the condition.
_Rule = tuple[tuple[float, ...], Condition]


def infer_conditions(space: Space, configurations: Sequence[Mapping[str, Any]]) -> dict[str, Condition]:
    """Child -> condition, for every parameter whose presence is explained by the value of one other parameter."""
    names = set(space.names)
    if all(names <= c.keys() for c in configurations):
        return {}
    present = np.array([[name in c for name in space.names] for c in configurations], dtype=bool)
    present = present.reshape(len(configurations), len(space))
    sometimes = [j for j in range(len(space)) if present[:, j].any() and not present[:, j].all()]
    if not sometimes:
        return {}
    X, fits = space.encode(configurations)
    if not fits.all():
        # A range may have changed since: values outside the present one have no encoding.
        return infer_conditions(space, [c for c, fit in zip(configurations, fits, strict=True) if fit])
    conditions: dict[str, Condition] = {}
    for child in sometimes:
        rules = []
        for parent in range(len(space)):
            if parent != child and not (present[:, child] & ~present[:, parent]).any():
                rule = _rule(space, X, present, parent, child)
                if rule is not None:
                    rules.append(rule)
        if rules:
            conditions[space.names[child]] = max(rules, key=lambda rule: rule[0])[1]
    return _without_cycles(conditions)


def _rule(space: Space, X: Array, present: Mask, parent: int, child: int) -> _Rule | None:
    """The rule by which the parent's value explains the child's presence; None if it does not."""
    rows = present[:, parent]
    on, u = present[rows, child], X[rows, parent]
    if on.all() or not on.any():
        return None
    dimension = space.dimensions[parent]
    if dimension.cells and (dimension.nominal or dimension.cells <= _MAX_CODES):
        rule = _rule_of_codes(dimension, space.names[parent], u, on)
    else:
        rule = _rule_of_threshold(space.names[parent], u, on)
    return rule if rule is not None and rule[0][0] > 0 else None


def _rule_of_codes(dimension: Dimension, name: str, u: Array, on: Mask) -> _Rule | None:
    """The child is present for some of the parent's values and absent for the others."""
    codes = dimension.code(u)
    active, inactive = set(codes[on].tolist()), set(codes[~on].tolist())
    if active & inactive:
        return None
    evidence = float(len(u) - len(active) - len(inactive))
    if dimension.nominal:
        return (evidence, 2.0), Condition(name, tuple(sorted(active)))
    above, below = min(active) > max(inactive), max(active) < min(inactive)
    if not (above or below):
        return (evidence, 0.5), Condition(name, tuple(sorted(active)))
    # If an ordered parent splits cleanly, a threshold also covers values that no trial has tried yet.
    edge = [max(inactive), min(active)] if above else [max(active), min(inactive)]
    middle = float(dimension.midpoint(np.array(edge)).mean())
    return (evidence, 1.0), Condition(name, None, *((middle, 1.0) if above else (0.0, middle)))


def _rule_of_threshold(name: str, u: Array, on: Mask) -> _Rule | None:
    """The child is present above (or below) some value of a continuous parent."""
    absent, present = u[~on], u[on]
    # Among n values there are 2n thresholds, so a few trials agree with one of them by chance.
    evidence = float(len(u) - _CHANCE)
    if absent.max() < present.min():
        return (evidence, 0.0), Condition(name, None, float(0.5 * (absent.max() + present.min())), 1.0)
    if present.max() < absent.min():
        return (evidence, 0.0), Condition(name, None, 0.0, float(0.5 * (present.max() + absent.min())))
    return None


def _without_cycles(conditions: dict[str, Condition]) -> dict[str, Condition]:
    """Drop conditions of parameters that would depend on themselves through their parents."""
    out = dict(conditions)
    for child in conditions:
        seen, name = {child}, child
        while name in out:
            name = out[name].parent
            if name in seen:
                out.pop(child, None)
                break
            seen.add(name)
    return out


def declared_conditions(space: Space, declared: Mapping[str, tuple[str, Sequence[Any]]]) -> dict[str, Condition]:
    """Conditions from the user's form: child -> (parent, the parent's values for which the child exists)."""
    out: dict[str, Condition] = {}
    for child, (parent, values) in declared.items():
        if child not in space.index or parent not in space.index:
            continue
        dimension = space.dimensions[space.index[parent]]
        if not dimension.cells:
            raise ValueError(
                printable(
                    f"A declared condition needs a parent with discrete values, but `{parent}` (the parent of "
                    f"`{child}`) is {dimension.distribution}: leave the condition out, and it is inferred from the "
                    "trials."
                )
            )
        u, inside = dimension.encode(list(values))
        if not inside.all() or dimension.decode(u) != list(values):
            raise ValueError(
                printable(
                    f"The condition of `{child}` must list values of {dimension.distribution}, the distribution of "
                    f"`{parent}`, but got {values!r}."
                )
            )
        out[child] = Condition(parent, tuple(sorted({int(c) for c in dimension.code(u)})))
    return out
