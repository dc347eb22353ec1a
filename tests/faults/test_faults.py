"""A short version of `pellucid bench faults`: the same faults, a few of each. Nothing is lost, and every study goes on.

`lab/results/faults` has what the whole of it found; `lab/tests/faults` shows that what goes wrong is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest

pytest.importorskip("plotly")

from pellucid_lab.faults.base import MOST_MEMORY_MB, FaultTask, Tally
from pellucid_lab.faults.clocks import JUMPS, run_clocks
from pellucid_lab.faults.disks import run_disks
from pellucid_lab.faults.distributions import ODD, try_distribution
from pellucid_lab.faults.forks import run_forks
from pellucid_lab.faults.kills import run_worker_kills
from pellucid_lab.faults.models import run_models
from pellucid_lab.faults.names import hostile_names, try_name
from pellucid_lab.faults.outages import run_locked, run_readonly
from pellucid_lab.faults.receipts import count_executed, run_receipts
from pellucid_lab.faults.statements import run_statements
from pellucid_lab.faults.studies import prepared


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    prepared()


def assert_nothing_is_lost(tally: Tally, tried: int) -> None:
    assert tally.tried == tried
    assert tally.failures == 0, tally
    # A process begins as a copy of this one, which may have loaded a lot for other tests.
    here = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    assert 0 < tally.peak_mb < MOST_MEMORY_MB + here


def jump(name: str) -> FaultTask:
    return FaultTask("clocks", "sqlite", list(JUMPS).index(name), 1)


@pytest.mark.parametrize(
    ("run", "task", "tried"),
    [
        pytest.param(run_worker_kills, FaultTask("kills", "sqlite", 0, 5), 5, id="killed at any moment"),
        pytest.param(run_forks, FaultTask("forks", "bayesian", 0, 4), 4, id="forked while threads ask"),
        pytest.param(run_readonly, FaultTask("readonly", "sqlite", 0, 1), 1, id="read-only"),
        pytest.param(run_locked, FaultTask("locked", "sqlite", 0, 2), 2, id="locked"),
        pytest.param(run_clocks, jump("from the first year to the last"), 1, id="clock"),
    ],
)
def test_a_study_survives(run: Callable[[FaultTask], Tally], task: FaultTask, tried: int) -> None:
    assert_nothing_is_lost(run(task), tried)


def test_a_study_survives_kills_at_a_statement() -> None:
    """Two of about 110: one in `ask`, one in a report."""
    tally = run_statements(FaultTask("statements", "sqlite", 29, 60))
    assert_nothing_is_lost(tally, 2)
    assert tally.counted["left running"] == 2


def test_a_study_survives_a_full_disk() -> None:
    tally = run_disks(FaultTask("disks", "sqlite", 0, 1))
    assert_nothing_is_lost(tally, 1)
    assert tally.counted["workers that were stopped by the disk"] == 1


def test_changed_receipts_cost_themselves_alone() -> None:
    assert_nothing_is_lost(run_receipts(FaultTask("receipts", "bytes", 0, 150)), 150)
    # From another number on: its first study goes deeper too, but is not reported.
    assert_nothing_is_lost(run_receipts(FaultTask("receipts", "structure", 20, 150)), 150)


@pytest.mark.parametrize("case", ["bytes", "structure", "foreign"])
def test_changed_models_are_refused_or_fine(case: str) -> None:
    pytest.importorskip("torch")
    assert_nothing_is_lost(run_models(FaultTask("models", case, 0, 70)), 70)


def test_all_hostile_names_in_one(tmp_path: Path) -> None:
    """What SQLite takes of them, as one name."""
    canary, tally = tmp_path / "canary", Tally(tried=1)
    short = [name for name in hostile_names(canary) if len(name) < 200 and name.isprintable()]
    assert len(short) > 30
    try_name(tally, "".join(short), tmp_path)
    count_executed(tally, canary)
    assert_nothing_is_lost(tally, 1)
    assert not tally.counted, "the name was not refused"


def test_integers_as_large_as_storages_take(tmp_path: Path) -> None:
    tally, name = Tally(tried=1), "integers as large as storages take"
    try_distribution(tally, name, ODD[name], True, tmp_path)
    assert_nothing_is_lost(tally, 1)
    assert not tally.counted, "Optuna did not refuse it"
