"""Dense fronts are fronts, and what is named of them is tabulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab.tests.helpers import call

from pellucid.beliefs.front_members import behind_none
from pellucid_lab.truth import dense_fronts
from pellucid_lab.truth.dense_fronts import POWERS, DenseTask, dense_front, dense_grid, dense_summary, dense_tasks


@pytest.mark.parametrize("shape", POWERS)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_trials_are_on_the_front_unless_they_are_behind(shape: str, k: int) -> None:
    X, true = dense_fronts._trials(DenseTask(shape, k, 60, 0.0, mixed=True), np.random.default_rng(0))
    np.testing.assert_allclose((true[X[:, -1] == 0.0] ** (1.0 / POWERS[shape])).sum(axis=1), 1.0)
    on = behind_none(true)
    assert on[X[:, -1] == 0.0].all()
    # With four objectives a trial that is hardly behind may have none ahead of it.
    assert on.sum() <= 40


def test_what_is_named_is_counted() -> None:
    exact = dense_front(DenseTask("linear", 2, 20, 0.0))
    assert (exact.true, exact.observed, exact.named, exact.thinned, exact.span, exact.kept) == (20, 20, 20, 0, 1.0, 1.0)
    noisy = dense_front(DenseTask("convex", 2, 20, 0.05, mixed=True))
    assert noisy.true == 10
    grid = dense_grid([exact, noisy])
    assert grid.rows[0] == ("linear", "2", "20", "none", "20", "20", "20", "0", "100.0%", "100.0%")
    assert grid.rows[1][:4] == ("convex, half of the trials behind it", "2", "20", "5%")
    assert dense_summary([exact]).endswith("in every objective by 1 of 1 exact ones (least 100.0%).")
    assert "1 noisy ones" in dense_summary([exact, noisy])


def test_the_command_writes_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert len(dense_tasks([20, 100])) == 3 * 27 + 1
    monkeypatch.setattr(dense_fronts, "dense_tasks", lambda sizes: [DenseTask("concave", 3, n, 0.0) for n in sizes])
    table = tmp_path / "dense.md"
    assert call("bench", "dense-fronts", "--trials", "12", "--table", str(table), "--quiet").exit_code == 0
    assert "| concave | 3 | 12 | none | 12 | 12 | 12 | 0 | 100.0% | 100.0% |" in table.read_text(encoding="utf-8")
