"""Friedman's aligned ranks and Hommel's correction, against their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from pellucid_lab.tables.significance import (
    against_best,
    aligned_ranks,
    critical_difference,
    friedman,
    friedman_aligned,
    hommel,
)


def closed_testing(p: list[float]) -> list[float]:
    """Hommel's adjusted p-values: the largest Simes p-value over all intersections that contain the hypothesis."""
    out = []
    for i in range(len(p)):
        worst = 0.0
        for size in range(1, len(p) + 1):
            for subset in itertools.combinations(range(len(p)), size):
                if i in subset:
                    ordered = sorted(p[j] for j in subset)
                    worst = max(worst, min(size * value / (k + 1) for k, value in enumerate(ordered)))
        out.append(min(worst, 1.0))
    return out


@pytest.mark.parametrize("m", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("seed", range(4))
def test_hommel_is_closed_testing_with_simes(m: int, seed: int) -> None:
    p = np.random.default_rng(seed).random(m) ** 3
    np.testing.assert_allclose(hommel(p.tolist()), closed_testing(p.tolist()), rtol=1e-12)


def test_blocks_do_not_count_and_ties_share_ranks() -> None:
    values = np.array([[1.0, 2.0, 3.0], [101.0, 102.0, 103.0]])
    np.testing.assert_array_equal(aligned_ranks(values), [[1.5, 3.5, 5.5], [1.5, 3.5, 5.5]])


def test_equal_methods_do_not_differ_and_different_ones_do() -> None:
    rng = np.random.default_rng(0)
    same = rng.standard_normal((60, 4))
    assert friedman_aligned(same)[1] > 0.05
    assert friedman_aligned(same)[1] == pytest.approx(friedmanchisquare(*same.T).pvalue, abs=0.3)
    better = same - np.array([1.5, 0.0, 0.0, 1.3])
    statistic, p = friedman_aligned(better)
    assert p < 1e-6
    assert statistic > 30
    best, corrected = against_best(better)
    assert best == 0
    assert corrected[0] == 1.0
    assert corrected[3] > 0.05
    assert (corrected[1:3] < 0.001).all()


def test_p_values_are_uniform_under_the_null() -> None:
    rng = np.random.default_rng(1)
    p_values = [friedman_aligned(rng.standard_normal((30, 4)))[1] for _ in range(400)]
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 400))


def test_two_equal_methods_differ_as_often_as_the_level_says() -> None:
    """The standard error behind the comparison with the best, by simulation."""
    rng = np.random.default_rng(2)
    n, k = 40, 5
    differences = []
    for _ in range(2000):
        means = aligned_ranks(rng.standard_normal((n, k))).mean(axis=0)
        differences.append(means[0] - means[1])
    expected = np.sqrt(k / (k - 1) * ((n * k) ** 2 - 1) / (6 * n))
    assert np.std(differences) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("k", [3, 5])
def test_the_plain_test_is_that_of_scipy_with_its_correction_for_ties(k: int) -> None:
    values = np.random.default_rng(k).integers(0, 4, (12, k)).astype(float)
    theirs = friedmanchisquare(*values.T)
    assert friedman(values) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_the_plain_test_of_two_methods_is_the_sign_test_without_ties_and_sees_nothing_in_equal_ones() -> None:
    values = np.array([[1.0, 2.0]] * 9 + [[2.0, 1.0]])
    assert friedman(values)[0] == pytest.approx((9 - 1) ** 2 / 10)
    assert friedman(np.ones((4, 3))) == (0.0, 1.0)


def test_the_critical_difference_is_the_one_of_the_tables() -> None:
    """Demšar (2006), table 5: q for 2 and 10 methods at 5%, here over 30 problems."""
    for k, q in ((2, 1.960), (5, 2.728), (10, 3.164)):
        assert critical_difference(k, 30) == pytest.approx(q * math.sqrt(k * (k + 1) / 180), rel=1e-3)
