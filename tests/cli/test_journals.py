"""Journals that a full disk or a killed process has left in the middle of something."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from optuna.storages.journal import JournalFileSymlinkLock
from tests.helpers import bowl

from pellucid.surfaces.cli.storage.journals import RepairingLock, remove_half_line
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.cli.storage.studies import create_study, load, open_storage


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b"", b""),
        (b"one\n", b"one\n"),
        (b"one\ntwo\n", b"one\ntwo\n"),
        (b"one\ntw", b"one\n"),
        (b"on", b""),
        (b"one\n" + b"x" * 200_000, b"one\n"),
        (b"x" * 200_000 + b"\n" + b"y" * 65_536, b"x" * 200_000 + b"\n"),
    ],
)
def test_half_a_line_is_removed(tmp_path: Path, content: bytes, kept: bytes) -> None:
    file = tmp_path / "study.log"
    file.write_bytes(content)
    remove_half_line(file)
    assert file.read_bytes() == kept


def test_a_study_goes_on_after_a_write_that_a_full_disk_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "study.log"
    create_study(place_of(str(file)), "study", ("minimize",)).optimize(bowl, n_trials=3)
    with file.open("ab") as journal:
        journal.write(b'{"op_code":4,"worker_id":"a","stu')
    study = load(open_storage(place_of(str(file))), "study")
    assert len(study.trials) == 3
    study.optimize(bowl, n_trials=2)
    again = load(open_storage(place_of(str(file))), "study")
    assert [trial.value for trial in again.trials] == [trial.value for trial in study.trials]
    assert len(again.trials) == 5


def test_a_lock_that_cannot_repair_is_given_back(tmp_path: Path) -> None:
    lock = RepairingLock(str(tmp_path / "missing.log"))
    for _ in range(2):  # The second attempt would wait if the first had kept the lock.
        with pytest.raises(FileNotFoundError):
            lock.acquire()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_killed_process_is_taken_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.log"
    file.write_bytes(b"one\ntw")
    os.symlink(file, f"{file}.lock")  # What the process has left.
    lock = RepairingLock(str(file))
    assert lock.grace_period is not None
    assert lock.grace_period < 30  # Optuna's own limit.
    monkeypatch.setattr(lock, "grace_period", 0.05)
    lock.acquire()
    assert file.read_bytes() == b"one\n"
    lock.release()
    assert [left.name for left in tmp_path.iterdir()] == ["study.log"]


def test_other_processes_of_optuna_respect_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "study.log"
    file.touch()
    ours = RepairingLock(str(file))
    ours.acquire()
    with pytest.raises(FileExistsError):
        os.symlink(file, f"{file}.lock")  # What Optuna's own lock does.
    ours.release()
    theirs = JournalFileSymlinkLock(str(file))
    theirs.acquire()
    theirs.release()
    assert [left.name for left in tmp_path.iterdir()] == ["study.log"]
