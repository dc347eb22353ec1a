"""Ratios and sentences of the latency benchmark."""

import pytest

from pellucid_lab.costs.latency import Latency, LatencyPlan, Timing
from pellucid_lab.costs.latency_tables import latency_grids, latency_sentences


def test_latency_ratios_and_limits() -> None:
    plan = LatencyPlan(("pellucid", "smac"), (50, 500), 8, 15, 3, {"smac": 280}, False)
    assert [(block.method, block.n) for block in plan.blocks()] == [
        ("pellucid", 50),
        ("smac", 50),
        ("pellucid", 500),
    ]
    timings = (
        Timing("pellucid", 50, 8, (0.003, 0.001, 0.002)),
        Timing("smac", 50, 8, (0.2,)),
        Timing("pellucid", 500, 8, error="ValueError: no"),
    )
    record = Latency(plan, timings, None, 0.9, {}, "", "", "")
    assert record.ratio("smac", 50) == pytest.approx(100.0)
    assert record.ratio("smac", 500) is None
    assert latency_grids(record)[0].rows == (
        ("50", "2.0 (3)", "200.0 (1)", "100.0×"),
        ("500", "failed", "–", "–"),
    )
    failed, busy = latency_sentences(record)
    assert failed == "pellucid failed at n = 500: ValueError: no"
    assert "load average 0.90 per core" in busy
