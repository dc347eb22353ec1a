"""The storage of --storage, of --storage-file, and of the variable PELLUCID_STORAGE."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.storage.naming import VARIABLE, named_place

COMMANDS = ["tune", "explain", "report", "publish", "meta-train", "mcp"]
SERVER = "postgresql://u:Tr0ub4dor@127.0.0.1:1/db"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path


def call(*arguments: str, **variables: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env=variables)


def test_an_option_wins_over_the_file_and_the_file_over_the_variable(folder: Path) -> None:
    for name in ("option", "file", "variable", "pellucid"):
        optuna.create_study(study_name=f"of {name}", storage=f"sqlite:///{name}.db")
    file, variable = folder / "url.txt", {VARIABLE: "sqlite:///variable.db"}
    file.write_text("sqlite:///file.db\n")
    option, of_file = ("--storage", "sqlite:///option.db"), ("--storage-file", str(file))
    assert "`of option` in sqlite:///option.db" in call("explain", *option, *of_file, **variable).stdout
    assert "`of file` in sqlite:///file.db" in call("explain", *of_file, **variable).stdout
    assert "`of variable` in sqlite:///variable.db" in call("explain", **variable).stdout
    assert "`of pellucid` in sqlite:///pellucid.db" in call("explain").stdout
    assert "`of pellucid` in sqlite:///pellucid.db" in call("explain", **{VARIABLE: ""}).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_so(command: str) -> None:
    words = " ".join(call(command, "--help", COLUMNS="200").stdout.replace("│", " ").split())
    assert "Wins over --storage-file, which wins over the variable PELLUCID_STORAGE." in words
    assert "--storage-file FILE" in words
    assert "keeps a password out of the list of processes" in words


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_file_and_the_variable(folder: Path, command: str) -> None:
    (folder / "script.py").write_text("def objective(trial): ...")
    (folder / "url.txt").write_text("nonsense://\n")
    target = ["script.py:objective", "--trials", "3"] if command == "tune" else []
    for named in (["--storage-file", "url.txt"], []):
        result = call(command, *target, *named, **({} if named else {VARIABLE: "sqlite://h/x.db"}))
        if command == "mcp" and named:  # It opens no storage before it is asked, and there is nobody to ask.
            assert "about nonsense://" in result.stderr
            continue
        assert result.exit_code == 2
        assert ("nonsense://" if named else "sqlite://h/x.db`. It is from the variable") in result.stderr


def write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda file: None, "cannot be read (No such file or directory)"),
        (lambda file: file.mkdir(), "is a folder"),
        (os.mkfifo, "is no ordinary file"),
        (lambda file: write(file, b""), "is empty"),
        (lambda file: write(file, b" \n\n"), "is empty"),
        (lambda file: write(file, SERVER.encode() + b"\nsqlite:///Tr0ub4dor.db\n"), "is 2 lines long"),
        (lambda file: write(file, SERVER.encode() + b"\xff"), "has a byte that is not UTF-8"),
        (lambda file: write(file, b"x" * 20_000), "is too long"),
    ],
)
@pytest.mark.parametrize("command", ["explain", "mcp"])
def test_a_file_without_an_address_is_a_sentence(
    folder: Path, command: str, make: Callable[[Path], None], problem: str
) -> None:
    make(folder / "url.txt")
    result = call(command, "--storage-file", "url.txt")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: --storage-file takes a text file whose only line names a storage as --storage does; "
        f"`url.txt` {problem}.\n"
    )
    assert result.stdout == ""


@pytest.mark.parametrize("content", ["{}\n", "\ufeff{}\r\n", "\n  {}  "])
def test_a_line_may_have_a_break_and_a_mark_at_its_ends(folder: Path, content: str) -> None:
    file = folder / "url.txt"
    file.write_text(content.format("sqlite:///x.db"), encoding="utf-8", newline="")
    assert named_place(None, file).shown == "sqlite:///x.db"


def test_a_file_that_everybody_can_read_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("url.txt")
    for address, mode, quiet, noted in (
        (SERVER, 0o644, False, True),
        (SERVER, 0o644, True, False),
        (SERVER, 0o600, False, False),
        ("sqlite:///x.db", 0o644, False, False),
    ):
        file.write_text(address)
        file.chmod(mode)
        named_place(None, file, quiet=quiet)
        note = "Everybody on this machine can read the password in `url.txt`: run `chmod go-r url.txt`.\n"
        assert capsys.readouterr().err == (note if noted else "")


@pytest.mark.parametrize("named", ["variable", "file"])
def test_a_mistake_says_where_the_address_is_from(folder: Path, named: str) -> None:
    (folder / "url.txt").write_text("typo")
    if named == "file":
        result = call("explain", "--storage-file", "url.txt")
        assert result.stderr.endswith("It is from the file of --storage-file.\n")
    else:
        result = call("explain", **{VARIABLE: SERVER})
        assert "check its host, port, user and database in the variable PELLUCID_STORAGE." in result.stderr
        assert "Tr0ub4dor" not in result.output
    assert result.exit_code == 2


def test_an_address_with_a_byte_that_is_not_utf8_is_a_sentence() -> None:
    result = call("explain", "--storage", "sqlite:///\udcff.db")
    assert result.exit_code == 2
    assert "which has a byte that is not UTF-8" in result.stderr
