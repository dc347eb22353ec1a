"""The HSIC index against its definition, the source's examples, and the properties of a test of independence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

from pellucid.answers.importance.hsic import (
    MEDIAN,
    holm,
    hsic_index,
    permutation_pvalue,
    permutation_test,
    shared_bandwidth,
)
from pellucid.numerics import Array, Mask


def by_definition(u: Array, in_goal: Mask, h: float) -> float:
    """Equation (9), term by term."""
    points = u.reshape(len(u), -1)
    K = np.exp(-0.5 * ((points[:, None] - points[None]) ** 2).sum(axis=2) / h**2)
    z = in_goal.astype(float)
    n, m = len(z), z.sum()
    inside, overall, between = (K * np.outer(z, z)).sum() / m**2, K.sum() / n**2, (K * z).sum() / (n * m)
    return float((m / n) ** 2 * (inside + overall - 2.0 * between))


@pytest.mark.parametrize("h", [0.005, 0.02, 0.05, 0.1, MEDIAN, 1.0, 5.0])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_index_is_the_definition(h: float, k: int) -> None:
    rng = np.random.default_rng(k)
    u = rng.random((300, k))
    u[:3] = [[0.0], [1.0], [0.5]]
    z = u[:, 0] + 0.2 * rng.standard_normal(300) < 0.3
    assert hsic_index(u, z, h)[0] == pytest.approx(by_definition(u, z, h), abs=1e-12)


def test_the_largest_bandwidth_is_the_one_with_the_largest_index() -> None:
    rng = np.random.default_rng(0)
    u = rng.random(500)
    z = u < 0.2
    best = hsic_index(u, z, "max")[0]
    others = [by_definition(u, z, h) for h in np.geomspace(0.05, 3, 40)]
    assert best == pytest.approx(max(others), rel=0.02)
    assert best <= max(others) * 1.001
    assert hsic_index(u, z, "median")[0] == pytest.approx(by_definition(u, z, MEDIAN), abs=1e-12)


@pytest.mark.parametrize("effect", [0.05, 0.3])
def test_the_standard_error_is_the_spread_of_the_index(effect: float) -> None:
    rng = np.random.default_rng(1)
    estimates = []
    for _ in range(400):
        u = rng.random(400)
        estimates.append(hsic_index(u, rng.random(400) < np.where(u < 0.5, 0.1 + effect, 0.1), 0.3))
    values, errors = np.array(estimates).T
    assert errors.mean() == pytest.approx(values.std(), rel=0.15)


# ---------------------------------------------------------------------- the source's examples


def test_example_1_the_sampling_distribution_does_not_count() -> None:
    rng = np.random.default_rng(0)
    n, sd = 10_000, np.sqrt(0.1)
    normal = truncnorm(-1 / sd, 1 / sd, loc=1, scale=sd)
    x1, x2 = normal.rvs(n, random_state=rng), 2 * rng.random(n)
    z = (x1 <= 1) & (x2 <= 1)
    before = [hsic_index(x / 2, z, "max")[0] for x in (x1, x2)]
    after = [hsic_index(u, z, "max") for u in (normal.cdf(x1), x2 / 2)]
    assert before[0] < 0.85 * before[1]
    assert after[0][0] == pytest.approx(after[1][0], abs=3 * (after[0][1] + after[1][1]))
    # The source's Table 2: 1.54e-2 and 1.55e-2, each to 0.05e-2.
    assert after[0][0] == pytest.approx(1.54e-2, abs=0.15e-2)
    assert after[1][0] == pytest.approx(1.55e-2, abs=0.15e-2)


def test_example_2_an_interaction_of_two_that_do_nothing_alone() -> None:
    x = np.random.default_rng(0).random((2000, 5))
    z = (x[:, 0] <= 0.5) & ((x[:, 1] > 0.5) != (x[:, 2] > 0.5))
    h = shared_bandwidth(x, z)
    index = {columns: hsic_index(x[:, columns], z, h)[0] for columns in ((0,), (1,), (2,), (1, 2), (3, 4))}
    assert index[0,] == pytest.approx(1.5e-2, rel=0.15)
    assert index[1, 2] == pytest.approx(3.5e-3, rel=0.6)
    for columns in ((1,), (2,), (3, 4)):
        assert index[columns] < 0.01 * index[0,]
    assert permutation_pvalue(x[:, [1, 2]], z) <= 0.001
    assert min(permutation_pvalue(x[:, [j]], z) for j in (1, 2)) > 0.01


def test_example_3_groups_make_a_conditional_parameter_count_the_same_for_every_share() -> None:
    rng = np.random.default_rng(0)
    with_groups, without = [], []
    for t in (0.25, 0.5, 0.75, 0.9):
        x = rng.random((20_000, 3))
        active = x[:, 1] > t
        coin = rng.random(len(x)) < 0.5
        z = (x[:, 0] <= 0.5) & np.where(active, x[:, 2] <= 0.5, coin)
        without.append(hsic_index(x[:, 2], z, 0.3)[0] / hsic_index(x[:, 0], z, 0.3)[0])
        inside = x[active]
        with_groups.append(hsic_index(inside[:, 2], z[active], 0.3)[0] / hsic_index(inside[:, 0], z[active], 0.3)[0])
    np.testing.assert_allclose(with_groups, 1.0, atol=0.25)
    assert without[-1] < 0.1 * without[0]


# ---------------------------------------------------------------------- p-values


def test_permutations_see_effects_and_only_effects() -> None:
    rng = np.random.default_rng(0)
    u = rng.random(400)
    assert permutation_pvalue(u, rng.random(400) < np.where(u < 0.3, 0.3, 0.05), n_permutations=499) == 1 / 500
    quiet = [permutation_pvalue(rng.random(200), rng.random(200) < 0.1, n_permutations=99) for _ in range(60)]
    assert np.mean(np.array(quiet) <= 0.1) < 0.25
    with_max = [permutation_pvalue(rng.random(200), rng.random(200) < 0.2, "max", 99) for _ in range(60)]
    assert np.mean(np.array(with_max) <= 0.1) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
def test_p_values_are_uniform_without_an_effect(k: int) -> None:
    rng = np.random.default_rng(k)
    p = []
    for i in range(600):
        u, z = rng.random((150, k)), rng.random(150) < 0.15
        if 0 < z.sum() < 150:
            p.append(permutation_pvalue(u, z, n_permutations=199, seed=i) - rng.random() / 200)
    assert kstest(p, "uniform").pvalue > 0.01


def test_the_null_mean_is_the_index_of_shuffled_goals() -> None:
    rng = np.random.default_rng(0)
    u, z = rng.random(300), rng.random(300) < 0.2
    shuffled = [by_definition(u, rng.permutation(z), 0.3) for _ in range(300)]
    assert permutation_test(u, z, 0.3).null == pytest.approx(np.mean(shuffled), rel=0.15)


def test_holm() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.5])), [0.04, 0.09, 0.09, 0.5])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1.0, 1.0])


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("u", "z", "bandwidth", "message"),
    [
        (np.zeros(5), np.zeros(4, dtype=bool), 0.3, "they have shapes"),
        (np.array([0.2, 1.5]), np.array([True, False]), 0.3, r"must lie in \[0, 1\]"),
        (np.array([0.2, np.nan]), np.array([True, False]), 0.3, r"must lie in \[0, 1\]"),
        (np.array([0.2, 0.5]), np.array([True, True]), 0.3, "2 of 2 reach it"),
        (np.array([0.2, 0.5]), np.array([False, False]), 0.3, "0 of 2 reach it"),
        (np.array([0.2, 0.5]), np.array([True, False]), -1.0, "'max', 'median' or a positive number"),
        (np.array([0.2, 0.5]), np.array([0.3, 1.0]), 0.3, "True or False"),
    ],
)
def test_wrong_input_is_explained(u: Array, z: Mask, bandwidth: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hsic_index(u, z, bandwidth)
    with pytest.raises(ValueError, match="at least 1"):
        permutation_pvalue(np.array([0.2, 0.5]), np.array([True, False]), n_permutations=0)


def test_a_constant_parameter_has_no_index() -> None:
    z = np.array([True, False, True, False])
    assert hsic_index(np.full(4, 0.5), z, 0.3)[0] == pytest.approx(0.0, abs=1e-15)
    assert permutation_pvalue(np.full(4, 0.5), z, n_permutations=99) == 1.0
