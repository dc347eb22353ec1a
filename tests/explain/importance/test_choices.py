"""HSIC of choices: equation (9) with the kernel averaged over cells, any order of the choices, an exact test."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kstest

from pellucid.answers.importance.choices import choice_index, choice_test, ranks
from pellucid.answers.importance.hsic import MEDIAN, hsic_index


def drawn(seed: int, n: int, count: int, rates: list[float] | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(count, size=n)
    rate = np.full(count, 0.2) if rates is None else np.array(rates)
    return codes, rng.random(n) < rate[codes]


def test_the_index_is_that_of_uniform_draws_from_the_arranged_cells() -> None:
    codes, z = drawn(0, 400, 4, [0.1, 0.5, 0.05, 0.3])
    place = ranks(codes, z, 4)
    assert place.tolist() == [2, 0, 3, 1]
    rng = np.random.default_rng(1)
    jittered = [hsic_index((place[codes] + rng.random(400)) / 4, z, MEDIAN) for _ in range(400)]
    index, stderr = choice_index(codes, z, 4, MEDIAN)
    # Draws from cells add their own scatter, of the order of p (1 - p) (1 - k) / n, and nothing else.
    scatter = z.mean() * (1 - z.mean()) * (1.0 - np.exp(-0.5 * (0.1 / MEDIAN) ** 2)) / 400
    assert index == pytest.approx(np.mean([value for value, _ in jittered]), abs=2.0 * scatter)
    assert stderr == pytest.approx(np.mean([error for _, error in jittered]), rel=0.05)


def test_two_choices_need_no_order() -> None:
    codes, z = drawn(0, 300, 2, [0.1, 0.3])
    assert choice_index(codes, z, 2, 0.3) == pytest.approx(choice_index(1 - codes, z, 2, 0.3), rel=1e-12)


def test_the_order_of_the_choices_does_not_count() -> None:
    codes, z = drawn(3, 500, 5, [0.3, 0.02, 0.3, 0.02, 0.3])
    first = choice_index(codes, z, 5, MEDIAN)
    for order in list(permutations(range(5)))[::17]:
        relabelled = np.array(order)[codes]
        assert choice_index(relabelled, z, 5, MEDIAN) == pytest.approx(first, rel=1e-9)
        assert choice_test(relabelled, z, 5, MEDIAN).p <= 0.005


def test_choices_with_equal_rates_do_not_count_by_their_order_either() -> None:
    draws, hits = (40, 20, 10, 30), (4, 2, 1, 9)
    indices = set()
    for order in permutations(range(4)):
        codes = np.repeat(np.arange(4), [draws[i] for i in order])
        z = np.concatenate([np.arange(draws[i]) < hits[i] for i in order])
        indices.add(round(choice_index(codes, z, 4, MEDIAN)[0], 12))
    assert len(indices) == 1


def test_many_choices_need_little_memory() -> None:
    codes, z = drawn(11, 3000, 1500)
    assert choice_test(codes, z, 1500, MEDIAN, 99).p > 0.01


def test_a_bad_choice_between_good_ones_is_seen() -> None:
    """On a line in the declared order it is smoothed away: the reason why choices are arranged."""
    codes, z = drawn(5, 600, 5, [0.15, 0.02, 0.15, 0.02, 0.15])
    in_order = hsic_index((codes + np.random.default_rng(0).random(600)) / 5, z, MEDIAN)[0]
    assert choice_index(codes, z, 5, MEDIAN)[0] > 5.0 * in_order
    assert choice_test(codes, z, 5, MEDIAN).p == pytest.approx(0.001)


def test_the_test_is_the_one_of_shuffled_goals() -> None:
    codes, z = drawn(7, 60, 3, [0.4, 0.2, 0.1])
    observed = choice_index(codes, z, 3, MEDIAN)[0]
    rng = np.random.default_rng(0)
    shuffled = [choice_index(codes, rng.permutation(z), 3, MEDIAN)[0] for _ in range(4000)]
    brute = np.mean(np.array(shuffled) >= observed * (1.0 - 1e-9))
    test = choice_test(codes, z, 3, MEDIAN, 4000)
    assert test.p == pytest.approx(brute, abs=4.0 * np.sqrt(brute * (1 - brute) / 2000))
    assert test.null == pytest.approx(np.mean(shuffled), rel=0.1)
    assert test.usual == pytest.approx(np.quantile(shuffled, 0.95), rel=0.15)


def test_choices_without_trials_change_only_the_width_of_cells() -> None:
    codes, z = drawn(9, 200, 3, [0.5, 0.1, 0.1])
    assert choice_test(codes, z, 6, MEDIAN).p == choice_test(codes, z, 3, MEDIAN).p == 0.001
    assert choice_test(np.zeros(50, dtype=np.int64), np.arange(50) < 5, 2, MEDIAN).p == 1.0


@pytest.mark.slow
def test_p_values_are_uniform_without_an_effect() -> None:
    p = [choice_test(*drawn(seed, 300, 5), 5, MEDIAN, 199, seed=seed).p for seed in range(600)]
    assert kstest(p, "uniform").pvalue > 0.01
