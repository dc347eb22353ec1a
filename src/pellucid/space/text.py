"""Spaces as text."""

from __future__ import annotations

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.space.encoding import Condition, Dimension, Space
from pellucid.words import value_text

# A parameter with up to this many values, or choices, has a tick at each of them.
_N_TICKED, _MOST_CHOICES = 12, 60


def condition_text(space: Space, rule: Condition) -> str:
    """When a conditional parameter exists: "opt is sgd or rms", "depth is between 2 and 5"."""
    parent = space.dimensions[space.index[rule.parent]]
    if rule.codes is not None:
        allowed = [value_text(parent.decode(parent.midpoint(np.array([code])))[0]) for code in rule.codes]
        return f"{rule.parent} is {' or '.join(allowed)}"
    low, high = parent.decode(np.array([rule.low, rule.high]))
    return f"{rule.parent} is between {value_text(low)} and {value_text(high)}"


def value_range(dimension: Dimension) -> str:
    """What values a parameter has, as a clause: "it goes from 0.0001 to 1", "its choices are 'adam', 'sgd'"."""
    d = dimension.distribution
    if isinstance(d, (FloatDistribution, IntDistribution)):
        return f"it goes from {d.low:.12g} to {d.high:.12g}"
    assert isinstance(d, CategoricalDistribution)
    return f"its choices are {', '.join(map(repr, d.choices))}"


def axis_ticks(dimension: Dimension) -> tuple[tuple[float, str], ...]:
    """Every value of a parameter with few, or of choices; five over the range otherwise."""
    if 0 < dimension.cells <= (_MOST_CHOICES if dimension.categorical else _N_TICKED):
        at = dimension.midpoint(np.arange(dimension.cells))
    else:
        at = np.unique(dimension.snap(np.linspace(0.0, 1.0, 5)))  # Of few integers, some of the five are the same.
    return tuple((float(u), value_text(value)) for u, value in zip(at, dimension.decode(at), strict=True))
