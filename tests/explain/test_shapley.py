"""Shapley values against known truths, all orders, axioms and shapiq."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.answers import shapley
from pellucid.answers.shapley import check_sample_size, coalition_values, interactions, shapley_values
from pellucid.numerics import Array

Function = Callable[[Array], Array]


TRUTH = np.array([-0.5, -0.125, -0.125])


def example(X: Array) -> Array:
    """theta_1 + theta_2 theta_3: two of three interact."""
    return X[:, 0] + X[:, 1] * X[:, 2]


def tangled(d: int, seed: int = 0, t: int = 2) -> Function:
    """t functions in which everything interacts with everything."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(d, d, t)), rng.normal(size=(d, t))
    return lambda X: np.prod(np.sin(np.einsum("nd,dkt->nkt", X, A) + 1.0), axis=1) + np.exp(X @ B)


def all_orders(fn: Function, x: Array, Z: Array) -> Array:
    """The definition: the gain of every coordinate, averaged over all d! orders."""
    total = 0.0 * fn(np.repeat(x[None], len(x), axis=0))
    for order in itertools.permutations(range(len(x))):
        mixed = Z.copy()
        value = fn(mixed).mean(axis=0)
        for j in order:
            mixed[:, j] = x[j]
            after = fn(mixed).mean(axis=0)
            total[j] += after - value
            value = after
    return np.asarray(total / math.factorial(len(x)))


# -------------------------------------------------------------------------------- the source's example


def test_the_example_is_exact_with_the_integral_as_background() -> None:
    # The function is linear in each coordinate, so two points per axis integrate it exactly.
    grid = np.array(list(itertools.product((0.25, 0.75), repeat=3)))
    attribution = shapley_values(example, np.zeros(3), grid, "exact")
    np.testing.assert_allclose(attribution.values, TRUTH, atol=1e-12)
    assert attribution.payout == pytest.approx(-0.75, abs=1e-12)
    assert attribution.average == pytest.approx(0.75, abs=1e-12)
    assert attribution.efficiency_gap == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(attribution.intervals[:, 0], attribution.intervals[:, 1])


def test_the_example_is_exact_against_its_centre_as_a_baseline() -> None:
    attribution = shapley_values(example, np.zeros(3), np.full(3, 0.5), "baseline")
    np.testing.assert_allclose(attribution.values, TRUTH, atol=1e-12)
    assert attribution.method == "baseline"


def test_sampled_intervals_cover_the_truth_at_their_level() -> None:
    rng = np.random.default_rng(3)
    held = []
    for seed in range(60):
        attribution = shapley_values(example, np.zeros(3), rng.random((4000, 3)), "sampled", n_samples=400, seed=seed)
        held.append((attribution.intervals[:, 0] <= TRUTH) & (attribution.intervals[:, 1] >= TRUTH))
        assert attribution.half_widths.max() < 0.05
    # 180 intervals of 95%, a third of them twins: 171 expected, sd about 4.
    assert np.mean(held) == pytest.approx(0.95, abs=0.05)


def test_every_walk_shares_out_its_own_payout() -> None:
    fn, rng = tangled(5), np.random.default_rng(0)
    x, Z = rng.random(5), rng.random((40, 5))
    orders = np.argsort(rng.random((40, 5)), axis=1)
    gains = shapley.gains_of_walks(fn, x, Z, range(5), orders)
    np.testing.assert_allclose(gains.sum(axis=1), fn(x[None]) - fn(Z), atol=1e-12)
    whole = shapley_values(fn, x, Z, "sampled", n_samples=80)
    np.testing.assert_allclose(whole.efficiency_gap, 0.0, atol=1e-12)


def test_walks_on_a_part_of_the_background_leave_a_gap_and_say_so() -> None:
    fn, rng = tangled(4), np.random.default_rng(0)
    attribution = shapley_values(fn, rng.random(4), rng.random((500, 4)), "sampled", n_samples=7)
    assert np.abs(attribution.efficiency_gap).max() > 1e-6
    assert attribution.n_samples == 7


# ----------------------------------------------------------------------------------------- brute force


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_enumeration_is_the_average_over_all_orders(d: int) -> None:
    fn, rng = tangled(d, seed=d), np.random.default_rng(d)
    x, Z = rng.random(d), rng.random((5, d))
    expected = all_orders(fn, x, Z)
    attribution = shapley_values(fn, x, Z)
    assert attribution.method == "exact"
    np.testing.assert_allclose(attribution.values, expected, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(attribution.efficiency_gap, 0.0, atol=1e-11)
    sampled = shapley_values(fn, x, Z, "sampled", n_samples=4000)
    assert (np.abs(sampled.values - expected) <= 2.5 * sampled.half_widths + 1e-11).all()


def test_players_that_are_left_out_come_from_the_background() -> None:
    fn, rng = tangled(4, t=1), np.random.default_rng(8)
    x, Z = rng.random(4), rng.random((6, 4))
    attribution = shapley_values(fn, x, Z, players=[2, 0])

    def worth(*columns: int) -> Array:
        mixed = Z.copy()
        mixed[:, columns] = x[list(columns)]
        return np.asarray(fn(mixed).mean(axis=0))

    none, only_2, only_0, all_players = worth(), worth(2), worth(0), worth(2, 0)
    np.testing.assert_allclose(attribution.values[0], 0.5 * (only_2 - none + all_players - only_0), atol=1e-12)
    np.testing.assert_allclose(attribution.values[1], 0.5 * (only_0 - none + all_players - only_2), atol=1e-12)


def test_many_players_are_sampled() -> None:
    def fn(X: Array) -> Array:
        return X @ np.arange(20.0)

    rng = np.random.default_rng(0)
    x, Z = rng.random(20), rng.random((100, 20))
    attribution = shapley_values(fn, x, Z)
    assert attribution.method == "sampled"
    # Additive: every walk is right about z, so that whole passes leave no error at all.
    np.testing.assert_allclose(attribution.values, (x - Z.mean(axis=0)) * np.arange(20.0), atol=1e-10)
    baseline = shapley_values(fn, x, Z[:1], "baseline")
    np.testing.assert_allclose(baseline.values, (x - Z[0]) * np.arange(20.0), atol=1e-12)


# ---------------------------------------------------------------------------------------------- axioms


numbers = st.floats(-3, 3, allow_nan=False).map(lambda v: round(v, 3))


@st.composite
def games(draw: st.DrawFn) -> tuple[int, Array, Array, Array]:
    d = draw(st.integers(2, 5))
    x = np.array(draw(st.lists(numbers, min_size=d, max_size=d)))
    Z = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=1, max_size=4)))
    w = np.array(draw(st.lists(numbers, min_size=d, max_size=d)))
    return d, x, Z, w


@pytest.mark.parametrize("method", ["exact", "sampled"])
@settings(max_examples=40, deadline=None)
@given(game=games(), a=numbers, b=numbers)
def test_axioms(method: shapley.Method, game: tuple[int, Array, Array, Array], a: float, b: float) -> None:
    """Efficiency, linearity across outputs, a dummy player gets its own value, symmetric players get the same."""
    d, x, Z, w = game
    x, Z = x.copy(), Z.copy()
    x[1], Z[:, 1] = x[0], Z[:, 0]  # Players 0 and 1 are symmetric below.

    def fn(X: Array) -> Array:
        first = np.tanh(X[:, 0]) * np.tanh(X[:, 1]) * (1.0 + np.cos(X[:, 2:]).sum(axis=1)) + X[:, -1] * w[-1] * (d > 2)
        second = np.sin(X[:, 0] + X[:, 1]) * np.prod(np.cos(X[:, 2:]), axis=1)
        return np.stack([first, second, a * first + b * second, np.zeros(len(X)), X[:, 0] + 0 * first], axis=1)

    n_samples = 3 * len(Z) if method == "sampled" else None
    attribution = shapley_values(fn, x, Z, method, n_samples=max(n_samples, 2) if n_samples else None)
    scale = 1.0 + np.abs(attribution.values).max()
    if method == "exact":
        np.testing.assert_allclose(attribution.efficiency_gap, 0.0, atol=1e-12 * scale * d)
        np.testing.assert_allclose(attribution.values[0, :2], attribution.values[1, :2], atol=1e-11 * scale)
    np.testing.assert_allclose(
        attribution.values[:, 2],
        a * attribution.values[:, 0] + b * attribution.values[:, 1],
        atol=1e-11 * scale * (1 + abs(a) + abs(b)),
    )
    np.testing.assert_array_equal(attribution.values[:, 3], 0.0)
    if method == "exact":
        np.testing.assert_allclose(
            attribution.values[:, 4], np.r_[x[0] - Z[:, 0].mean(), np.zeros(d - 1)], atol=1e-12 * scale
        )
    else:
        np.testing.assert_allclose(attribution.values[1:, 4], 0.0, atol=1e-12 * scale)


# ---------------------------------------------------------------------------------------- interactions


def test_interactions_of_the_example() -> None:
    v = coalition_values(example, np.zeros(3), np.array(list(itertools.product((0.25, 0.75), repeat=3))))
    effects = interactions(v)
    # v(S): theta_2 theta_3 loses 1/4 with either of the two, and nothing more with the other.
    assert effects[1, 2] == pytest.approx(0.25, abs=1e-12)
    assert effects[0, 1] == pytest.approx(0.0, abs=1e-12)
    assert effects[0,] == pytest.approx(-0.5, abs=1e-12)
    halves = effects[1,] + 0.5 * effects[1, 2]
    assert halves == pytest.approx(-0.125, abs=1e-12)


def test_shapiq_agrees_about_shapley_values() -> None:
    shapiq = pytest.importorskip("shapiq", reason="the interactions extra is not installed")
    fn, rng = tangled(5, t=1), np.random.default_rng(1)
    x, Z = rng.random(5), rng.random((7, 5))
    v = coalition_values(lambda X: fn(X)[:, 0], x, Z)
    peer = shapiq.ExactComputer(n_players=5, game=lambda S: v[np.asarray(S, dtype=int) @ 2 ** np.arange(5)] - v[0])
    np.testing.assert_allclose(
        shapley_values(fn, x, Z).values[:, 0], peer("SV", 1).get_n_order_values(1), rtol=1e-10, atol=1e-12
    )


# ------------------------------------------------------------------------------------ how many samples


def test_check_sample_size_is_the_sources_rule() -> None:
    fn, rng = tangled(4), np.random.default_rng(0)
    x, Z = rng.random(4), rng.random((300, 4))
    few = shapley_values(fn, x, Z, "sampled", n_samples=3)
    assert check_sample_size(few) == all(
        abs(few.efficiency_gap[k]) < min(abs(a - b) for a, b in itertools.combinations(few.values[:, k], 2))
        for k in range(2)
    )
    assert not check_sample_size(shapley_values(example, np.zeros(3), Z[:, :3], "sampled", n_samples=50))
    assert check_sample_size(shapley_values(fn, x, Z, "sampled", n_samples=600))


def test_ties_without_a_gap_need_no_more_samples() -> None:
    total = lambda X: X.sum(axis=1)  # noqa: E731
    for method in ("exact", "sampled"):
        attribution = shapley_values(total, np.ones(3), np.zeros((4, 3)), method, n_samples=8)  # type: ignore[arg-type]
        np.testing.assert_allclose(attribution.values, 1.0)
        assert check_sample_size(attribution)


def test_a_sampled_payout_leaves_other_columns_to_the_background() -> None:
    def fn(X: Array) -> Array:
        return X @ np.array([1.0, 10.0, 100.0])

    for method in ("exact", "sampled"):
        attribution = shapley_values(fn, np.ones(3), np.zeros((50, 3)), method, players=[0])  # type: ignore[arg-type]
        assert attribution.payout == pytest.approx(1.0)
        assert attribution.efficiency_gap == pytest.approx(0.0, abs=1e-12)


# ------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "best"}, "`method` is one of auto, exact, sampled, baseline, but got 'best'"),
        ({"n_samples": 1, "method": "sampled"}, "`n_samples` must be a whole number of at least 2"),
        ({"n_samples": 100.0, "method": "sampled"}, "`n_samples` must be a whole number of at least 2"),
        ({"players": [0, 0]}, "`players` must be different columns between 0 and 2"),
        ({"players": [3]}, "`players` must be different columns between 0 and 2"),
        ({"level": 1.0}, "`level` must be between 0 and 1"),
        ({"method": "baseline"}, "A baseline is one point, but `background` has 2 rows"),
    ],
)
def test_bad_arguments_are_explained(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        shapley_values(example, np.zeros(3), np.ones((2, 3)), **arguments)  # type: ignore[arg-type]


def test_bad_functions_and_shapes_are_explained() -> None:
    with pytest.raises(ValueError, match="they have shapes"):
        shapley_values(example, np.zeros(3), np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"must return \(n,\) or \(n, t\) numbers"):
        shapley_values(lambda X: np.zeros(3), np.zeros(3), np.ones((2, 3)))
    with pytest.raises(ValueError, match="must return finite numbers"):
        shapley_values(lambda X: np.full(len(X), np.nan), np.zeros(3), np.ones((2, 3)))
    with pytest.raises(ValueError, match="up to 12 players, but there are 13"):
        shapley_values(lambda X: X[:, 0], np.zeros(13), np.ones((2, 13)), "exact")


def test_wrong_coalition_values_and_indices_are_explained() -> None:
    with pytest.raises(ValueError, match="2\\^p coalitions"):
        interactions(np.zeros(5))
    with pytest.raises(ValueError, match="`index` is one of k-SII, SII, STII, FSII, but got 'foo'"):
        interactions(np.zeros(4), "foo")  # type: ignore[arg-type]
