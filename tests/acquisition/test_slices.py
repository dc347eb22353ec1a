"""A slice of a space: held values stay, free parameters keep their conditions, inactive ones are not searched."""

from __future__ import annotations

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from tests.problems import central_difference

from pellucid.models import GaussianProcess
from pellucid.search.acquisition import LCB
from pellucid.search.acquisition.base import Situation
from pellucid.search.acquisition.slices import OnSlice, Slice
from pellucid.space.encoding import Condition, Space

UNIT = FloatDistribution(0.0, 1.0)
SPACE = Space.of(
    {
        "opt": CategoricalDistribution(["sgd", "adam"]),
        "momentum": UNIT,
        "nesterov": CategoricalDistribution([True, False]),
        "damp": UNIT,
        "x": UNIT,
        "n": IntDistribution(1, 4),
    },
    {
        "momentum": Condition("opt", codes=(0,)),
        "nesterov": Condition("opt", codes=(0,)),
        "damp": Condition("nesterov", codes=(0,)),
    },
)


def encoded(**values: object) -> dict[str, float]:
    return {name: float(SPACE.dimensions[SPACE.index[name]].encode([value])[0][0]) for name, value in values.items()}


def test_children_of_a_held_parent_exist_always_or_never() -> None:
    with_sgd = Slice.of(SPACE, encoded(opt="sgd"))
    assert with_sgd.free.names == ("momentum", "nesterov", "damp", "x", "n")
    assert set(with_sgd.free.conditions) == {"damp"}
    assert Slice.of(SPACE, encoded(opt="adam")).free.names == ("x", "n")
    # A held parent that exists only sometimes passes its own condition on.
    nested = Slice.of(SPACE, encoded(nesterov=True))
    assert nested.free.conditions["damp"].parent == "opt"
    assert Slice.of(SPACE, encoded(nesterov=False)).free.names == ("opt", "momentum", "x", "n")


def test_rows_come_back_canonical() -> None:
    part = Slice.of(SPACE, encoded(momentum=0.25, n=3))
    rows = np.random.default_rng(0).random((50, len(part.free)))
    whole = part.embedded(rows)
    np.testing.assert_array_equal(whole, SPACE.canonical(whole))
    sgd = SPACE.dimensions[0].code(whole[:, 0]) == 0
    assert (whole[sgd, 1] == 0.25).all()
    assert (whole[~sgd, 1] == 0.5).all()
    assert {configuration["n"] for configuration in SPACE.decode(whole)} == {3}
    assert Slice.of(SPACE, {}).free.names == SPACE.names


def fitted() -> GaussianProcess:
    rng = np.random.default_rng(0)
    X = SPACE.canonical(rng.random((40, len(SPACE))))
    y = (X[:, 4] - 0.7) ** 2 + 0.3 * X[:, 5] + 0.2 * X[:, 1] + 0.5 * (X[:, 0] > 0.5)
    return GaussianProcess().unfitted(SPACE.nominal).fit(X, y)


def test_scores_and_gradients_are_those_of_the_whole() -> None:
    gp = fitted()
    function = LCB(2.0).bind(gp, Situation(0.0, 40, len(SPACE)), SPACE)
    part = Slice.of(SPACE, encoded(opt="sgd", nesterov=False, n=2))
    inside = OnSlice(function, part)
    X = np.random.default_rng(1).random((5, len(part.free)))
    np.testing.assert_array_equal(inside.score(X), function.score(part.embedded(X)))
    score, gradient = inside.score_with_gradient(X)
    np.testing.assert_allclose(score, inside.score(X), rtol=1e-10)
    for i, row in enumerate(X):
        expected = central_difference(lambda x: float(inside.score(x[None])[0]), row, 1e-5)
        np.testing.assert_allclose(gradient[i], expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_a_slice_stays_in_it_and_beats_random_configurations(seed: int) -> None:
    gp = fitted()
    function = LCB(2.0).bind(gp, Situation(0.0, 40, len(SPACE)), SPACE)
    held = encoded(opt="adam", n=4)
    part = Slice.of(SPACE, held)
    rng = np.random.default_rng(seed)
    seen = SPACE.canonical(rng.random((40, len(SPACE))))
    x = part.best(function, seen, seen, rng, 1e-6)
    assert x[0] == held["opt"]
    assert x[5] == held["n"]
    others = part.embedded(np.random.default_rng(99).random((2000, len(part.free))))
    assert function.score(x[None])[0] >= function.score(others).max() - 1e-6


def test_known_configurations_of_a_slice_are_not_proposed_again() -> None:
    gp = fitted()
    function = LCB(2.0).bind(gp, Situation(0.0, 40, len(SPACE)), SPACE)
    part = Slice.of(SPACE, encoded(opt="adam", x=0.5, momentum=0.5, nesterov=True, damp=0.5))
    assert part.free.names == ("n",)
    rng = np.random.default_rng(0)
    seen = np.empty((0, len(SPACE)))
    proposed = []
    for _ in range(4):
        x = part.best(function, SPACE.canonical(rng.random((10, len(SPACE)))), seen, rng, 1e-6)
        proposed.append(SPACE.decode(x[None])[0]["n"])
        seen = np.vstack([seen, x])
    assert sorted(proposed) == [1, 2, 3, 4]
