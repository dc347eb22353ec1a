"""The plan of a regret benchmark."""

import pytest

from pellucid_lab.problems.suites import find_suite
from pellucid_lab.runs.regret import RegretTask, plan_regret, run_regret_task


def test_static_methods_skip_conditional_problems_with_a_sentence() -> None:
    pytest.importorskip("smac")
    pytest.importorskip("sklearn")
    suite = find_suite("sklearn")
    tasks, notes = plan_regret(suite, ["svm-digits", "mlp-digits"], ["random", "smac"], [0, 1], 4, 2, None, "")
    assert {(task.problem, task.method) for task in tasks} == {
        ("svm-digits", "random"),
        ("mlp-digits", "random"),
        ("mlp-digits", "smac"),
    }
    assert notes == ["smac does not support conditional spaces: sklearn svm-digits skipped."]
    assert [(task.seed, task.method) for task in tasks[:2]] == [(0, "random"), (1, "random")]


def test_a_noisy_run_keeps_exact_and_observed_values() -> None:
    first, second = (run_regret_task(RegretTask("synthetic", "branin~1", "random", 0, 3, 2)) for _ in range(2))
    assert (first.values, first.observed) == (second.values, second.observed)
    assert len(first.observed) == 5
    assert all(told != value for told, value in zip(first.observed, first.values, strict=True))
    exact = run_regret_task(RegretTask("synthetic", "branin", "random", 0, 3, 2))
    assert (exact.values[:3], exact.observed) == (first.values[:3], ())
