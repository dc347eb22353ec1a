"""The plan of a regret benchmark."""

import pytest

from pellucid_lab.problems.suites import find_suite
from pellucid_lab.runs.regret import plan_regret


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
