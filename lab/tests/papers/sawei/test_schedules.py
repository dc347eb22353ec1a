"""The comparison of schedules: ranks and interquartile means by hand and by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import trim_mean

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.papers.sawei.schedules import alpha_at, compare, interquartile_mean
from pellucid_lab.problems.suites import load_problem
from pellucid_lab.runs.regret import RegretRun


def run(method: str, problem: str, seed: int, values: list[float], alpha: tuple[float, ...] = ()) -> RegretRun:
    n = len(values)
    return RegretRun(
        "bbob", problem, method, seed, 1, n - 1, "minimize", tuple(values), (0.5,) * n, (0.0,) * n, optimum=0.0,
        trace={"alpha": alpha} if alpha else {},
    )  # fmt: skip


def test_interquartile_mean_is_the_trimmed_mean() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 3, 4, 5, 8, 24):
        values = rng.random((n, 3))
        np.testing.assert_allclose(interquartile_mean(values), trim_mean(values, 0.25, axis=0))


def test_a_comparison_by_hand() -> None:
    runs = [
        run("a", "f01-i1-d2", 0, [100.0, 10.0, 50.0], (0.5, 0.7)),
        run("b", "f01-i1-d2", 0, [100.0, 100.0, 1.0]),
        run("a", "f02-i1-d2", 0, [100.0, 1.0, 1.0], (0.5, 0.9)),
        run("b", "f02-i1-d2", 0, [100.0, 100.0, 10.0]),
        run("a", "f03-i1-d2", 0, [100.0, 1.0, 1.0], (0.5, 0.9)),
    ]
    comparison = compare(runs)
    assert (comparison.problems, comparison.runs) == (2, 2), "f03 is left out: b has no run on it"
    assert [row.method for row in comparison.rows] == ["a", "b"]
    assert comparison.row("a").mean_rank == comparison.row("b").mean_rank == 1.5
    assert comparison.row("a").final == pytest.approx(0.5), "log10 of 10 and of 1"
    np.testing.assert_array_equal(comparison.rank_over_time["a"], [1.0, 1.5])
    assert comparison.row("a").alpha == pytest.approx((0.5, 0.5, 0.8))
    assert comparison.row("b").alpha == ()
    assert comparison.row("a").seconds == 1.0
    np.testing.assert_allclose(comparison.alphas["a"][1], [0.5, 0.8])


def test_incomparable_runs_are_an_error() -> None:
    with pytest.raises(Mistake, match="one suite and one budget"):
        compare([])
    with pytest.raises(Mistake, match="at least one problem"):
        compare([run("a", "f01-i1-d2", 0, [1.0, 2.0]), run("b", "f02-i1-d2", 0, [1.0, 2.0])])


def test_the_weight_after_a_share_of_the_proposals() -> None:
    series = [0.1, 0.2, 0.3, 0.4]
    assert [alpha_at(series, share) for share in (0.0, 0.25, 0.5, 1.0)] == [0.1, 0.1, 0.2, 0.4]


def test_a_problem_in_another_unit() -> None:
    plain, other = load_problem("synthetic", "branin"), load_problem("synthetic", "branin*1000")
    assert plain.distributions is not None
    params = dict.fromkeys(plain.distributions, 0.5)
    assert other.evaluate(params) == 1000 * plain.evaluate(params)
    assert plain.optimum is not None
    assert other.optimum == 1000 * plain.optimum
    for wrong in ("branin*0", "branin*-1", "branin*x", "branin*inf"):
        with pytest.raises(Mistake, match="positive number"):
            load_problem("synthetic", wrong)
