"""Secrets in the address of a storage show nowhere: not on the output of any command, in a log, or in an error.

What others may do with an address is worse here than it is: storages, drivers and their logs name it, whole and in
parts, in every encoding.
"""

from __future__ import annotations

import io
import logging
import random
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import optuna
import pytest
import typer
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import ArgumentError, OperationalError
from tests.cli.addresses import Address, addresses, leaked

from pellucid.surfaces.cli.app import application
from pellucid.surfaces.cli.mcp.answering import reply_to
from pellucid.surfaces.cli.mcp.session import Session
from pellucid.surfaces.cli.redaction import forget
from pellucid.surfaces.cli.serving import sentence_about
from pellucid.surfaces.cli.storage.naming import VARIABLE
from pellucid.surfaces.cli.storage.places import place_of

COMMANDS = ("tune", "explain", "report", "publish", "meta-train", "mcp")
LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
LOGGERS = ("", "sqlalchemy.engine", "sqlalchemy.pool", "optuna", "pellucid", "mcp")


# ---------------------------------------------------------------------- what others do with an address


def driver_error(words: str) -> OperationalError:
    return OperationalError("SELECT 1", {}, Exception(f'connection to server at "{words}" failed'))


def in_turn(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


# From an address, or a part of it, to an error that names it.
ERRORS: tuple[Callable[[str], Exception], ...] = (
    lambda words: ArgumentError(f"Could not parse SQLAlchemy URL from string '{words}'"),
    driver_error,
    lambda words: in_turn(StorageInternalError("An exception is raised"), driver_error(unquote(words))),
    lambda words: in_turn(RuntimeError(f"version of {words}"), ValueError(quote(words, errors="surrogateescape"))),
    KeyError,
    lambda words: ValueError(f"invalid literal for int() with base 10: {words!r}"),
    lambda words: TypeError(f"{unquote(words)!a} is an invalid keyword argument for Connection()"),
    lambda words: ImportError(f"no driver for {words}"),
    lambda words: FileNotFoundError(2, "No such file or directory", words),
    lambda words: PermissionError(f"{words}: not allowed"),
    lambda words: ConnectionError(f"no answer from {words.lower()}"),
    lambda words: UnicodeError(f"label too long: {words.encode(errors='surrogatepass')!r}"),
)


class Hostile:
    """In the place of every storage: it logs and warns of its address, and raises an error with a part of it."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw

    def __call__(self, *given: Any, **options: Any) -> NoReturn:
        text = " ".join(map(str, (*given, *options.values())))
        parts = [text, unquote(text), *(part for part in re.split(r"[@:/?#&;=]+", text) if part)]
        words = self._draw.choice(parts)
        for name in LOGGERS:
            logging.getLogger(name).debug("dsn: %s", words)
            logging.getLogger(name).error("cannot open %r with %d", words, "no number")
        warnings.warn(f"an old way to write {words}", stacklevel=1)
        error = self._draw.choice(ERRORS)(words)
        try:
            raise error
        except Exception:
            logging.getLogger("sqlalchemy.pool").exception("during a connection")
        raise error


class Outputs:
    """All that a command may be read from: standard output and error, logs, and the error that it ends with."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.command = typer.main.get_command(application())
        self._handler = logging.StreamHandler(self.stream)
        self._handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def of(self, run: Callable[[], None], level: int) -> str:
        self.stream.seek(0)
        self.stream.truncate()
        with ExitStack() as stack:
            for logger in map(logging.getLogger, LOGGERS):
                before = logger.level
                stack.callback(logger.setLevel, before)
                logger.setLevel(level)
            logging.getLogger().addHandler(self._handler)
            stack.callback(logging.getLogger().removeHandler, self._handler)
            stack.enter_context(redirect_stdout(self.stream))
            stack.enter_context(redirect_stderr(self.stream))
            try:
                run()
            except SystemExit:
                pass
            except Exception:
                traceback.print_exc(file=self.stream)
        return self.stream.getvalue()


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outputs]:
    """Commands work in an empty folder, and no server of `mcp` waits for messages: it answers two questions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("def objective(trial): ...")

    def serve(session: Session) -> None:
        for tool in ("list_studies", "recommendation"):
            print(reply_to(session, tool, {}).texts)

    monkeypatch.setitem(sys.modules, "pellucid.surfaces.cli.mcp.server", SimpleNamespace(serve=serve))
    monkeypatch.setattr("pellucid.surfaces.cli.mcp.command._end_on_signals", lambda _stack: None)
    monkeypatch.setattr(logging, "raiseExceptions", True)
    optuna.logging.enable_propagation()
    optuna.logging.disable_default_handler()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # As Python writes them; pytest would collect them.
        monkeypatch.setattr(warnings, "showwarning", lambda *args: sys.stderr.write(warnings.formatwarning(*args[:4])))
        yield Outputs()
    optuna.logging.enable_default_handler()
    optuna.logging.disable_propagation()


def arguments(command: str, text: str, draw: random.Random, folder: Path) -> tuple[list[str], dict[str, str]]:
    """A command with an address where it belongs, or in any other place; and its environment."""
    name = {"tune": ["script.py:objective", "--trials", "3"], "meta-train": [], "mcp": []}.get(command, ["study"])
    file = folder / "storage.txt"
    file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    places: list[list[str]] = [
        [command, *name, "--storage", text],
        [command, *name, f"--storage={text}"],
        [command, *name, "--storage-file", str(file)],
        [command, *name],
        [command, *name, "--storage-file", text],
        [command, text, *name],
        [command, *name, "--study", text],
        [command, *name, "--trials" if command == "tune" else "--trial", text],
        [command, *name, "--out", text],
        [command, *name, f"--{text}"],
        [command, *name, f"-{text}"],
        [text, command],
        ["bench", "faults", text],
        ["bench", text],
    ]
    # Half of all runs get as far as the storage.
    chosen = draw.choice(places[:4] if draw.random() < 0.5 else places)
    return chosen, {VARIABLE: text} if chosen == places[3] and "\0" not in text else {}


def shown_by(address: Address, command: str, draw: random.Random, folder: Path, outputs: Outputs) -> str:
    """All that a command shows of an address."""
    given, environment = arguments(command, address.text, draw, folder)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RDBStorage", "GrpcStorageProxy", "JournalStorage"):
            patch.setattr(optuna.storages, name, Hostile(draw))
        # Workers are processes, which `test_secrets_of_processes.py` starts.
        patch.setattr("pellucid.surfaces.cli.tune.run.WorkerPool", lambda jobs: Hostile(draw)(jobs, jobs[0].storage))
        for variable, value in environment.items():
            patch.setenv(variable, value)
        return outputs.of(lambda: outputs.command.main(given, prog_name="pellucid"), draw.choice(LEVELS))


def shown_by_page(address: Address, draw: random.Random, outputs: Outputs) -> str:
    """What the live report says of an error of the storage, and how a place looks in a traceback."""
    forget()
    said: list[str] = []

    def run() -> None:
        place = place_of(address.text)
        said.append(repr(place))
        try:
            Hostile(draw)(place.address, address.text)
        except Exception as error:
            said.append(sentence_about(error, place))

    return "\n".join((outputs.of(run, logging.DEBUG), *said))


def check(count: int, seed: int, folder: Path, outputs: Outputs, each_command: bool) -> None:
    n_runs, n_opened, found = 0, 0, []
    for i, address in enumerate(addresses(count, seed)):
        draw = random.Random(repr(address.text))
        commands = COMMANDS if each_command else COMMANDS[i % len(COMMANDS) :][:1]
        shown = [shown_by(address, command, draw, folder, outputs) for command in commands]
        shown.append(shown_by_page(address, draw, outputs))
        n_runs += len(shown)
        n_opened += sum("during a connection" in text for text in shown)
        found += [(address, leaked(address, text), text) for text in shown if leaked(address, text)]
    print(
        f"{count} addresses, {n_runs} runs, {n_opened} of them opened a storage: {len(found)} show a part of a secret"
    )
    assert n_opened > n_runs / 10
    assert not found, found[0]


def test_no_command_shows_a_secret(tmp_path: Path, outputs: Outputs) -> None:
    check(500, 0, tmp_path, outputs, each_command=False)


@pytest.mark.slow
def test_no_command_shows_one_of_many_secrets(tmp_path: Path, outputs: Outputs) -> None:
    """In about two minutes."""
    check(10_000, 1, tmp_path, outputs, each_command=True)
