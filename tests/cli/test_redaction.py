"""What is shown of an address, and what messages of others lose."""

from __future__ import annotations

import logging
import re
import warnings
from pathlib import Path

import pytest
from tests.cli.addresses import SHOWN_ONCE
from tests.helpers import ROOT
from typer.testing import CliRunner

from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.redaction import redacted, remember, visible
from pellucid.surfaces.cli.storage.places import place_of

SECRET = "Tr0ub4dor"


@pytest.mark.parametrize("command", ["explain", "report", "publish", "meta-train", "mcp", "tune"])
@pytest.mark.parametrize("shape", SHOWN_ONCE)
def test_no_shape_shows_its_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, shape: str) -> None:
    """Version 1.0.0rc1 showed all of these."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pellucid.surfaces.cli.mcp.server.serve", lambda _session: None)
    (tmp_path / "script.py").write_text("def objective(trial): ...")
    target = ["script.py:objective", "--trials", "3"] if command == "tune" else []
    result = CliRunner().invoke(app, [command, *target, "--storage", shape.format(SECRET)])
    assert result.output
    assert SECRET not in result.output
    assert SECRET not in repr(result.exception)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://u:pw@h:5432/db", "postgresql://***@h:5432/db"),
        ("postgresql+psycopg2://tuner@db.example/studies", "postgresql+psycopg2://***@db.example/studies"),
        ("postgresql://u:p@w@h/db", "postgresql://***@h/db"),
        ("postgresql://u:p%40w@h/db", "postgresql://***@h/db"),
        ("postgresql://u:p/w@h/db", "postgresql://***@h/db"),
        ("postgresql://u:p?w@h/db", "postgresql://***"),
        ("postgresql://u:pw", "postgresql://***"),
        ("postgresql://u:pw@h:port/db", "postgresql://***@***"),
        ("postgresql://h/db?password=pw", "postgresql://h/db"),
        ("postgresql://h/db?password=p@w", "postgresql://***"),
        ("postgresql://h/db;password=pw", "postgresql://h/db***"),
        ("postgresql:/u:pw@h/db", "***@h/db"),
        ("postgresql:u:pw", "postgresql***"),
        ("postgresql;//u:pw@h/db", "***"),
        ("postgresql%3A//u%3Apw%40h/db", "***@h/db"),
        ("host=h user=u password=pw", "host***"),
        ("grpc://[::1]:13000", "grpc://[::1]:13000"),
        ("sqlite:///x.db?timeout=60", "sqlite:///x.db"),
        ("sqlite:///:memory:?key=pw", "sqlite:///:memory:"),
        ("sqlite:///C:/lr=0.1/x y%.db", "sqlite:///C:/lr=0.1/x y%.db"),
        ("runs/lr=0.1.log", "runs/lr=0.1.log"),
        ("C:\\runs\\x.log", "C:\\runs\\x.log"),
        ("u:pw@h/x.log", "***@h/x.log"),
        ("x.log?key=pw", "x.log***"),
    ],
)
def test_an_address_is_shown_without_login_and_query(address: str, shown: str) -> None:
    assert visible(address) == shown


@pytest.mark.parametrize(
    ("address", "message", "harmless"),
    [
        ("postgresql://u:aa@TAIL@h/db", 'cannot find host "tail@h"', 'cannot find host "***@h"'),
        ("postgresql://u:p%C3%A4ss%20phrase@h", "login with 'p\\xe4ss phrase'", "login with '***'"),
        ("postgresql://u:x@h", "x is no xylophone", "*** is no xylophone"),
        ("postgresql://tuner:pass-word@h", 'login failed for "tuner": pass word', 'login failed for "tuner": *** ***'),
        ("postgresql://u:password@h", "password authentication failed", "*** authentication failed"),
        ("sqlite:///x.db?timeout=60", "trial 60: a timeout", "trial 60: a timeout"),
        ("/shared/me@work/x.log", "no /shared/me@work/y, look in /shared/you", "no ***@work/y, look in /shared/you"),
    ],
)
def test_messages_lose_secrets_and_stay_readable(address: str, message: str, harmless: str) -> None:
    remember([address])
    assert redacted(message) == harmless


def test_logs_and_warnings_lose_secrets(caplog: pytest.LogCaptureFixture) -> None:
    place = place_of(f"postgresql://u:{SECRET}@127.0.0.1:1/db")
    assert SECRET not in repr(place)
    logger = logging.getLogger("of somebody else")
    with caplog.at_level(logging.DEBUG):
        logger.debug("connected to %s", place.address)
        logger.debug("%d connections", place.address)
        logger.debug("%d connections of %s", 3, "everybody")
        try:
            raise KeyError(place.address)
        except KeyError:
            logger.exception("failed")
    assert SECRET not in caplog.text
    assert "connected to postgresql+psycopg2://u:***@127.0.0.1:1/db" in caplog.text
    assert "3 connections of everybody" in caplog.text
    assert "KeyError: 'postgresql+psycopg2://u:***@127.0.0.1:1/db'" in caplog.text
    assert caplog.records[2].args == (3, "everybody"), "an ordinary record has changed"
    assert SECRET not in warnings.formatwarning(place.address, UserWarning, "file.py", 1)


def test_an_address_with_a_bare_at_is_refused() -> None:
    """SQLAlchemy would take the end of the password for the host, and look that up in the network."""
    result = CliRunner().invoke(app, ["explain", "--storage", f"postgresql://u:aa@{SECRET}@h/db"])
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: An @ in a user name or a password is written %40 in a URL; got `postgresql://***@h/db`.\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "study", "{}"],
        ["{}"],
        ["explain", "--{}"],
        ["explain", "--objektive={}"],
        ["explain", "--goal", "{}"],
        ["report", "--out", "{}"],
        ["tune", "{}", "--trials", "3"],
        ["mcp", "--reports", "{}"],
        ["explain", "--storage-file", "{}"],
    ],
)
def test_an_address_in_the_wrong_place_is_not_quoted(arguments: list[str]) -> None:
    address = f"postgresql://u:{SECRET}@h/db"
    result = CliRunner().invoke(app, [argument.format(address) for argument in arguments])
    assert result.exit_code == 2
    assert SECRET not in result.output


def test_a_traceback_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError(f"no {address}")

    address = f"postgresql://u:{SECRET}@127.0.0.1:1/db"
    monkeypatch.setattr("pellucid.surfaces.cli.storage.studies.open_storage", broken)
    result = CliRunner().invoke(app, ["explain", "--storage", address])
    assert result.exit_code == 1
    assert "LookupError: no postgresql://u:***@127.0.0.1:1/db" in result.stderr
    assert SECRET not in result.output + repr(result.exception)


def test_no_message_has_an_address_itself() -> None:
    """Texts are made of `Place.shown`."""
    sources = sorted((ROOT / "src/pellucid/surfaces/cli").rglob("*.py"))
    assert len(sources) > 40
    found = [
        path.name for path in sources if re.search(r"\{[^{}]*(?:\.address|job\.storage)\b[^{}]*\}", path.read_text())
    ]
    assert found == []
