"""The faults of a campaign, how inputs are changed, and the table."""

from __future__ import annotations

import errno
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.faults.base import FaultTask, Tally, recorded
from pellucid_lab.faults.children import Say, attempted
from pellucid_lab.faults.disks import small_disk
from pellucid_lab.faults.mutations import changed_bytes, changed_structure, dumps, odd_values
from pellucid_lab.faults.plan import RUNS, Sizes, planned
from pellucid_lab.faults.tables import failures, fault_page


@pytest.mark.parametrize(
    ("kinds", "sizes", "total"),
    [
        (("kills", "parents"), Sizes(), 1000),
        (("kills", "parents"), Sizes(kills=37), 37),
        (("receipts",), Sizes(), 100_000),
        (("models",), Sizes(models=77), 77),
    ],
)
def test_the_tasks_add_up(kinds: tuple[str, ...], sizes: Sizes, total: int) -> None:
    assert sum(task.size for task in planned(kinds, sizes, "")) == total


def test_every_statement_belongs_to_one_task() -> None:
    tasks = [task for task in planned(("statements",), Sizes(), "") if task.case == "sqlite"]
    points = [point for task in tasks for point in range(task.chunk, 110, task.size)]
    assert sorted(points) == list(range(110))


def test_no_two_tasks_have_the_same_key() -> None:
    tasks = planned(tuple(RUNS), Sizes(), "")
    assert len({task.key for task in tasks}) == len(tasks)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(Mistake, match=r"--kinds takes some of statements, .*; got `floods`\."):
        planned(("floods",), Sizes(), "")


# ----------------------------------------------------------------------------------------- mutations


def test_changes_are_drawn_by_their_seed_and_most_change_something(tmp_path: Path) -> None:
    value: dict[str, Any] = {"a": [1, 2.5, {"b": None}], "c": {"d": "text", "e": True}}
    data = json.dumps(value).encode()
    odd = odd_values(tmp_path / "canary")

    def drawn(seed: int) -> list[tuple[bytes, str]]:
        rng = random.Random(seed)
        return [(changed_bytes(rng, data), dumps(changed_structure(rng, value, odd))) for _ in range(300)]

    assert drawn(1) == drawn(1)
    assert len(set(drawn(1))) > 250
    assert value == json.loads(data), "the original stays"


# --------------------------------------------------------------------------------------------- disks


@pytest.mark.parametrize("limited", [False, True])
def test_a_disk_becomes_full_and_has_space_again(
    tmp_path: Path, limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limited:

        def refuse(folder: Path) -> None:
            raise OSError(errno.EPERM, "not permitted")

        monkeypatch.setattr("pellucid_lab.faults.disks._mount", refuse)

    def use(say: Say) -> list[Any]:
        disk = small_disk(tmp_path)
        file = tmp_path / "study.db"
        file.write_bytes(b"x" * 1000)
        disk.fill(8_192)
        try:
            file.write_bytes(b"x" * 100_000)
        except OSError as error:
            refused = error.errno
        disk.free()
        file.write_bytes(b"x" * 100_000)
        return [disk.means, refused, file.stat().st_size]

    tally = Tally()
    means, refused, size = attempted(tally, use).value
    assert refused in (errno.ENOSPC, errno.EFBIG)
    assert size == 100_000
    if limited:
        assert means == "a limit on the size of files"
    assert not list(tmp_path.iterdir()) or "limit" in means, "nobody else sees the small disk"


# --------------------------------------------------------------------------------------------- table


def test_the_table_adds_up_and_says_what_went_wrong() -> None:
    fine = recorded(FaultTask("kills", "sqlite", 0, 25, "pellucid x"), Tally(tried=25, peak_mb=200.4), 60.0)
    bad = replace(fine, chunk=25, lost=2, notes=("lost: trial 7",), counted={"trials told": 1200})
    text = fault_page([fine, bad, replace(fine, kind="names")])
    assert "| SIGKILL of a worker | sqlite | 50 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 200 | 2.0 |" in text
    assert "| all |  | 75 | 2 |" in text
    assert "- SIGKILL of a worker, sqlite: lost: trial 7" in text
    assert "| SIGKILL of a worker | trials told | 1,200 |" in text
    assert failures([fine, bad]) == 2
    assert failures([fine, replace(fine, peak_mb=1200.0)]) == 1, "too much memory"
