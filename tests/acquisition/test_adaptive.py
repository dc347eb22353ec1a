"""The parts of the policies against brute force and independently written references."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import trim_mean
from tests.problems import noisy_problem

from pellucid.models import GaussianProcess
from pellucid.numerics import Array
from pellucid.search.acquisition import EI, WEI
from pellucid.search.acquisition.adaptive import adjust_now, moving_iqm, upper_bound_regret
from pellucid.search.acquisition.base import Situation
from pellucid.search.acquisition.bounds import confidence_width
from pellucid.space.encoding import Space


def random_series(rng: np.random.Generator) -> Array:
    """A UBR-like series: falling, with steps, plateaus, noise and ties."""
    n = int(rng.integers(1, 80))
    kind = rng.integers(4)
    if kind == 0:
        return rng.random(n)
    if kind == 1:
        return np.round(rng.random(n) * 3)
    if kind == 2:
        return np.full(n, rng.normal())
    return 100.0 * np.exp(-0.1 * np.arange(n)) + rng.exponential(0.3, n) * (rng.random(n) < 0.3)


def reference_adjust(ubr: list[float], window: int, epsilon: float) -> list[bool]:
    """Step by step, from the series up to that step only, in plain Python and NumPy."""
    out: list[bool] = []
    smooth: list[float] = []
    for t in range(len(ubr)):
        recent = sorted(([ubr[0]] * (window - 1) + ubr[: t + 1])[-window:])
        cut = int(0.25 * window)
        smooth.append(sum(recent[cut : window - cut]) / (window - 2 * cut))
        if t < window:
            out.append(False)
            continue
        slopes = np.gradient(smooth)
        out.append(bool(np.isclose(slopes[-1], 0.0, rtol=0.0, atol=epsilon * np.abs(slopes).max())))
    return out


def test_moving_iqm_is_the_trimmed_mean_of_every_window() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        series, window = random_series(rng), int(rng.integers(1, 12))
        padded = np.concatenate([np.full(window - 1, series[0]), series])
        expected = [trim_mean(padded[i : i + window], 0.25) for i in range(len(series))]
        np.testing.assert_allclose(moving_iqm(series, window), expected, rtol=1e-12, atol=1e-12)
    assert len(moving_iqm([])) == 0


def test_adjust_now_equals_a_reference_on_a_thousand_series() -> None:
    rng = np.random.default_rng(1)
    fired = 0
    for _ in range(1000):
        series = random_series(rng)
        window, epsilon = int(rng.choice([1, 3, 7, 10])), float(rng.choice([0.05, 0.1, 0.5, 1.0]))
        triggers = adjust_now(series, window, epsilon)
        assert triggers.tolist() == reference_adjust(series.tolist(), window, epsilon)
        fired += int(triggers.sum())
    assert fired > 1000


def test_adjust_now_never_looks_ahead_and_a_long_memory_is_no_different_from_none() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        series = random_series(rng)
        for memory in (None, 5):
            whole = adjust_now(series, memory=memory)
            for t in range(1, len(series)):
                assert adjust_now(series[:t], memory=memory).tolist() == whole[:t].tolist()
        assert adjust_now(series, memory=len(series) + 1).tolist() == adjust_now(series).tolist()


def test_a_trigger_that_forgets_is_not_blinded_by_a_steep_start() -> None:
    late = 1.0 + 0.5 * np.abs(np.arange(60) % 20 - 10.0) / 10.0
    series = np.concatenate([1e4 * np.exp(-np.arange(20)), late])
    always, forgetting = adjust_now(series)[30:], adjust_now(series, memory=20)[42:]
    assert always.all(), "next to the first slopes everything looks like rest"
    assert not forgetting.all()


@pytest.mark.parametrize("warp", [None, "auto"])
@pytest.mark.parametrize("seed", range(4))
def test_upper_bound_regret_against_a_fine_grid(seed: int, warp: str | None) -> None:
    X, y = noisy_problem(seed, 20, 2, noise=0.01)
    y = np.exp(y) if warp else y
    gp = GaussianProcess(warp=warp).fit(X, y)
    space = Space.of({"a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1)})
    ubr, min_ucb, min_lcb = upper_bound_regret(gp, X, space)
    width = confidence_width(2, 20)

    m, s = gp.latent(X)
    better = np.argsort(m)[:10]
    assert min_ucb == pytest.approx(float(gp.losses((m + width * s)[better]).min()), rel=1e-9)
    axis = np.linspace(0, 1, 201)
    grid = np.stack([a.ravel() for a in np.meshgrid(axis, axis)], axis=1)
    m, s = gp.latent(grid)
    by_grid = float(gp.losses(m - width * s).min())
    spread = float(np.ptp(y))
    assert min_lcb <= by_grid + 1e-3 * spread, "a real minimiser is at least as low as a grid of 40,000 points"
    assert min_lcb >= by_grid - 1e-2 * spread
    assert ubr == pytest.approx(min_ucb - min_lcb)
    assert ubr > 0.0


def test_upper_bound_regret_in_a_discrete_space_is_exact() -> None:
    space = Space.of(
        {"n": IntDistribution(1, 8), "c": CategoricalDistribution(["x", "y", "z"]), "k": IntDistribution(0, 4)}
    )
    configurations = np.array(list(itertools.product(*(d.midpoint(np.arange(d.cells)) for d in space.dimensions))))
    rng = np.random.default_rng(3)
    for _ in range(5):
        X = configurations[rng.choice(len(configurations), 15, replace=False)]
        y = (X[:, 0] - 0.3) ** 2 + 0.2 * X[:, 1] + np.sin(4 * X[:, 2])
        gp = GaussianProcess(nominal=space.nominal).fit(X, y)
        m, s = gp.latent(configurations)
        lowest = float(gp.losses(m - confidence_width(3, 15) * s).min())
        assert upper_bound_regret(gp, X, space)[2] == pytest.approx(lowest, abs=1e-9)


def test_upper_bound_regret_is_in_the_unit_of_the_objective() -> None:
    X, y = noisy_problem(5, 25, 3, noise=0.05)
    space = Space.of({name: FloatDistribution(0, 1) for name in "abc"})
    plain = upper_bound_regret(GaussianProcess(warp="auto").fit(X, y), X, space)
    scaled = upper_bound_regret(GaussianProcess(warp="auto").fit(X, 1000 * y + 5), X, space)
    assert scaled[0] == pytest.approx(1000 * plain[0], rel=1e-6)
    assert scaled[1] == pytest.approx(1000 * plain[1] + 5, rel=1e-6)


def test_upper_bound_regret_names_its_requirements() -> None:
    X, y = noisy_problem(0, 10, 2)
    gp, space = GaussianProcess().fit(X, y), Space.of({"a": FloatDistribution(0, 1), "b": FloatDistribution(0, 1)})
    for bad, top_p in ((X[:0], 0.5), (X[:, :1], 0.5), (X, 0.0), (X, 1.5)):
        with pytest.raises(ValueError, match="at least one configuration of 2 columns"):
            upper_bound_regret(gp, bad, space, top_p)
    full, few = upper_bound_regret(gp, X, space, 1.0)[1], upper_bound_regret(gp, X, space, 0.1)[1]
    assert full <= few + 1e-12 * abs(few)


# ------------------------------------------------------------------------------------ the guard


@pytest.mark.parametrize("alpha", [0.6, 0.8, 1.0])
def test_the_guard_ranks_like_wei_where_wei_is_positive_and_like_ei_below(alpha: float) -> None:
    rng = np.random.default_rng(4)
    m, s, situation = rng.normal(size=400), np.exp(rng.normal(size=400)), Situation(-0.5, 10, 2)
    free, guarded = WEI(alpha), WEI(alpha, guard=True)
    value, score = free.score(m, s, situation), guarded.score(m, s, situation)
    good = value > 0
    assert good.any()
    assert (~good).any()
    assert score[good].min() > score[~good].max()
    assert np.array_equal(np.argsort(value[good]), np.argsort(score[good]))
    expected = EI().score(m, s, situation)[~good]
    assert np.array_equal(np.argsort(expected), np.argsort(score[~good]))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5])
def test_up_to_one_half_the_guard_changes_nothing(alpha: float) -> None:
    rng = np.random.default_rng(6)
    m, s, situation = rng.normal(size=50), np.exp(rng.normal(size=50)), Situation(0.0, 10, 2)
    for with_guard, without in zip(
        WEI(alpha, guard=True).score_slopes(m, s, situation), WEI(alpha).score_slopes(m, s, situation), strict=True
    ):
        np.testing.assert_array_equal(with_guard, without)


@pytest.mark.parametrize("z", [-1e99, -1e20, -40.0, 0.0, 40.0, 1e20, 1e99])
def test_the_guard_is_finite_in_both_tails(z: float) -> None:
    parts = WEI(0.9, guard=True).score_slopes(np.array([-z]), np.array([1.0]), Situation(0.0, 10, 2))
    assert all(np.isfinite(part).all() for part in parts)


@pytest.mark.parametrize("alpha", [0.7, 1.0])
def test_slopes_of_the_guarded_score_away_from_its_jump(alpha: float) -> None:
    acquisition, situation = WEI(alpha, guard=True), Situation(0.3, 10, 2)
    rng = np.random.default_rng(7)
    m, s = rng.normal(size=200), np.exp(rng.normal(size=200))
    clear = np.abs(WEI(alpha).score(m, s, situation)) > 0.02
    m, s = m[clear], s[clear]
    score, by_m, by_s = acquisition.score_slopes(m, s, situation)
    step = 1e-5
    for slope, dm, ds in ((by_m, step, 0.0), (by_s, 0.0, step)):
        up, down = (acquisition.score(m + sign * dm, s + sign * ds, situation) for sign in (1.0, -1.0))
        np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=1e-5, atol=1e-5)
    assert np.isfinite(score).all()
