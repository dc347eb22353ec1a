"""Conditional spaces in the unit cube: which parameters are active, and canonical rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from tests.study.distributions import categoricals, continuous, integers, same, stepped

from pellucid.numerics import Array
from pellucid.space.encoding import INACTIVE, Condition, Space

pytestmark = [
    pytest.mark.filterwarnings("ignore:The distribution is specified by"),  # Optuna moves `high` onto the grid.
    pytest.mark.filterwarnings("ignore:Choices for a categorical distribution should be"),
]


# ---------------------------------------------------------------------------------- conditional spaces


NESTED: dict[str, BaseDistribution] = {
    "drop": FloatDistribution(0.0, 1.0),
    "booster": CategoricalDistribution(["tree", "dart", "linear"]),
    "mode": CategoricalDistribution(["slow", "fast", "auto", "none"]),
    "warmup": IntDistribution(1, 10),
    "lr": FloatDistribution(1e-4, 1.0, log=True),
    "n_layers": IntDistribution(1, 3),
    "width_2": IntDistribution(4, 64, log=True),
}


# drop and mode need booster = dart; warmup needs mode in {slow, auto}; width_2 needs n_layers >= 2 (u >= 1/3).
CONDITIONS = {
    "drop": Condition("booster", (1,)),
    "mode": Condition("booster", (1,)),
    "warmup": Condition("mode", (0, 2)),
    "width_2": Condition("n_layers", None, 1 / 3, 1.0),
}


def nested() -> Space:
    return Space.of(NESTED, CONDITIONS)


def expected_activity(configuration: Mapping[str, Any]) -> set[str]:
    active = {"booster", "lr", "n_layers"}
    if configuration["booster"] == "dart":
        active |= {"drop", "mode"}
        if configuration["mode"] in ("slow", "auto"):
            active.add("warmup")
    if configuration["n_layers"] >= 2:
        active.add("width_2")
    return active


def cube(d: int, n: int = 200, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random((n, d))


def test_a_parameter_cannot_depend_on_single_values_of_a_range() -> None:
    distributions = {"lr": FloatDistribution(0.0, 1.0), "child": FloatDistribution(0.0, 1.0)}
    with pytest.raises(ValueError, match="`child` cannot depend on some values of `lr`, which takes any"):
        Space.of(distributions, {"child": Condition("lr", (0, 2))})


def test_inactive_parameters_are_absent_and_sit_in_the_middle() -> None:
    space = nested()
    X = cube(len(space), 400)
    complete = space.decode(X, only_active=False)
    shown = space.decode(X)
    canonical = space.canonical(X)
    for full, part, row in zip(complete, shown, canonical, strict=True):
        active = expected_activity(full)
        assert part == {name: full[name] for name in space.names if name in active}
        for name, u in zip(space.names, row.tolist(), strict=True):
            if name not in active:
                assert u == INACTIVE
    assert {len(part) for part in shown} == {3, 4, 5, 6, 7}


def test_canonical_rows_survive_encoding_and_are_canonical() -> None:
    space = nested()
    X = space.canonical(cube(len(space), 400))
    assert np.array_equal(space.canonical(X), X)
    back, fits = space.encode(space.decode(X))
    assert fits.all()
    np.testing.assert_allclose(back, X, rtol=0, atol=1e-12)
    assert np.array_equal(space.active(back), space.active(X))


def test_equal_configurations_have_equal_canonical_rows() -> None:
    """The values of inactive parameters make no difference."""
    space = nested()
    X = cube(len(space))
    other = np.where(space.active(X), X, cube(len(space), seed=1))
    assert not np.array_equal(X, other)
    assert np.array_equal(space.canonical(X), space.canonical(other))


def test_a_grandchild_is_inactive_when_its_grandparent_switches_its_parent_off() -> None:
    space = Space.of(
        {
            "a": CategoricalDistribution(["on", "off"]),
            "b": CategoricalDistribution(["on", "off"]),
            "c": FloatDistribution(0, 1),
        },
        {"c": Condition("b", (0,)), "b": Condition("a", (0,))},
    )
    X = np.array([[0.25, 0.25, 0.9], [0.25, 0.75, 0.9], [0.75, 0.25, 0.9]])
    assert space.active(X).tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    assert space.decode(X) == [{"a": "on", "b": "on", "c": 0.9}, {"a": "on", "b": "off"}, {"a": "off"}]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("threshold", [0.2, 0.4, 0.5, 0.83])
def test_activity_is_decided_by_the_value_of_a_discrete_parent_not_by_the_place_in_its_cell(
    log: bool, threshold: float
) -> None:
    """Equal configurations are active alike, also where an interval condition ends inside a cell of its parent."""
    space = Space.of(
        {"n": IntDistribution(1, 3, log=log), "x": FloatDistribution(0, 1)}, {"x": Condition("n", None, threshold, 1.0)}
    )
    X = cube(2, 200)
    configurations = space.decode(X)
    for n in (1, 2, 3):
        assert len({"x" in c for c in configurations if c["n"] == n}) == 1, n
    assert np.array_equal(space.active(X), space.active(space.canonical(X)))
    encoded, _ = space.encode(space.decode(X, only_active=False))
    assert np.array_equal(space.active(encoded), space.active(space.canonical(X)))


def test_parents_come_before_children_with_any_names() -> None:
    space = nested()
    order = [space.names[j] for j in space.order]
    assert set(order) == set(CONDITIONS)
    assert order.index("mode") < order.index("warmup")


def test_cyclic_conditions_do_not_hang() -> None:
    distributions = {name: CategoricalDistribution(["x", "y"]) for name in "abc"}
    space = Space.of(distributions, {"a": Condition("b", (0,)), "b": Condition("a", (0,)), "c": Condition("c", (0,))})
    assert sorted(space.order) == [0, 1, 2]
    assert space.active(cube(3, 5)).shape == (5, 3)


def test_a_condition_on_an_unknown_parameter_is_left_out() -> None:
    space = Space.of({"a": FloatDistribution(0, 1)}, {"a": Condition("gone", (0,)), "gone": Condition("a", (0,))})
    assert space.conditions == {}
    assert space.active(cube(1, 5)).all()


@given(
    st.lists(st.one_of(continuous(), stepped(), integers(), categoricals()), min_size=1, max_size=6), st.integers(0, 99)
)
def test_canonical_is_idempotent_in_any_space(distributions: list[BaseDistribution], seed: int) -> None:
    space = Space.of({f"p{i}": d for i, d in enumerate(distributions)})
    X = space.canonical(cube(len(space), 20, seed))
    assert np.array_equal(space.canonical(X), X)
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    assert space.size() == math.prod(float(d.cells) if d.cells else math.inf for d in space.dimensions)


@st.composite
def trees(draw: st.DrawFn) -> Space:
    """A random space in which each parameter may depend on an earlier discrete one."""
    distributions = draw(st.lists(st.one_of(continuous(), integers(), categoricals()), min_size=2, max_size=6))
    space = Space.of({f"p{i}": d for i, d in enumerate(distributions)})
    conditions = {}
    for i in range(1, len(space)):
        parents = [j for j in range(i) if 2 <= space.dimensions[j].cells <= 12]
        if parents and draw(st.booleans()):
            parent = draw(st.sampled_from(parents))
            codes = draw(st.sets(st.integers(0, space.dimensions[parent].cells - 1), min_size=1))
            conditions[f"p{i}"] = Condition(f"p{parent}", tuple(sorted(codes)))
    return Space(space.dimensions, conditions)


@given(trees(), st.integers(0, 99))
def test_conditional_spaces_survive_encoding(space: Space, seed: int) -> None:
    X = space.canonical(cube(len(space), 20, seed))
    assert np.array_equal(space.canonical(X), X)
    active = space.active(X)
    assert (X[~active] == INACTIVE).all()
    rows = space.decode(X)
    assert [set(row) for row in rows] == [{n for n, on in zip(space.names, line, strict=True) if on} for line in active]
    back, fits = space.encode(rows)
    assert fits.all()
    np.testing.assert_allclose(back, X, rtol=0, atol=1e-9)
    for row, again in zip(rows, space.decode(space.canonical(back)), strict=True):
        assert row.keys() == again.keys()
        for name, value in row.items():
            if space.dimensions[space.index[name]].cells:
                assert same(again[name], value), name
            else:
                assert again[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@given(
    st.text(min_size=1),
    st.one_of(st.none(), st.lists(st.integers(0, 50), unique=True)),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_condition_survives_its_receipt(parent: str, codes: list[int] | None, low: float, high: float) -> None:
    assume(codes is None or codes)
    condition = Condition(parent, None, low, high) if codes is None else Condition(parent, tuple(codes))
    assert Condition.from_list(condition.to_list()) == condition


# ---------------------------------------------------------------------------------------- many at once


@pytest.mark.parametrize("conditional", [False, True])
def test_ten_thousand_configurations_encode_and_decode_as_one_by_one(conditional: bool) -> None:
    space = nested() if conditional else Space.of(NESTED)
    X = cube(len(space), 10_000)
    rows = space.decode(X)
    encoded, fits = space.encode(rows)
    assert encoded.shape == (10_000, len(space))
    assert fits.all()
    indices = np.random.default_rng(1).choice(10_000, 300, replace=False)
    for i in indices.tolist():
        assert space.decode(X[i : i + 1]) == [rows[i]]
        row, fit = space.encode([rows[i]])
        assert np.array_equal(row[0], encoded[i])
        assert fit.tolist() == [True]
    assert np.array_equal(space.canonical(X)[indices], np.vstack([space.canonical(X[i : i + 1]) for i in indices]))


def test_no_configuration_at_all_is_an_empty_array() -> None:
    space = nested()
    X, fits = space.encode([])
    assert X.shape == (0, len(space))
    assert fits.shape == (0,)
    assert space.decode(X) == []
    assert space.canonical(X).shape == (0, len(space))
