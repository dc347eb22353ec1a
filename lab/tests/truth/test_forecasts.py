"""What is said about learning curves is counted right, and compared with what became of the trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lab.tests.helpers import call
from optuna.distributions import FloatDistribution

from pellucid_lab.base import CurveProblem
from pellucid_lab.truth import forecasts
from pellucid_lab.truth.forecasts import N_BINS, N_TRIALS, ForecastRun, ForecastTask, forecast_grids, run_forecast_task

STEPS = 12


def fall(params: Mapping[str, Any]) -> Iterator[float]:
    """Gains that end at minus the distance to 0.3."""
    return (-abs(params["x"] - 0.3) - 2.0 * 0.6**step for step in range(1, STEPS + 1))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> ForecastRun:
    problem = CurveProblem("fall", "maximize", {"x": FloatDistribution(0.0, 1.0)}, STEPS, fall, 0.0, "the closed form")
    monkeypatch.setattr(forecasts, "curve_problem", lambda name, data: problem)
    monkeypatch.setattr(forecasts, "packages_of_problem", lambda name: ())
    return run_forecast_task(ForecastTask("network-digits", "random", 0))


def test_every_prediction_is_counted_once(run: ForecastRun) -> None:
    counted = sum(n for n, _, _ in run.bins)
    assert len(run.bins) == N_BINS
    assert counted == sum(n for _, n in run.covered)
    # Nothing is said before four trials are complete, and a stopped trial is not asked about again.
    assert counted < (N_TRIALS - 4) * (STEPS - 1)
    assert all(b / N_BINS * n <= said <= (b + 1) / N_BINS * n + 1e-6 for b, (n, said, _) in enumerate(run.bins))
    assert run.small[0] <= run.bins[0][0]


def test_curves_that_never_cross_are_predicted_well(run: ForecastRun) -> None:
    assert run.stopped > N_TRIALS // 3
    assert run.beat == 0
    assert not run.winner
    assert run.stated < 0.5
    inside, n = (sum(column) for column in zip(*run.covered, strict=True))
    assert inside / n > 0.9


def test_tables_have_a_row_for_every_tenth_and_sampler(run: ForecastRun) -> None:
    chances, stops, coverage = forecast_grids([run])
    assert len(chances.rows) == N_BINS + 1
    assert [row[0] for row in stops.rows] == ["random", "all"]
    assert stops.rows[0][-1] == "0 of 1 (0.0%)"
    assert coverage.rows[-1][0] == "from 5 on"
    assert all(len(row) == len(grid.columns) for grid in (chances, stops, coverage) for row in grid.rows)


def test_the_command_writes_its_table_and_can_be_repeated(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    out, table = tmp_path / "runs.jsonl", tmp_path / "table.md"
    options = ("--problems", "schedule-scales", "--samplers", "random", "--seeds", "0", "--jobs", "1")
    first = call("bench", "forecasts", *options, "--out", str(out), "--table", str(table), "--quiet")
    assert first.exit_code == 0, first.output
    assert "studies whose best trial was stopped" in table.read_text()
    again = call("bench", "forecasts", *options, "--out", str(out))
    assert "1 of 1 runs are already in" in again.stderr


def test_an_unknown_problem_is_a_mistake() -> None:
    assert call("bench", "forecasts", "--problems", "spiral").exit_code == 2
