"""Regret, ranks and differences of runs on tables, against loops."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid_lab.papers.ranking import report as transfer_report
from pellucid_lab.papers.ranking.report import Regrets
from pellucid_lab.problems.tabular import TabularTask


def some_regrets(methods: int, tasks: int, seeds: int, steps: int) -> Regrets:
    rng = np.random.default_rng(methods)
    # Few levels, so that many are equal.
    by = {
        f"m{k}": np.minimum.accumulate(rng.integers(0, 6, (tasks * seeds, steps)) / 5.0, axis=1) for k in range(methods)
    }
    names = tuple(f"t{r // seeds}" for r in range(tasks * seeds))
    return Regrets(by, names, tuple(f"s{int(name[1:]) % 2}" for name in names))


def naive_rank(values: list[float], value: float) -> float:
    return 1 + sum(v < value for v in values) + (sum(v == value for v in values) - 1) / 2


def test_average_ranks_are_those_of_loops() -> None:
    regrets = some_regrets(4, 3, 5, 12)
    ranks = transfer_report.average_ranks(regrets)
    for name, regret in regrets.by_method.items():
        for s in range(12):
            of_runs = [
                naive_rank([other[r, s] for other in regrets.by_method.values()], regret[r, s]) for r in range(15)
            ]
            assert ranks[name][s] == pytest.approx(sum(of_runs) / 15)
    np.testing.assert_allclose(sum(ranks.values()), 4 * 5 / 2)


def test_equal_methods_share_the_mean_rank() -> None:
    same = np.full((3, 2), 0.5)
    regrets = Regrets({"a": same, "b": same, "c": np.zeros((3, 2))}, ("t", "u", "v"), ("s",) * 3)
    ranks = {name: curve.tolist() for name, curve in transfer_report.average_ranks(regrets).items()}
    assert ranks == {"a": [2.5, 2.5], "b": [2.5, 2.5], "c": [1.0, 1.0]}
    equal = transfer_report.difference(Regrets({"a": same, "b": same}, ("t", "u", "v"), ("s",) * 3), 1)
    assert (equal.p, equal.worse) == (1.0, ())
    assert str(equal) == "After 1 step, the methods do not differ significantly (Friedman p = 1, 3 tasks)"


def test_tables_have_the_numbers_of_loops() -> None:
    regrets = some_regrets(3, 4, 5, 60)
    assert regrets.marks == (1, 5, 10, 20, 50, 60)
    first, second, third, last = transfer_report.report_grids(regrets)
    ranks = transfer_report.average_ranks(regrets)
    for row in first.rows:
        values = regrets.by_method[row[0]]
        assert row[1:] == tuple(f"{sum(values[r, m - 1] for r in range(20)) / 20:.3g}" for m in regrets.marks)
    for row in second.rows:
        curve = ranks[row[0]]
        assert row[1:3] == (f"{sum(curve[:20]) / 20:.2f}", f"{sum(curve) / 60:.2f}")
        assert row[-1] == f"{curve[-1]:.2f}"
    for row in third.rows:
        runs = [r for r in range(20) if regrets.spaces[r] == row[0]]
        assert row[1] == "2"
        assert row[2:] == tuple(f"{np.mean([v[r, -1] for r in runs]):.3g}" for v in regrets.by_method.values())
    assert [row[0] for row in last.rows] == [str(mark) for mark in regrets.marks]


def test_blocks_are_tasks_with_their_seeds_averaged() -> None:
    """Seeds disagree, tasks do not: `a` is ahead in every task's mean although it loses most runs."""
    a, b = np.tile([[0.0], [0.2], [0.2]], (12, 1)), np.tile([[0.9], [0.1], [0.1]], (12, 1))
    regrets = Regrets({"a": a, "b": b}, tuple(f"t{r // 3}" for r in range(36)), ("s",) * 36)
    assert transfer_report.average_ranks(regrets)["a"][0] > 1.5
    difference = transfer_report.difference(regrets, 1)
    assert (difference.tasks, difference.ranks, difference.best, difference.worse) == (
        12,
        {"a": 1.0, "b": 2.0},
        "a",
        ("b",),
    )
    assert str(difference).startswith(
        "After 1 step, a has the best mean rank and differs from b (Friedman p < 0.001, 12 tasks)"
    )


def test_sentences_name_the_methods_that_differ() -> None:
    ranks = {"a": 1.0, "b": 2.5, "c": 2.5}
    difference = transfer_report.Difference(5, 9, 0.01, 1.5, ranks)
    assert (
        str(difference)
        == "After 5 steps, a has the best mean rank and differs from all others (Friedman p = 0.01, 9 tasks)"
    )
    partial = transfer_report.Difference(5, 9, 0.01, 1.5, {**ranks, "c": 1.1, "d": 4.0})
    assert "differs from b and d (" in str(partial)
    none = transfer_report.Difference(5, 9, 0.04, 2.0, ranks)
    assert "but differs from no other method alone (" in str(none)


def test_nothing_is_compared_with_one_method_or_one_task() -> None:
    for regrets in (some_regrets(1, 4, 2, 3), some_regrets(2, 1, 4, 3)):
        assert transfer_report.differences(regrets, (1,)) == []
        assert len(transfer_report.report_grids(regrets)) == 3
        assert set(transfer_report.figures(regrets, "x")) == {"ranks", "regret"}


def test_differences_from_a_reference_count_tasks_not_runs() -> None:
    base = np.zeros((4, 2))
    # Task t is worse by 0.1 in one of its two runs and better in the other; task u is worse by 0.02 in both.
    other = np.array([[0.1, 0.0], [-0.2, 0.0], [0.02, 0.004], [0.02, 0.004]])
    regrets = Regrets({"base": base, "other": other}, ("t", "t", "u", "u"), ("s",) * 4)
    grid = transfer_report.against_grid(regrets, "base", (1, 2))
    assert grid.columns == ("method", "1", "2")
    assert grid.rows == (("other", "\N{MINUS SIGN}0.015 (1)", "+0.002 (0)"),)


def test_runs_and_steps_have_to_agree() -> None:
    with pytest.raises(ValueError, match="the same runs and steps"):
        Regrets({"a": np.zeros((2, 3)), "b": np.zeros((2, 4))}, ("t", "t"), ("s", "s"))
    with pytest.raises(ValueError, match="Each of the 2 runs"):
        Regrets({"a": np.zeros((2, 3))}, ("t",), ("s", "s"))


def test_a_table_that_is_used_up_keeps_its_last_regret() -> None:
    task = TabularTask("t", np.zeros((4, 1)), np.array([0.0, 1.0, 0.5, 0.25]))
    chosen = np.array([[0, 3, 2, 1], [3, 0, 1, 2]])
    regret = transfer_report.regret_after(task, chosen, 1, 5)
    np.testing.assert_allclose(regret, [[0.75, 0.5, 0.0, 0.0, 0.0], [0.75, 0.0, 0.0, 0.0, 0.0]])


def test_a_regret_of_zero_ends_its_line_on_the_logarithmic_axis() -> None:
    regrets = Regrets({"a": np.array([[0.5, 0.0]]), "b": np.array([[0.5, 0.1]])}, ("t",), ("s",))
    figure = transfer_report.figures(regrets, "x")["regret"]
    assert figure.layout.yaxis.type == "log"
    assert figure.data[0].y[0] == 0.5
    assert np.isnan(figure.data[0].y[1])
    assert "a has the lowest mean regret at the end (0)" in figure.layout.title.text
    assert figure.layout.yaxis.title.text == "mean regret over 1 runs (a line ends where it is 0)"
