"""What a call does if something is missing, and what never leaves the server: files, passwords, tracebacks."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from typer.testing import CliRunner

from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.mcp import answering
from pellucid.surfaces.cli.mcp.reports import file_name
from pellucid.surfaces.cli.mcp.session import Session
from pellucid.surfaces.cli.mcp.tools import tools_of
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.cli.storage.studies import load, open_storage, reading


def test_the_missing_package_is_named() -> None:
    """In a process in which it cannot be found."""
    code = (
        "import importlib.util as util, sys\n"
        "real = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'mcp' else real(name, *rest)\n"
        "from pellucid.surfaces.cli.app import app\nsys.argv = ['pellucid', 'mcp']\napp()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "pip install 'pellucid[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--reports", "nowhere"], "--reports takes a folder that exists; there is no folder `nowhere`"),
        (["--storage", "nonsense"], "write sqlite:///nonsense"),
    ],
)
def test_a_wrong_option_is_a_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(app, ["mcp", *arguments])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr


@pytest.mark.parametrize("storage", ["sqlite:///{}/missing.db", "{}/missing.log"])
def test_a_missing_file_is_not_created(tmp_path: Path, storage: str) -> None:
    session = Session(place_of(storage.format(tmp_path)), tmp_path, may_enqueue=True)
    for tool, arguments in [("list_studies", {}), ("recommendation", {}), ("enqueue_trial", {"params": {"x": 1}})]:
        reply = answering.reply_to(session, tool, arguments)
        assert reply.failed
        assert "There is no file" in reply.texts[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "storage", ["sqlite:///{}/a b%#.db", "sqlite:///file:{}/uri.db?uri=true&mode=rwc", "{}/journal.log"]
)
def test_nothing_is_written_by_reading(tmp_path: Path, storage: str) -> None:
    """SQLite itself refuses; a journal is opened as usual, and stays as it was."""
    place = place_of(storage.format(tmp_path))
    optuna.create_study(study_name="s", storage=open_storage(place)).add_trial(optuna.create_trial(value=1.0))
    [file] = tmp_path.iterdir()
    before = file.read_bytes()
    with reading(place) as opened:
        assert len(load(opened, "s").trials) == 1
        if isinstance(opened, optuna.storages.RDBStorage):
            with opened.engine.connect() as connection, pytest.raises(OperationalError, match="readonly"):
                connection.execute(text("DELETE FROM trials"))
    assert not answering.reply_to(Session(place, tmp_path), "list_studies", {}).failed
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_passwords_never_appear(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the sentence about a server that does not answer, nor in the log of an error of our own."""
    session = Session(place_of("postgresql://u:secret@127.0.0.1:1/d?application_name=secret"), Path())
    refused = answering.reply_to(session, "recommendation", {})
    assert refused.failed
    assert "postgresql://***@127.0.0.1:1/d" in refused.texts[0]

    def broken(_session: Session, _arguments: object) -> None:
        raise RuntimeError(f"cannot use {session.place.address}")

    tool = replace(tools_of(session)[0], run=broken)
    monkeypatch.setattr(answering, "tool_called", lambda _session, _name: tool)
    with caplog.at_level(logging.ERROR, logger="pellucid"):
        failed = answering.reply_to(session, tool.name, {})
    assert failed.failed
    assert failed.texts[0].startswith("pellucid could not answer because of an error of its own (RuntimeError)")
    assert "Traceback" in caplog.text
    assert "secret" not in "".join((*refused.texts, *failed.texts, caplog.text))


def test_a_report_is_not_written_through_a_link(tmp_path: Path) -> None:
    place = place_of(f"sqlite:///{tmp_path}/s.db")
    optuna.create_study(study_name="s", storage=place.address)
    reports, outside = tmp_path / "reports", tmp_path / "outside.html"
    reports.mkdir()
    (reports / file_name("s")).symlink_to(outside)
    reply = answering.reply_to(Session(place, reports), "report", {})
    assert reply.failed
    assert "not written over a link" in reply.texts[0]
    assert not outside.exists()


@pytest.mark.parametrize("study", ["..", "../x", "/etc/passwd", "C:\\x", "a\0b", "", "ü" * 500, "x" * 500, "\ud800"])
def test_the_file_of_a_report_has_a_plain_name(study: str) -> None:
    name = file_name(study)
    assert Path(name).name == name
    assert name.startswith("report-")
    assert len(name) < 100
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
    assert name != file_name(f"{study}!")
