"""The parts that answers about fronts are made of: lengths, exchange rates and roles, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from pellucid.answers.fronts.exchange import FrontCurve, best_second, exchange_rates
from pellucid.answers.fronts.roles import Moves, moves, parameter_roles
from pellucid.beliefs.front_members import spread_of
from pellucid.pareto import behind
from pellucid.space.encoding import Space

INF = np.inf


def test_the_spread_is_that_of_the_front_or_of_everything_if_the_front_is_a_point() -> None:
    assert spread_of(np.array([[0.0, 2.0], [1.0, 0.0], [9.0, 9.0]])).tolist() == [1.0, 2.0]
    assert spread_of(np.array([[0.0, 0.0], [4.0, 5.0], [INF, 0.0]])).tolist() == [4.0, 5.0]
    assert spread_of(np.empty((0, 2))).tolist() == [0.0, 0.0]


def test_the_best_second_objective_at_a_level_is_a_minimum_over_those_that_reach_it() -> None:
    rng = np.random.default_rng(1)
    F, levels = rng.random((5, 30, 2)), np.array([0.2, 0.5, 0.9])
    F[:, :4] = INF
    for draw, row in zip(F, best_second(F, levels), strict=True):
        reached = [draw[draw[:, 0] <= level, 1] for level in levels]
        expected = [values.min() if len(values) else draw[np.argmin(draw[:, 0]), 1] for values in reached]
        np.testing.assert_allclose(row, expected)


def known_front(n: int = 400) -> np.ndarray:
    """Draws of b = (1 - a)^2, shifted, with a cloud behind it."""
    rng = np.random.default_rng(2)
    a = np.sort(rng.random(n))
    curve = np.c_[a, (1.0 - a) ** 2]
    cloud = curve + rng.random((n, 2))
    shifts = 0.02 * rng.standard_normal((50, 1, 1))
    return np.vstack([curve, cloud])[None] + shifts * [0.0, 1.0]


def test_rates_and_knee_of_a_known_front() -> None:
    F = known_front()
    curve = FrontCurve.of(F)
    assert curve is not None
    levels = curve.coarse()
    assert (np.diff(levels) > 0.05).all()
    rates = exchange_rates(F, levels, 0)
    truth = -np.diff((1.0 - levels) ** 2) / np.diff(levels)
    # Between 400 candidates the front is known to about 0.005, over steps of at least 0.15.
    np.testing.assert_allclose(np.median(rates, axis=0), truth, atol=0.06)
    assert (rates >= 0.0).all()
    # The curve is farthest below its chord in the middle, by a quarter.
    below = curve.below().mean(axis=0)
    assert below.max() == pytest.approx(0.25, abs=0.02)
    assert curve.levels[int(np.argmax(below))] == pytest.approx(0.5, abs=0.1)


def test_a_single_best_configuration_is_no_front() -> None:
    F = np.random.default_rng(3).random((20, 10, 2)) + 1.0
    F[:, 0] = 0.0
    assert FrontCurve.of(F) is None
    assert FrontCurve.of(np.full((3, 4, 2), INF)) is None


def test_behind_is_the_least_that_both_objectives_have_to_gain() -> None:
    front_outcomes = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    G = np.array([[[0.0, 1.0], [0.5, 0.5], [1.2, 0.7], [0.3, 1.1], [INF, INF]]])
    np.testing.assert_allclose(behind(G, front_outcomes)[0], [0.0, 0.0, 0.2, 0.1, INF])


SPACE = Space.of(
    {"a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1), "kind": CategoricalDistribution(["u", "v"])}
)


def test_moves_change_one_parameter_at_a_time() -> None:
    members = SPACE.canonical(np.array([[0.1, 0.2, 0.25], [0.9, 0.2, 0.25]]))
    moved = moves(SPACE, members)
    changed = np.abs(moved.X - members[moved.origin]) > 1e-9
    assert (changed.sum(axis=1) == 1).all()
    assert (np.argmax(changed, axis=1) == moved.column).all()
    assert set(moved.column[moved.borrowed]) == {0}  # Only `a` differs between the ends.


def outcomes(X: np.ndarray, together: bool) -> np.ndarray:
    """`a` moves along the front b = 1 - a, alone or only if `b` moves too; `kind` does nothing."""
    off = np.abs(X[:, 1] - (X[:, 0] if together else 0.2))
    return np.c_[X[:, 0] + off, 1.0 - X[:, 0] + off]


@pytest.mark.parametrize(("together", "roles"), [(False, ("trades", "wastes")), (True, ("trades", "trades"))])
def test_roles_of_a_known_function(together: bool, roles: tuple[str, str]) -> None:
    a = np.linspace(0.1, 0.9, 5)
    members = SPACE.canonical(np.c_[a, a if together else np.full(5, 0.2), np.full(5, 0.25)])
    moved = moves(SPACE, members)
    noise = 0.005 * np.random.default_rng(0).standard_normal((60, len(members) + len(moved.X), 2))
    G = outcomes(np.vstack([members, moved.X]), together) + noise
    found = {role.param: role for role in parameter_roles(SPACE, moved, G, len(members))}
    assert (found["a"].role, found["b"].role, found["kind"].role) == (*roles, "neither")
    if not together:
        assert found["a"].traded > 0.5
        assert found["b"].wasted_low > 0.2


def test_what_draws_do_not_tell_is_not_known() -> None:
    members = SPACE.canonical(np.array([[0.1, 0.2, 0.25], [0.9, 0.2, 0.25]]))
    moved = moves(SPACE, members)
    noise = np.random.default_rng(1).standard_normal((200, len(members) + len(moved.X), 2))
    G = outcomes(np.vstack([members, moved.X]), False) + noise
    assert {role.role for role in parameter_roles(SPACE, moved, G, len(members))} == {"not known"}
    nothing = Moves(moved.X[:0], moved.origin[:0], moved.column[:0], moved.borrowed[:0])
    roles = parameter_roles(SPACE, nothing, G[:, : len(members)], len(members))
    assert [role.role for role in roles] == ["not known"] * 3
