"""Fronts, volumes, boxes against brute force; expected hypervolume improvement against quadrature and Monte Carlo."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from pellucid import pareto as fronts
from pellucid.numerics import Array, Mask, log_improvement, log_normal_cdf
from pellucid.pareto import Boxes, apart, behind, boxes, front, reference_point, volume, volumes
from pellucid.search.acquisition.hypervolume import log_ehvi, log_ehvi_at_most, log_ehvi_slopes
from pellucid.search.acquisition.improvement import log_expected_improvement

OBJECTIVES = (1, 2, 3, 4)
CONTINUOUS, TIED = "continuous", "tied"


def outcomes(k: int, n: int, seed: int, kind: str = CONTINUOUS) -> Array:
    """Rows around a curved front; `TIED`: on a coarse grid, with ties and duplicates."""
    rng = np.random.default_rng(seed)
    Y = -np.abs(rng.normal(size=(n, k)))
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True) * rng.uniform(0.7, 1.0, size=(n, 1))
    return np.asarray(np.round(4.0 * Y) if kind == TIED else Y)


def dominated(X: Array, Y: Array) -> Mask:
    """Which rows of X some row of Y weakly dominates."""
    return np.asarray((Y[None] <= X[:, None]).all(axis=2).any(axis=1))


def gains(X: Array, Y: Array, reference: Array) -> Array:
    """Volume that each row of X adds to Y, by inclusion and exclusion: a different way for every number."""
    new = np.maximum(reference - X, 0.0).prod(axis=1)
    for size in range(1, len(Y) + 1):
        for chosen in combinations(Y, size):
            corner = np.max(chosen, axis=0)
            new += (-1) ** size * np.maximum(reference - np.maximum(X, corner), 0.0).prod(axis=1)
    return np.asarray(new)


def candidates(k: int, q: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(-0.4, 0.5, size=(q, k)), rng.uniform(0.1, 0.6, size=(q, k))


# --------------------------------------------------------------------------------------------------------------- fronts


@pytest.mark.parametrize(("k", "kind"), list(product(OBJECTIVES, (CONTINUOUS, TIED))))
def test_the_front_is_what_no_other_row_dominates_and_the_first_of_equals(k: int, kind: str) -> None:
    Y = outcomes(k, 60, seed=k, kind=kind)
    for i, on_front in enumerate(front(Y)):
        better = (Y[i] >= Y).all(axis=1) & ((Y[i] > Y).any(axis=1) | (np.arange(len(Y)) < i))
        assert on_front == (not better.any())


def test_how_far_outcomes_are_behind_a_front_is_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = outcomes(3, 40, seed=0)
    members = Y[front(Y)]
    expected = [max(0.0, *(float(np.min(y - member)) for member in members)) for y in Y]
    for most in (10**6, 50):
        monkeypatch.setattr(fronts, "_MOST_DIFFERENCES", most)
        assert behind(Y, members).tolist() == expected
        # Draws of both, each with its own front.
        assert behind(np.stack([Y, Y]), np.stack([members, members])).tolist() == [expected, expected]
    assert not behind(Y, members[:0]).any()
    with np.errstate(invalid="raise"):
        assert behind(np.full((1, 3), np.inf), np.vstack([np.full((1, 3), np.inf), members])).tolist() == [np.inf]


def test_members_of_a_front_that_stand_for_it_have_its_ends_and_are_far_from_each_other() -> None:
    angles = np.linspace(0.0, 0.5 * np.pi, 91)
    Y = np.stack([-1e-9 * np.cos(angles), -1e9 * np.sin(angles)], axis=1)
    assert apart(Y, 100).tolist() == list(range(91))
    chosen = apart(Y, 7)
    assert chosen[[0, -1]].tolist() == [0, 90]
    assert np.diff(chosen).min() >= 10
    assert apart(np.zeros((5, 2)), 1).tolist() == [0]


def test_nan_is_never_on_the_front_and_infinity_only_if_nothing_is_better() -> None:
    Y = np.array([[np.nan, -9.0], [1.0, np.inf], [2.0, 2.0], [2.0, np.inf], [-np.inf, 3.0]])
    assert front(Y).tolist() == [False, False, True, False, True]
    assert front(np.array([[np.inf, np.inf]])).tolist() == [True]
    assert front(np.empty((0, 3))).tolist() == []


def test_five_objectives_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="1 to 4 objectives, but got 5"):
        front(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="one finite value per objective"):
        boxes(np.zeros((2, 2)), np.array([1.0, np.inf]))


@pytest.mark.parametrize(("k", "kind"), list(product(OBJECTIVES, (CONTINUOUS, TIED))))
def test_volumes_of_the_first_rows_are_those_of_each_alone(k: int, kind: str) -> None:
    Y = outcomes(k, 30, seed=k, kind=kind)
    Y[3], Y[4] = np.nan, np.inf
    reference = np.full(k, 0.1)
    expected = [volume(Y[:n], reference) for n in range(1, len(Y) + 1)]
    np.testing.assert_allclose(volumes(Y, reference), expected, rtol=1e-12)


@pytest.mark.parametrize(("k", "kind"), list(product(OBJECTIVES, (CONTINUOUS, TIED))))
def test_the_volume_is_that_of_inclusion_and_exclusion(k: int, kind: str) -> None:
    Y = outcomes(k, 9, seed=10 + k, kind=kind)
    reference = np.full(k, -0.1)
    lowest = Y.min(axis=0, keepdims=True) - 1.0
    expected = (reference - lowest).prod() - gains(lowest, Y, reference)[0]
    assert volume(Y, reference) == pytest.approx(expected, rel=1e-10)
    # Rows that are not better than the reference in every objective dominate no volume.
    beyond = np.vstack([Y, np.where(np.arange(k) == 0, 0.0, -50.0), reference, Y[:2]])
    assert volume(beyond, reference) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("k", [3, 4])
def test_the_volume_is_the_share_of_random_points_that_are_dominated(k: int) -> None:
    Y = outcomes(k, 40, seed=20 + k)
    reference = np.zeros(k)
    points = -np.random.default_rng(k).random((40_000, k))
    share = float(dominated(points, Y).mean())
    assert abs(volume(Y, reference) - share) < 4.5 * np.sqrt(share * (1.0 - share) / len(points))


def test_the_volume_of_nothing_is_zero() -> None:
    assert volume(np.empty((0, 3)), np.zeros(3)) == 0.0
    assert volume(np.array([[1.0, -1.0]]), np.zeros(2)) == 0.0


# ---------------------------------------------------------------------------------------------------------------- boxes


@pytest.mark.parametrize(("k", "kind"), list(product(OBJECTIVES, (CONTINUOUS, TIED))))
def test_a_point_is_in_one_box_if_nothing_dominates_it_and_in_none_otherwise(k: int, kind: str) -> None:
    Y = np.vstack([outcomes(k, 25, seed=30 + k, kind=kind), np.where(np.arange(k) == 0, 0.5, -9.0)])
    reference = np.zeros(k)
    rng = np.random.default_rng(k)
    spread = 5.0 if kind == TIED else 1.2
    points = rng.uniform(-spread, 0.2, size=(4000, k))
    # Corners of the grid that the rows span: each box has its lower faces and not its upper ones.
    corners = np.stack([rng.choice(np.r_[Y[:, i], reference[i]], 4000) for i in range(k)], axis=1)
    points = np.vstack([points, corners])
    cover = boxes(Y, reference)
    inside = ((cover.lower <= points[:, None]) & (points[:, None] < cover.upper)).all(axis=2).sum(axis=1)
    free = (points < reference).all(axis=1) & ~dominated(points, Y)
    assert 0.02 < free.mean() < 0.98
    np.testing.assert_array_equal(inside, free.astype(int))
    assert (cover.lower < cover.upper).all()


@pytest.mark.parametrize("kind", [CONTINUOUS, TIED])
def test_two_objectives_have_one_box_more_than_the_front_and_three_at_most_twice_as_many(kind: str) -> None:
    for seed in range(20):
        two, three = outcomes(2, 15, seed, kind), outcomes(3, 30, seed, kind)
        assert len(boxes(two, np.ones(2))) == front(two).sum() + 1
        assert len(boxes(three, np.ones(3))) <= 2 * front(three).sum() + 1
        if kind == CONTINUOUS:
            assert len(boxes(three, np.ones(3))) == 2 * front(three).sum() + 1


@pytest.mark.parametrize("k", OBJECTIVES)
def test_without_a_row_below_the_reference_one_box_has_everything(k: int) -> None:
    for Y in (np.empty((0, k)), np.ones((2, k)), np.full((1, k), np.nan)):
        cover = boxes(Y, np.ones(k))
        np.testing.assert_array_equal(cover.lower, np.full((1, k), -np.inf))
        np.testing.assert_array_equal(cover.upper, np.ones((1, k)))


# ------------------------------------------------------------------------------------------------------ reference point


@pytest.mark.parametrize(("k", "n"), list(product(OBJECTIVES, (1, 2, 3, 5, 40))))
def test_the_reference_is_beyond_the_front_and_one_bad_trial_does_not_move_it(k: int, n: int) -> None:
    Y = outcomes(k, n, seed=n + k) * 10.0 ** np.arange(-k, k, 2)
    reference = reference_point(Y)
    assert (Y[front(Y)] < reference).all()
    spread = np.ptp(Y, axis=0) + np.abs(Y).min(axis=0)
    for bad in (1e6 * np.abs(Y).max(axis=0), np.where(np.arange(k) == 0, 1e6 * np.abs(Y).max(), Y.max(axis=0))):
        moved = reference_point(np.vstack([Y, bad]))
        # With one or two trials there is no telling what is usual, but the move is still of their size.
        assert (np.abs(moved - reference) <= (1.1 * spread if n < 3 else 1e-12)).all()


def test_the_reference_is_a_tenth_of_the_spread_beyond_the_worst_trial_if_there_are_no_outliers() -> None:
    Y = np.random.default_rng(1).normal(size=(50, 3))
    np.testing.assert_allclose(reference_point(Y), Y.max(axis=0) + 0.1 * np.ptp(Y, axis=0))


def test_the_end_of_a_front_is_never_an_outlier() -> None:
    Y = np.vstack([outcomes(2, 30, seed=3), [-5.0, 1e6]])
    assert reference_point(Y)[1] > 1e6


@pytest.mark.parametrize(
    "Y",
    [[[3.0, 0.0]], [[3.0, 0.0]] * 4, [[1.0, 5.0], [2.0, 5.0]], [[1e16, 1.0], [1e16 + 2.0, 0.0]], [[-1e308, 1e308]] * 2],
)
def test_constant_columns_and_single_rows_have_a_reference(Y: list[list[float]]) -> None:
    rows = np.array(Y)
    reference = reference_point(rows)
    assert np.isfinite(reference).all()
    assert (rows[front(rows)] < reference).all()


def test_rows_with_nan_or_infinity_do_not_move_the_reference() -> None:
    Y = outcomes(2, 10, seed=5)
    bad = np.array([[np.nan, 1.0], [np.inf, -9.0], [-np.inf, 0.0]])
    np.testing.assert_array_equal(reference_point(np.vstack([Y, bad])), reference_point(Y))
    with pytest.raises(ValueError, match="at least one row of finite outcomes"):
        reference_point(bad)


# ------------------------------------------------------------------------------------------------- expected improvement


def panels(m: float, s: float, breaks: Array) -> tuple[Array, Array]:
    """Nodes and weights of a Gauss-Legendre rule for the density N(m, s^2) below the last break, with kinks at all."""
    last = float(breaks.max())
    edges = np.unique(
        np.r_[np.clip(breaks, m - 9.0 * s, last), np.clip(m + s * np.arange(-9.0, 10.0, 2.0), None, last)]
    )
    x, w = np.polynomial.legendre.leggauss(12)
    half, middle = np.diff(edges)[:, None] / 2.0, (edges[1:, None] + edges[:-1, None]) / 2.0
    nodes = (middle + half * x).ravel()
    return nodes, (half * w).ravel() * np.exp(-0.5 * ((nodes - m) / s) ** 2) / (s * np.sqrt(2.0 * np.pi))


@pytest.mark.parametrize(("k", "rows", "q"), [(2, 5, 6), (3, 3, 2)])
def test_ehvi_is_the_integral_of_the_gain(k: int, rows: int, q: int) -> None:
    Y, reference = outcomes(k, rows, seed=40 + k), np.zeros(k)
    m, s = candidates(k, q, seed=k)
    for mean, sd, value in zip(m, s, log_ehvi(m, s, boxes(Y, reference)), strict=True):
        rules = [panels(mean[i], sd[i], np.r_[Y[:, i], reference[i]]) for i in range(k)]
        grid = np.stack(np.meshgrid(*(nodes for nodes, _ in rules), indexing="ij"), axis=-1).reshape(-1, k)
        weights = np.stack(np.meshgrid(*(w for _, w in rules), indexing="ij"), axis=-1).reshape(-1, k).prod(axis=1)
        assert np.exp(value) == pytest.approx(float(weights @ gains(grid, Y, reference)), rel=1e-8)


@pytest.mark.parametrize(("k", "kind"), list(product((2, 3, 4), (CONTINUOUS, TIED))))
def test_ehvi_is_the_mean_gain_of_draws(k: int, kind: str) -> None:
    Y, reference = outcomes(k, 6, seed=50 + k, kind=kind), np.zeros(k)
    m, s = candidates(k, 6, seed=60 + k)
    tested = 0
    if kind == TIED:
        m, s = 4.0 * m, 4.0 * s
    rng = np.random.default_rng(k)
    for mean, sd, value in zip(m, s, log_ehvi(m, s, boxes(Y, reference)), strict=True):
        draws = gains(mean + sd * rng.standard_normal((20_000, k)), Y[front(Y)], reference)
        if (draws > 1e-9).sum() < 50:
            continue  # Too rare for a reliable standard error.
        tested += 1
        assert abs(np.exp(value) - draws.mean()) < 4.5 * draws.std() / np.sqrt(len(draws))
    assert tested >= 4


def test_with_one_objective_it_is_the_expected_improvement() -> None:
    Y = outcomes(1, 8, seed=1)
    m = np.r_[np.linspace(-5.0, 5.0, 41), 30.0, 1e3, 1e6]
    for sd in (1.0, 0.1, 1e-8):
        s = np.full_like(m, sd)
        value = log_ehvi(m[:, None], s[:, None], boxes(Y, np.ones(1)))
        np.testing.assert_allclose(value, log_expected_improvement(m, s, float(Y.min())), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("k", OBJECTIVES)
def test_slopes_are_central_differences(k: int) -> None:
    cover = boxes(outcomes(k, 12, seed=70 + k), np.zeros(k))
    m, s = candidates(k, 300, seed=80 + k)
    m[::3] += 2.0  # Some are hopeless, so that both ways of computing are tested.
    m[::6] += 20.0
    value, by_m, by_s = log_ehvi_slopes(m, s, cover)
    np.testing.assert_allclose(value, log_ehvi(m, s, cover), rtol=1e-13, atol=1e-13)
    for i in range(k):
        step = 1e-5 * s * (np.arange(k) == i)
        wide = 2.0 * step[:, i]
        for slope, ahead, back in (
            (by_m, (m + step, s), (m - step, s)),
            (by_s, (m, s + step), (m, s - step)),
        ):
            numeric = (log_ehvi(*ahead, cover) - log_ehvi(*back, cover)) / wide
            np.testing.assert_allclose(slope[:, i], numeric, rtol=3e-5, atol=1e-4)


# ---------------------------------------------------------------------------------------------------------------- tails


def assert_sensible(m: Array, s: Array, cover: Boxes) -> Array:
    value, by_m, by_s = log_ehvi_slopes(m, s, cover)
    assert all(np.isfinite(part).all() for part in (value, by_m, by_s))
    assert (by_m <= 0.0).all()
    return value


@pytest.mark.parametrize("k", OBJECTIVES)
@pytest.mark.parametrize("sd", [1.0, 1e-3, 1e-8, 0.0])
@pytest.mark.parametrize("rows", [0, 1, 12])
def test_hopeless_candidates_are_ordered_and_know_the_way_back(k: int, sd: float, rows: int) -> None:
    Y = np.repeat(outcomes(k, rows, seed=k), 2, axis=0)
    away = np.array([0.0, 1.0, 5.0, 15.0, 16.0, 30.0, 36.0, 37.0, 39.0, 1e2, 1e3, 1e5, 1e8])[:, None] * max(sd, 1e-8)
    value = assert_sensible(0.1 + away + np.zeros((1, k)), np.full((len(away), k), sd), boxes(Y, np.zeros(k)))
    assert (np.diff(value) < 0.0).all()


def test_far_out_the_nearest_box_is_what_counts() -> None:
    """One row at (0, 0) leaves two boxes open; 30 and 1,000 standard deviations away both have a closed form."""
    cover = boxes(np.zeros((1, 2)), np.ones(2))
    for z in (30.0, 1e3):
        m = np.array([[z, z], [z, 0.5], [0.5, z + 5.0]])
        left = log_improvement(-m[:, 0]) + log_improvement(1.0 - m[:, 1])
        strip = log_improvement(1.0 - m[:, 0]) + np.log1p(
            -np.exp(log_improvement(-m[:, 0]) - log_improvement(1.0 - m[:, 0]))
        )
        expected = np.logaddexp(left, strip + log_improvement(-m[:, 1]))
        np.testing.assert_allclose(log_ehvi(m, np.ones_like(m), cover), expected, rtol=1e-12)


def test_far_out_slopes_are_those_of_the_squared_distance() -> None:
    m = np.array([[1e3, 2e3, 3e3], [1e6, 1e6, 1e6]])
    _, by_m, by_s = log_ehvi_slopes(m, np.ones_like(m), boxes(outcomes(3, 9, seed=1), np.zeros(3)))
    np.testing.assert_allclose(by_m, -m, rtol=2e-3)
    np.testing.assert_allclose(by_s, m * m, rtol=4e-3)


def test_rows_that_differ_in_the_last_digit_do_no_harm() -> None:
    step = np.arange(8.0)[:, None] * np.array([[1.0, -1.0]]) * 1e-15
    m, s = candidates(2, 200, seed=3)
    for shift in ([0.0, 0.0], [30.0, 30.0], [3.0, 30.0], [30.0, 3.0]):
        close = assert_sensible(m + shift, s, boxes(step - 0.5, np.zeros(2)))
        np.testing.assert_allclose(close, log_ehvi(m + shift, s, boxes(np.full((1, 2), -0.5), np.zeros(2))), rtol=1e-10)


def test_a_narrow_box_far_out_keeps_its_digits() -> None:
    """Where both ends have a log h of -5e9, whose last digit is 1e-6, and differ by 1e-4."""
    m, s = np.full((1, 1), 1e5), np.ones((1, 1))
    for width in (1e-9, 2e-9, 5e-9):
        narrow = Boxes(np.array([[-width]]), np.zeros((1, 1)))
        value, by_m, by_s = log_ehvi_slopes(m, s, narrow)
        # D = width Phi(z) in the middle of the box; d log Phi = -z, and z^2 - 1 for s.
        assert value[0] - float(log_normal_cdf(np.array(-1e5))) == pytest.approx(
            np.log(width) - 0.5e5 * width, abs=1e-5
        )
        assert by_m[0, 0] == pytest.approx(-1e5, rel=1e-6)
        assert by_s[0, 0] == pytest.approx(1e10, rel=1e-6)


@pytest.mark.parametrize("k", OBJECTIVES)
def test_an_sd_of_zero_is_a_known_outcome(k: int) -> None:
    Y, reference = outcomes(k, 6, seed=k), np.zeros(k)
    m = candidates(k, 100, seed=k)[0]
    gained = gains(m, Y, reference)
    promising = gained > 1e-9
    assert promising.sum() > 10
    for s in (np.zeros_like(m), np.full_like(m, 1e-250)):
        value = assert_sensible(m, s, boxes(Y, reference))
        np.testing.assert_allclose(value[promising], np.log(gained[promising]), rtol=1e-6)
        assert (value[~promising] < -1e30).all()


def test_nothing_is_left_to_gain_below_minus_infinity() -> None:
    value, by_m, by_s = log_ehvi_slopes(np.zeros((3, 2)), np.ones((3, 2)), boxes(np.full((1, 2), -np.inf), np.ones(2)))
    assert (value == -np.inf).all()
    assert not np.any([by_m, by_s])


def test_a_candidate_with_nan_harms_no_other() -> None:
    cover = boxes(outcomes(2, 5, seed=1), np.zeros(2))
    m, s = candidates(2, 5, seed=2)
    broken = m.copy()
    broken[2, 1] = np.nan
    np.testing.assert_array_equal(log_ehvi(broken, s, cover)[[0, 1, 3, 4]], log_ehvi(m, s, cover)[[0, 1, 3, 4]])
    with pytest.raises(ValueError, match="one column per objective, here 2"):
        log_ehvi(m[:, :1], s[:, :1], cover)


# ---------------------------------------------------------------------------------------------------------- invariances


@pytest.mark.parametrize("k", [2, 3, 4])
def test_order_of_rows_and_objectives_and_shifts_do_not_matter(k: int) -> None:
    Y, reference = outcomes(k, 12, seed=90 + k), np.zeros(k)
    m, s = candidates(k, 30, seed=90 + k)
    value = log_ehvi(m, s, boxes(Y, reference))
    rng = np.random.default_rng(k)
    rows, columns, shift = rng.permutation(len(Y)), rng.permutation(k), rng.normal(size=k)
    same = [
        log_ehvi(m, s, boxes(Y[rows], reference)),
        log_ehvi(m[:, columns], s[:, columns], boxes(Y[:, columns], reference)),
        log_ehvi(m + shift, s, boxes(Y + shift, reference + shift)),
        log_ehvi(m, s, boxes(np.vstack([Y, Y, Y + 0.01, np.full(k, 9.0)]), reference)),
    ]
    for other in same:
        np.testing.assert_allclose(other, value, rtol=1e-10, atol=1e-10)
    assert volume(Y[rows][:, columns], reference) == pytest.approx(volume(Y, reference), rel=1e-12)


@pytest.mark.parametrize("k", OBJECTIVES)
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e7, 1e300])
def test_scales_multiply_the_improvement(k: int, scale: float) -> None:
    Y, reference = outcomes(k, 12, seed=k), np.zeros(k)
    m, s = candidates(k, 30, seed=k)
    m[::3] += 9.0
    scales = np.where(np.arange(k) == 0, scale, np.sqrt(scale))
    value, by_m, _ = log_ehvi_slopes(m, s, boxes(Y, reference))
    scaled, by_scaled, _ = log_ehvi_slopes(m * scales, s * scales, boxes(Y * scales, reference))
    np.testing.assert_allclose(scaled - np.log(scales).sum(), value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_scaled * scales, by_m, rtol=1e-8)
    np.testing.assert_allclose(reference_point(Y * scales) / scales, reference_point(Y), rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_a_bound_is_exact_near_the_front_and_holds_far_from_it(k: int) -> None:
    rng = np.random.default_rng(k)
    Y = rng.normal(size=(20, k))
    left = boxes(Y, np.full(k, 2.0))
    m, s = rng.normal(scale=30.0, size=(400, k)), np.exp(rng.normal(size=(400, k)))
    exact, bound = log_ehvi(m, s, left), log_ehvi_at_most(m, s, left)
    near = exact > -50.0
    assert near.any()
    assert not near.all()
    np.testing.assert_allclose(bound[near], exact[near], rtol=1e-10)
    assert (bound >= exact - 1e-9).all()
    assert (log_ehvi_at_most(m, 2.0 * s, boxes(Y[::4], np.full(k, 2.0))) >= exact - 1e-9).all()
