"""Standard output and errors that are full, closed or without a reader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from tests.helpers import bowl

SENTENCE = "Error: The answer cannot be written to standard output (No space left on device); send it somewhere else.\n"
STORAGE = "sqlite:///studies.db"


@pytest.fixture
def study(folder: Path) -> optuna.Study:
    study = optuna.create_study(study_name="script", storage=STORAGE)
    study.optimize(bowl, n_trials=2)
    return study


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of pellucid with what a shell adds to it."""
    line = f"{sys.executable} -m pellucid.cli {command}"
    return subprocess.run(["bash", "-c", line], check=False, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="This system has no /dev/full.")
@pytest.mark.parametrize(
    "command",
    [
        "explain",
        "explain --json",
        "tune script.py:bowl --trials 2 --json --quiet",
    ],
)
def test_a_full_disk_is_a_sentence(study: optuna.Study, command: str) -> None:
    finished = shell(f"{command} --storage {STORAGE} >/dev/full")
    assert (finished.returncode, finished.stderr) == (1, SENTENCE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="This system has no /dev/full.")
@pytest.mark.parametrize("command", ["--help", "--version", "explain --help"])
def test_a_full_disk_under_help_is_a_sentence(command: str) -> None:
    finished = shell(f"{command} >/dev/full")
    assert (finished.returncode, finished.stderr) == (1, SENTENCE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="This system has no /dev/full.")
@pytest.mark.parametrize("command", ["tune script.py:bowl --trials 3 --sampler random", "report --out page.html"])
def test_a_full_disk_under_messages_stops_no_command(study: optuna.Study, command: str) -> None:
    finished = shell(f"{command} --storage {STORAGE} 2>/dev/full")
    assert finished.returncode == 0
    assert len(study.get_trials()) == (3 if command.startswith("tune") else 2)
    assert Path("page.html").exists() == command.startswith("report")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="This system has no /dev/full.")
def test_a_full_disk_under_a_message_keeps_the_exit_code() -> None:
    assert shell("explain --storage sqlite:///none.db 2>/dev/full").returncode == 2
    assert shell("explain --none 2>/dev/full").returncode == 2


def test_a_reader_that_leaves_is_no_traceback(study: optuna.Study) -> None:
    finished = shell(f"explain --storage {STORAGE} | true; exit ${{PIPESTATUS[0]}}")
    assert (finished.returncode, finished.stderr) == (1, "")


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        ("explain", "0<&-"),
        ("explain", ">&-"),
        ("explain", "<&- >&- 2>&-"),
        ("tune script.py:bowl --trials 3 --sampler random", "2>&-"),
        ("tune script.py:bowl --trials 3 --sampler random", "<&- >&- 2>&-"),
    ],
)
def test_a_closed_stream_is_discarded(study: optuna.Study, command: str, closed: str) -> None:
    finished = shell(f"{command} --storage {STORAGE} {closed}")
    assert finished.returncode == 0
    assert "Traceback" not in finished.stderr
    assert ("2 complete" in finished.stdout) == (command == "explain" and ">&-" not in closed.replace("2>&-", ""))
    assert len(study.get_trials()) == (2 if command == "explain" else 3)
