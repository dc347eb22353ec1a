"""The unit-cube encoding: exact round trips, and the CDF of the draws of Optuna's random sampler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import chisquare, kstest
from tests.study.distributions import NAN, categoricals, continuous, encode_one, integers, same, stepped, value_of

from pellucid.space.encoding import INACTIVE, Dimension, Space, is_ordered

pytestmark = [
    pytest.mark.filterwarnings("ignore:The distribution is specified by"),  # Optuna moves `high` onto the grid.
    pytest.mark.filterwarnings("ignore:Choices for a categorical distribution should be"),
]


# ----------------------------------------------------------------------------------------- round trips


@given(st.data(), continuous())
def test_a_continuous_value_survives_to_rounding(data: st.DataObject, distribution: FloatDistribution) -> None:
    value = value_of(data, distribution)
    dimension = Dimension("x", distribution)
    u = encode_one(dimension, value)
    assert 0.0 <= u <= 1.0
    (back,) = dimension.decode(np.array([u]))
    assert type(back) is float
    assert distribution.low <= back <= distribution.high
    if distribution.log:
        assert back == pytest.approx(value, rel=1e-12)
    else:
        largest = max(abs(distribution.low), abs(distribution.high))
        assert abs(back - value) <= 1e-12 * (distribution.high - distribution.low) + 4 * np.spacing(largest)


@given(st.data(), st.one_of(stepped(), integers(), categoricals()), st.booleans())
def test_a_discrete_value_survives_exactly(data: st.DataObject, distribution: BaseDistribution, ordinal: bool) -> None:
    dimension = Dimension("x", distribution, ordinal)
    value = value_of(data, distribution)
    u = encode_one(dimension, value)
    assert 0.0 < u < 1.0
    (back,) = dimension.decode(np.array([u]))
    assert same(back, value), (back, value)
    assert distribution._contains(distribution.to_internal_repr(back))


@given(st.one_of(continuous(), stepped(), integers(), categoricals()), st.lists(st.floats(0.0, 1.0), max_size=20))
@example(IntDistribution(1, 1), [0.0, 0.5, 1.0])
@example(IntDistribution(1, 3, log=True), [0.0, 1.0])
def test_every_point_of_the_cube_decodes_into_the_range(distribution: BaseDistribution, points: list[float]) -> None:
    dimension = Dimension("x", distribution)
    u = np.array(points, dtype=float)
    values = dimension.decode(u)
    assert len(values) == len(points)
    for value in values:
        assert distribution._contains(distribution.to_internal_repr(value))
        assert not isinstance(value, np.generic)
    again, inside = dimension.encode(values)
    assert inside.all()
    np.testing.assert_allclose(again, dimension.snap(u), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(0.5, 0.5),
        FloatDistribution(0.5, 0.5, log=True),
        FloatDistribution(0.5, 0.5, step=0.1),
        IntDistribution(3, 3),
        IntDistribution(3, 3, log=True),
        CategoricalDistribution(["only"]),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("error")
def test_a_single_value_survives(distribution: BaseDistribution) -> None:
    dimension = Dimension("x", distribution)
    (value,) = dimension.decode(np.array([0.3]))
    u = encode_one(dimension, value)
    assert 0.0 <= u <= 1.0
    assert same(dimension.decode(np.array([u]))[0], value)
    assert dimension.encode([-7.0 if not isinstance(distribution, CategoricalDistribution) else "other"])[
        1
    ].tolist() == [False]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "distribution",
    [
        pytest.param(IntDistribution(-(2**65), 2**70), id="ints"),
        pytest.param(IntDistribution(3, 3 + 7 * 2**66, step=7), id="stepped ints"),
        pytest.param(IntDistribution(1, 2**70, log=True), id="log ints"),
        pytest.param(FloatDistribution(0, 1e18, step=1e-3), id="stepped floats"),
    ],
)
def test_ranges_of_more_values_than_a_float_has_digits_for_are_used_in_full(distribution: BaseDistribution) -> None:
    dimension = Dimension("n", distribution)
    u = np.linspace(0.0, 1.0, 101)
    values = dimension.decode(u)
    assert values[0] == distribution.low  # type: ignore[attr-defined]
    assert values[-1] == distribution.high  # type: ignore[attr-defined]
    assert all(distribution._contains(value) for value in values)
    back, inside = dimension.encode(values)
    assert inside.all()
    np.testing.assert_allclose(back, u, atol=1e-2 if dimension.scale == "log" else 1e-12)
    space = Space.of({"n": distribution, "x": FloatDistribution(0, 1)})
    rows = np.column_stack([u, u])
    assert [configuration["n"] for configuration in space.decode(rows)] == values
    np.testing.assert_array_equal(space.encode(space.decode(rows))[0][:, 0], back)


def test_the_widest_range_of_floats_is_not_all_one_point() -> None:
    dimension = Dimension("x", FloatDistribution(-1.5e308, 1.5e308))
    u, inside = dimension.encode([-1.5e308, -1e308, 0.0, 1e308, 1.5e308])
    assert inside.all()
    np.testing.assert_allclose(u, [0.0, 1 / 6, 0.5, 5 / 6, 1.0], atol=1e-12)
    np.testing.assert_allclose(dimension.decode(np.array([0.25, 0.5])), [-0.75e308, 0.0], atol=1e296)


def test_choices_that_look_alike_stay_apart() -> None:
    choices = (None, True, False, 1, 0, "1", "True", "nan", NAN, 0.5, "")
    dimension = Dimension("x", CategoricalDistribution(choices))
    u, inside = dimension.encode(choices)
    assert inside.all()
    assert dimension.code(u).tolist() == list(range(len(choices)))
    assert all(same(a, b) for a, b in zip(dimension.decode(u), choices, strict=True))
    assert dimension.encode([float("nan"), 2, "False", 0.25])[1].tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    "choices", [([8], [8, 8]), ((8,), (8, 8)), ({"a": 1}, {"b": 2})], ids=["lists", "tuples", "dicts"]
)
def test_choices_of_any_type_that_optuna_takes_survive(choices: Sequence[Any]) -> None:
    """Optuna warns about them but takes them: sizes of layers are often given as lists."""
    dimension = Dimension("x", CategoricalDistribution(choices))
    u, inside = dimension.encode(choices)
    assert inside.all()
    assert dimension.decode(u) == list(choices)


# ---------------------------------------------------------------- the CDF of the sampling distribution


DISTRIBUTIONS: dict[str, BaseDistribution] = {
    "float": FloatDistribution(-3.0, 5.0),
    "log float": FloatDistribution(1e-5, 10.0, log=True),
    "stepped float": FloatDistribution(0.0, 1.0, step=0.1),
    "stepped float off zero": FloatDistribution(-0.35, 2.05, step=0.3),
    "int": IntDistribution(-4, 7),
    "stepped int": IntDistribution(1, 21, step=4),
    "log int": IntDistribution(1, 12, log=True),
    "wide log int": IntDistribution(1, 10_000, log=True),
    "wide int": IntDistribution(0, 100_000),
    "narrow log int": IntDistribution(3, 5, log=True),
    "two ints": IntDistribution(0, 1),
    "categorical": CategoricalDistribution(["a", None, 3, False, NAN]),
    "ordered categorical": CategoricalDistribution([1, 2, 4, 8]),
}


def draws(distribution: BaseDistribution, size: int = 4000) -> list[Any]:
    """Values that Optuna's RandomSampler suggests."""
    study = optuna.create_study()
    sampler = optuna.samplers.RandomSampler(seed=17)
    trial = optuna.trial.create_trial(value=0.0)
    return [sampler.sample_independent(study, trial, "x", distribution) for _ in range(size)]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_encoding_is_the_cdf_of_optunas_random_sampler(name: str) -> None:
    distribution = DISTRIBUTIONS[name]
    dimension = Dimension("x", distribution, is_ordered(distribution))
    values = draws(distribution)
    u, inside = dimension.encode(values)
    assert inside.all()
    if dimension.cells == 0:
        assert kstest(u, "uniform").pvalue > 1e-4
        return
    # The share of the unit interval that decodes to a cell must be the probability of its value. Many narrow cells are
    # counted together, so that each group is expected often enough for the test to be exact.
    grid = (np.arange(1_000_000) + 0.5) / 1_000_000
    mass = np.bincount(dimension.code(grid), minlength=dimension.cells) / len(grid)
    group = np.unique((np.cumsum(mass) - 0.5 * mass) * 50 // 1, return_inverse=True)[1]
    expected = np.bincount(group, weights=mass) * len(values)
    counts = np.bincount(group[dimension.code(u)], minlength=len(expected))
    assert len(expected) >= min(dimension.cells, 12)
    assert expected.min() > 5
    assert chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_value_that_optuna_draws_survives(name: str) -> None:
    distribution = DISTRIBUTIONS[name]
    dimension = Dimension("x", distribution, is_ordered(distribution))
    values = draws(distribution)
    back = dimension.decode(dimension.encode(values)[0])
    if dimension.cells:
        assert all(same(a, b) for a, b in zip(back, values, strict=True))
    else:
        np.testing.assert_allclose(back, values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if not name.startswith(("float", "log float"))])
def test_midpoints_lie_in_the_middle_of_their_cells(name: str) -> None:
    dimension = Dimension("x", DISTRIBUTIONS[name])
    codes = np.unique(np.linspace(0, dimension.cells - 1, 200).astype(int))
    middle = dimension.midpoint(codes)
    assert dimension.code(middle).tolist() == codes.tolist()
    np.testing.assert_allclose(dimension.snap(middle), middle, rtol=0, atol=1e-12)
    assert (np.diff(middle) > 0).all()
    for k, m in zip(codes.tolist(), middle.tolist(), strict=True):
        low, high = edge(dimension, k, m, 0.0), edge(dimension, k, m, 1.0)
        assert 0.5 * (low + high) == pytest.approx(m, abs=1e-6)


def edge(dimension: Dimension, k: int, inside: float, outside: float) -> float:
    """Where cell k ends, between a point in it and an end of the unit interval."""
    if int(dimension.code(np.array([outside]))[0]) == k:
        return outside
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if int(dimension.code(np.array([middle]))[0]) == k:
            inside = middle
        else:
            outside = middle
    return inside


@given(st.one_of(stepped(), integers(), categoricals()), st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=10))
def test_codes_midpoints_and_snapping_agree(distribution: BaseDistribution, points: list[float]) -> None:
    dimension = Dimension("x", distribution)
    u = np.array(points)
    codes = dimension.code(u)
    assert codes.min() >= 0
    assert codes.max() < dimension.cells
    snapped = dimension.snap(u)
    assert np.array_equal(snapped, dimension.midpoint(codes))
    assert np.array_equal(dimension.code(snapped), codes)
    assert np.array_equal(dimension.snap(snapped), snapped)
    assert [repr(v) for v in dimension.decode(snapped)] == [repr(v) for v in dimension.decode(u)]
    encoded = dimension.encode(dimension.decode(snapped))[0]
    np.testing.assert_allclose(encoded, snapped, rtol=0, atol=1e-9)
    assert np.array_equal(dimension.code(encoded), codes)


@given(st.one_of(continuous(), stepped(), integers()), st.data())
def test_the_encoding_increases_with_the_value(distribution: BaseDistribution, data: st.DataObject) -> None:
    dimension = Dimension("x", distribution)
    low, high = sorted((value_of(data, distribution), value_of(data, distribution)))
    assert encode_one(dimension, low) <= encode_one(dimension, high)


@pytest.mark.parametrize(
    ("choices", "ordered"),
    [
        ((1, 2, 4), True),
        ((4.0, 2, 1), True),
        ((1, 2), False),
        ((1, 4, 2), False),
        (("1", "2", "3"), False),
        ((False, True, 2), False),
        ((1, 1.0, 2), False),
        ((0, 1, NAN), False),
        ((0, 1, float("inf")), False),
        ((None, 1, 2), False),
    ],
)
def test_sorted_numbers_are_ordered_and_nothing_else_is(choices: tuple[Any, ...], ordered: bool) -> None:
    distribution = CategoricalDistribution(choices)
    assert is_ordered(distribution) is ordered
    space = Space.of({"x": distribution})
    assert space.ordinal == (("x",) if ordered else ())
    assert space.nominal == (() if ordered else (len(choices),))
    assert Space.of({"x": distribution}, ordinal=["x"]).nominal == ()
    assert Space.of({"x": distribution}, ordinal=[]).nominal == (len(choices),)


# -------------------------------------------------------------------------------------- changed ranges


def test_values_outside_the_present_range_do_not_fit() -> None:
    space = Space.of(
        {
            "lr": FloatDistribution(1e-3, 1.0, log=True),
            "depth": IntDistribution(2, 8),
            "drop": FloatDistribution(0.0, 0.5, step=0.1),
            "kind": CategoricalDistribution(["a", "b"]),
        }
    )
    good = {"lr": 0.1, "depth": 4, "drop": 0.2, "kind": "a"}
    rows = [
        good,
        {**good, "lr": 1e-4},
        {**good, "lr": 1.0 + 1e-9},
        {**good, "lr": 1e-3},
        {**good, "depth": 1},
        {**good, "depth": 9},
        {**good, "depth": 8},
        {**good, "drop": 0.6},
        {**good, "drop": 0.5},
        {**good, "kind": "c"},
        {**good, "kind": None},
        {k: v for k, v in good.items() if k != "drop"},
        {"lr": 0.1, "depth": 99},
        {**good, "unknown": 5},
    ]
    X, fits = space.encode(rows)
    assert fits.tolist() == [True, False, False, True, False, False, True, False, True, False, False, True, False, True]
    assert X[11, 2] == INACTIVE
    assert np.array_equal(X[13], X[0])


def test_values_that_no_range_could_hold_do_not_fit() -> None:
    space = Space.of({"x": FloatDistribution(0.0, 1.0)})
    X, fits = space.encode([{"x": NAN}, {"x": math.inf}, {"x": -math.inf}, {"x": 0.5}])
    assert fits.tolist() == [False, False, False, True]
    assert np.isfinite(X[3]).all()


def test_a_wider_range_keeps_old_trials_and_moves_their_encoding() -> None:
    old, new = (Space.of({"x": FloatDistribution(0.0, high)}) for high in (1.0, 2.0))
    rows = [{"x": v} for v in (0.0, 0.5, 1.0)]
    assert old.encode(rows)[0].ravel().tolist() == [0.0, 0.5, 1.0]
    X, fits = new.encode(rows)
    assert fits.all()
    assert X.ravel().tolist() == [0.0, 0.25, 0.5]
