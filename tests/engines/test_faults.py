"""Faults that need a server or more than a few seconds: a few of those that `pellucid bench faults` tries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("plotly")
pytest.importorskip("psycopg2")

from tests.conftest import or_skip

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.disks import run_disks
from pellucid_lab.faults.kills import run_parent_kills, run_worker_kills
from pellucid_lab.faults.outages import run_locked, run_restarts
from pellucid_lab.faults.statements import run_statements
from pellucid_lab.faults.studies import prepared
from pellucid_lab.servers.postgres import postgres


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    prepared()
    with or_skip(postgres()):
        pass


@pytest.mark.parametrize(
    ("run", "task", "tried", "counted"),
    [
        pytest.param(
            run_statements, FaultTask("statements", "postgresql", 29, 60), 2, {"left running": 2}, id="statements"
        ),
        pytest.param(run_worker_kills, FaultTask("kills", "journal", 0, 5), 5, {}, id="kills of a journal's workers"),
        pytest.param(run_parent_kills, FaultTask("parents", "sqlite", 0, 1), 1, {}, id="kill of tune's parent"),
        pytest.param(
            run_disks,
            FaultTask("disks", "journal", 0, 1),
            1,
            {"workers that were stopped by the disk": 1},
            id="full disk below a journal",
        ),
        pytest.param(run_locked, FaultTask("locked", "postgresql", 0, 2), 2, {"workers that went on": 1}, id="lock"),
        pytest.param(run_restarts, FaultTask("restarts", "postgresql", 0, 1), 1, {}, id="restart"),
    ],
)
def test_a_study_survives(
    run: Callable[[FaultTask], Tally], task: FaultTask, tried: int, counted: dict[str, int]
) -> None:
    tally = run(task)
    assert (tally.tried, tally.failures) == (tried, 0), tally
    assert counted.items() <= tally.counted.items()
