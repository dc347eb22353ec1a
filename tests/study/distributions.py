"""Distributions and values that hypothesis draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.space.encoding import Dimension

NAN = float("nan")


# ------------------------------------------------------------------------------------------ strategies


@st.composite
def continuous(draw: st.DrawFn) -> FloatDistribution:
    if draw(st.booleans()):
        low = draw(st.floats(1e-12, 1e6))
        return FloatDistribution(low, low * draw(st.floats(1.01, 1e12)), log=True)
    # Not so narrow that the floats between low and high could be counted.
    low = draw(st.floats(-1e6, 1e6))
    return FloatDistribution(low, low + max(1.0, abs(low)) * draw(st.floats(1e-4, 1e6)))


@st.composite
def stepped(draw: st.DrawFn) -> FloatDistribution:
    step = draw(st.sampled_from([0.1, 0.25, 0.05, 1e-3, 0.3, 7.0, 1 / 3]))
    low = draw(st.sampled_from([0.0, -1.0, 0.1, 1.7, -1e3, 0.05]))
    return FloatDistribution(low, low + step * draw(st.floats(0.0, 2000.0)), step=step)


@st.composite
def integers(draw: st.DrawFn) -> IntDistribution:
    if draw(st.booleans()):
        low = draw(st.integers(1, 10**6))
        return IntDistribution(low, low + draw(st.integers(0, 10**9)), log=True)
    low, step = draw(st.integers(-(10**12), 10**12)), draw(st.integers(1, 1000))
    return IntDistribution(low, low + draw(st.integers(0, 10**9)), step=step)


CHOICES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=3), st.just(NAN), st.sampled_from([0.5, -2.25, 1e30])
)


@st.composite
def categoricals(draw: st.DrawFn) -> CategoricalDistribution:
    return CategoricalDistribution(draw(st.lists(CHOICES, min_size=1, max_size=12, unique_by=repr)))


def value_of(data: st.DataObject, distribution: BaseDistribution) -> Any:
    """Any value of a discrete distribution, computed as Optuna does."""
    if isinstance(distribution, CategoricalDistribution):
        return data.draw(st.sampled_from(distribution.choices))
    if isinstance(distribution, IntDistribution):
        last = (distribution.high - distribution.low) // distribution.step
        return distribution.low + data.draw(st.integers(0, last)) * distribution.step
    assert isinstance(distribution, FloatDistribution)
    if distribution.step is None:
        return data.draw(st.floats(distribution.low, distribution.high))
    last = round((distribution.high - distribution.low) / distribution.step)
    k = np.float64(data.draw(st.integers(0, last)))
    return float(np.clip(k * distribution.step + distribution.low, distribution.low, distribution.high))


def same(value: Any, other: Any) -> bool:
    """Equal and of the same type; NaN equals NaN."""
    if isinstance(value, float) and isinstance(other, float) and math.isnan(value) and math.isnan(other):
        return True
    return type(value) is type(other) and value == other


def encode_one(dimension: Dimension, value: Any) -> float:
    u, inside = dimension.encode([value])
    assert inside.tolist() == [True]
    return float(u[0])
