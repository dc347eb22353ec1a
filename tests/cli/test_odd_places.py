"""Storages and folders that are no ordinary ones: one sentence and exit code 2, without a traceback, and no waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from optuna import create_study
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli.app import app

GONE = "Error: A command works in a folder that exists, but the one that it was started in was deleted"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def refused(result: Result) -> str:
    assert result.exit_code == 2
    assert result.stdout == ""
    (sentence,) = result.stderr.splitlines()
    return sentence


def test_a_home_that_does_not_exist(folder: Path) -> None:
    sentence = refused(call("explain", "--storage", "~no-such-user/x.log"))
    assert sentence.endswith("got `~no-such-user/x.log`, whose user has no home folder here: write the whole path.")
    sentence = refused(call("tune", "~no-such-user/x.py:objective", "--trials", "1"))
    assert sentence.endswith("the user of `~no-such-user/x.py` has no home folder here: write the whole path.")


@pytest.mark.parametrize("storage", ["{}", "sqlite:///{}"])
@pytest.mark.parametrize("name", ["pipe.log", "/dev/zero"])
@pytest.mark.parametrize("command", ["explain", "tune"])
def test_a_pipe_or_a_device_is_no_storage(folder: Path, storage: str, name: str, command: str) -> None:
    os.mkfifo(folder / "pipe.log")
    target = ["script.py:objective", "--trials", "1"] if command == "tune" else []
    assert f"`{name}` is a device or a pipe" in refused(call(command, *target, "--storage", storage.format(name)))


def test_a_byte_that_is_not_utf_8(folder: Path) -> None:
    assert "which has a byte that is not UTF-8" in refused(call("explain", "--storage", "sqlite:///s\udcff.db"))


CREATED = '{"op_code": 0, "worker_id": "a", "study_name": "s", "directions": [1]}'
DAMAGED = "Error: The journal `x.log` is damaged or not an Optuna journal"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[" * 900_000, "`x.log` is neither an SQLite file nor an Optuna journal."),
        (f"{CREATED}\n{'[' * 900_000}\n", DAMAGED),
        ('{"op_code": 99}\n', DAMAGED),
        (f'{CREATED}\n{{"op_code": 99, "worker_id": "a"}}\n', DAMAGED),
    ],
    ids=["brackets", "brackets below", "unknown", "unknown below"],
)
def test_a_journal_that_optuna_has_not_written(folder: Path, content: str, problem: str) -> None:
    (folder / "x.log").write_text(content)
    assert problem in refused(call("explain", "--storage", "x.log"))


def test_an_error_of_ours_is_not_blamed_on_the_journal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_study(storage=JournalStorage(JournalFileBackend("x.log")))

    def failing(*arguments: object) -> None:
        raise KeyError("lr")

    monkeypatch.setattr("pellucid.surfaces.cli.explain.overview", failing)
    assert isinstance(call("explain", "--storage", "x.log").exception, KeyError)


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain",),
        ("explain", "--storage", "x.log"),
        ("report", "--storage", "sqlite:///x.db"),
        ("tune", "module:objective", "--trials", "1", "--storage", "/x.log"),
        ("meta-train",),
    ],
)
def test_a_deleted_working_folder(folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert refused(call(*arguments)).startswith(GONE)


def test_the_name_of_a_model_may_be_as_long_as_a_name_can_be(folder: Path) -> None:
    """The storage is missing, which is noticed after the name."""
    out = "x" * 248 + ".ranker"
    assert "has no Optuna study" in refused(call("meta-train", "--out", out))


def test_a_name_that_is_too_long_is_noticed_before_the_study_is_read(folder: Path) -> None:
    name = "x" * 251 + ".html"
    assert f"{name} cannot be used (File name too long); choose another path." in refused(call("report", "--out", name))
    target = ["script.py:objective", "--trials", "1", "--report"]
    assert "cannot be used (File name too long)" in refused(call("tune", *target, name))
    assert not (folder / "pellucid.db").exists()
