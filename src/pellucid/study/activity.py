"""Which parameter switches which: conditions inferred from the parameters that past trials had.

A define-by-run objective never declares its search space, but its trials show it: if `rate_drop` appeared exactly in
the trials with `booster = "dart"`, then that is its condition. Inference is cautious: a rule must explain every trial,
and must have been tested by more trials than it has free choices. A parameter without such a rule counts as always
active (offering a value that the objective does not want costs nothing) and is modelled at its mid-point where absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pellucid.numerics import Array
from pellucid.study.encoding import Condition, Dimension, Mask, Space

_MAX_CODES = 32
_CHANCE = 6


def infer_conditions(space: Space, configurations: Sequence[Mapping[str, Any]]) -> dict[str, Condition]:
    """child -> condition, for every parameter whose presence in the trials one other parameter explains."""
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
        # Values outside a range that has changed since say nothing in its encoding.
        return infer_conditions(space, [c for c, fit in zip(configurations, fits, strict=True) if fit])
    found: dict[str, Condition] = {}
    for child in sometimes:
        rules = []
        for parent in range(len(space)):
            if parent != child and not (present[:, child] & ~present[:, parent]).any():
                rule = _rule(space, X, present, parent, child)
                if rule is not None:
                    rules.append(rule)
        if rules:
            found[space.names[child]] = max(rules, key=lambda scored: scored[0])[1]
    return _without_cycles(found)


def _rule(space: Space, X: Array, present: Mask, parent: int, child: int) -> tuple[tuple[float, ...], Condition] | None:
    """How well the parent's value explains the child's presence: (evidence, preference) and the condition, or None."""
    rows = present[:, parent]
    on, u = present[rows, child], X[rows, parent]
    if on.all() or not on.any():
        return None
    dimension = space.dimensions[parent]
    if dimension.cells and (dimension.nominal or dimension.cells <= _MAX_CODES):
        found = _rule_of_codes(dimension, space.names[parent], u, on)
    else:
        found = _rule_of_threshold(space.names[parent], u, on)
    return found if found is not None and found[0][0] > 0 else None


def _rule_of_codes(dimension: Dimension, name: str, u: Array, on: Mask) -> tuple[tuple[float, ...], Condition] | None:
    """The child is there for some of the parent's values and absent for the others."""
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
    # An ordered parent that splits cleanly also answers for values nobody has tried yet.
    edge = [max(inactive), min(active)] if above else [max(active), min(inactive)]
    middle = float(dimension.midpoint(np.array(edge)).mean())
    return (evidence, 1.0), Condition(name, None, *((middle, 1.0) if above else (0.0, middle)))


def _rule_of_threshold(name: str, u: Array, on: Mask) -> tuple[tuple[float, ...], Condition] | None:
    """The child is there above (or below) some value of a continuous parent."""
    absent, there = u[~on], u[on]
    # A threshold through n values has 2n places to be: that many trials agree with some threshold by chance.
    evidence = float(len(u) - _CHANCE)
    if absent.max() < there.min():
        return (evidence, 0.0), Condition(name, None, float(0.5 * (absent.max() + there.min())), 1.0)
    if there.max() < absent.min():
        return (evidence, 0.0), Condition(name, None, 0.0, float(0.5 * (there.max() + absent.min())))
    return None


def _without_cycles(found: dict[str, Condition]) -> dict[str, Condition]:
    """Drop conditions of parameters that would (through their parents) depend on themselves."""
    out = dict(found)
    for child in found:
        seen, name = {child}, child
        while name in out:
            name = out[name].parent
            if name in seen:
                out.pop(child, None)
                break
            seen.add(name)
    return out


def declared_conditions(space: Space, declared: Mapping[str, tuple[str, Sequence[Any]]]) -> dict[str, Condition]:
    """Conditions as the user gives them: child -> (parent, the parent's values for which the child exists)."""
    out: dict[str, Condition] = {}
    for child, (parent, values) in declared.items():
        if child not in space.index or parent not in space.index:
            continue
        dimension = space.dimensions[space.index[parent]]
        if not dimension.cells:
            raise ValueError(
                f"A declared condition needs a parent with discrete values, but `{parent}` (the parent of `{child}`) "
                f"is {dimension.distribution}."
            )
        u, inside = dimension.encode(list(values))
        if not inside.all() or dimension.decode(u) != list(values):
            raise ValueError(
                f"The condition of `{child}` names values of `{parent}` outside {dimension.distribution}: {values!r}."
            )
        out[child] = Condition(parent, tuple(sorted({int(c) for c in dimension.code(u)})))
    return out
