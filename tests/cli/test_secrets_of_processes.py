"""Secrets in the address of a storage do not show when commands run as processes, with workers of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import optuna
import pytest
from tests.cli.addresses import Address, addresses, leaked

from pellucid.surfaces.cli.storage.naming import VARIABLE

# Longer than any command takes on a busy machine.
PATIENCE_S = 300
PLACES = [pytest.param("option", marks=pytest.mark.slow), pytest.param("file", marks=pytest.mark.slow), "variable"]
COMMANDS = {
    "tune": ["script.py:objective", "--trials", "2"],
    "explain": [],
    "report": [],
    "publish": [],
    "meta-train": [],
    "mcp": [],
}
# A question to the server for agents, whose answer names the storage.
QUESTIONS = """\
{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, \
"clientInfo": {"name": "test", "version": "1"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_studies", "arguments": {}}}
"""
# An objective that logs all that there is to log, prints the address of its study and fails with it.
SCRIPT = """
import logging, os, sys, time
from pathlib import Path

logging.basicConfig(level=logging.DEBUG)


def objective(trial):
    storage = trial.study._storage
    url = getattr(getattr(storage, "_backend", storage), "url", None)
    trial.suggest_float("x", 0, 1)
    print("my storage is", url)
    logging.getLogger("mine").warning("connected to %s", url)
    raise ValueError(f"cannot read {url}")


def patient(trial):
    Path(f"{os.getpid()}.worker").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return trial.suggest_float("x", 0, 1)
"""


def run(folder: Path, command: str, address: Address, place: str) -> str:
    """What a command prints. `place`: where it finds the address."""
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    (folder / "url.txt").write_text(address.text, encoding="utf-8", errors="surrogateescape", newline="")
    named = {"option": ["--storage", address.text], "file": ["--storage-file", "url.txt"], "variable": []}[place]
    variables = {VARIABLE: address.text} if place == "variable" else {}
    (folder / "questions.json").write_text(QUESTIONS)
    return printed(folder, [command, *COMMANDS[command], *named], {"PGCONNECT_TIMEOUT": "2", **variables})


def printed(folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    with (folder / "questions.json").open() as questions:
        done = subprocess.run(
            [sys.executable, "-m", "pellucid.cli", *arguments],
            cwd=folder,
            env={**os.environ, **variables},
            stdin=questions,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=PATIENCE_S,
        )
    return done.stdout.decode(errors="replace")


def check(folder: Path, count: int, commands: Sequence[str]) -> None:
    """Every address through every command: `count` times as many processes as there are commands."""
    every = [address for address in addresses(2 * count, 2) if "\0" not in address.text][:count]
    places = ("option", "file", "variable")
    cases = [
        (folder / f"{i}-{command}", command, address, places[(i + turn) % 3])
        for i, address in enumerate(every)
        for turn, command in enumerate(commands)
    ]
    start = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(lambda case: run(*case), cases))
    found = [(case, text) for case, text in zip(cases, texts, strict=True) if leaked(case[2], text)]
    seconds = time.monotonic() - start
    print(f"{len(every)} addresses, {len(cases)} processes in {seconds:.0f} s: {len(found)} show a part of a secret")
    assert all(texts), "a command has said nothing"
    assert not found, found[0]


def test_no_process_shows_a_secret(tmp_path: Path) -> None:
    check(tmp_path, 2, ["explain"])


@pytest.mark.slow
def test_no_process_of_any_command_shows_one_of_many_secrets(tmp_path: Path) -> None:
    """200 through each of the six commands, in about three minutes."""
    check(tmp_path, 200, list(COMMANDS))


@pytest.mark.parametrize("place", PLACES)
def test_an_objective_that_prints_the_address_shows_no_secret(tmp_path: Path, place: str) -> None:
    """SQLite ignores settings that it does not know, so that a study can be tuned at an address with a secret."""
    address = Address("sqlite:///file:x.db?uri=true&mode=rwc&token=Tr0ub4dor%26Pfe%20rd", ("Tr0ub4dor",))
    text = run(tmp_path / "run", "tune", address, place)
    assert "2 trials of this run failed" in text
    assert "my storage is sqlite:///file:" in text
    assert "connected to sqlite:///file:" in text
    assert "ValueError: cannot read sqlite:///file:" in text
    assert not leaked(address, text)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="this machine has no list of processes in /proc")
@pytest.mark.parametrize("place", PLACES)
def test_no_command_line_of_a_worker_has_the_address(tmp_path: Path, place: str) -> None:
    """The parent's own has it only if the user has written it there."""
    url = "sqlite:///file:x.db?uri=true&mode=rwc&token=Tr0ub4dor"
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "url.txt").write_text(url)
    named = {"option": ["--storage", url], "file": ["--storage-file", "url.txt"], "variable": []}[place]
    parent = subprocess.Popen(
        [sys.executable, "-m", "pellucid.cli", "tune", "script.py:patient", "--trials", "2", "--jobs", "2", *named],
        cwd=tmp_path,
        env={**os.environ, **({VARIABLE: url} if place == "variable" else {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        workers = [command_line(pid) for pid in begun(tmp_path, parent)]
        own = command_line(parent.pid)
    finally:
        (tmp_path / "go").touch()
        output, _ = parent.communicate(timeout=120)
    assert parent.returncode == 0, output
    assert len(workers) == 2
    assert all("pellucid.surfaces.cli.tune.worker" in line for line in workers)
    assert "Tr0ub4dor" not in "".join(workers)
    assert ("Tr0ub4dor" in own) == (place == "option")
    assert "Tr0ub4dor" not in output
    assert len(optuna.load_study(study_name="script", storage=f"sqlite:///{tmp_path}/x.db").trials) == 2


def begun(folder: Path, parent: subprocess.Popen[str]) -> Iterator[int]:
    """The workers, once both have begun a trial."""
    while len(files := list(folder.glob("*.worker"))) < 2:
        assert parent.poll() is None, "the run has ended before its trials"
        time.sleep(0.02)
    return (int(file.stem) for file in files)


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()
