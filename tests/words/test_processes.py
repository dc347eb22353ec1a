"""Commands as processes, with and without a terminal: of a hostile name, nothing but its letters arrives there."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import optuna
import pytest
from tests.cli.tune.scripts import PATIENCE_S
from tests.cli.tune.test_display import read_terminal
from tests.words.commands import unstyled
from tests.words.recorder import Recorder, name
from tests.words.studies import LOSS, LR, simple

SCRIPT = """
def objective(trial):
    return trial.suggest_float("x", 0, 1)
"""
NAMED = name("study")


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('studies')}/s.db"
    study = optuna.create_study(study_name=NAMED, storage=url, sampler=optuna.samplers.RandomSampler(seed=0))
    study.set_metric_names([LOSS])
    study.optimize(simple, n_trials=12)
    return url


def process(arguments: Sequence[str], folder: Path, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "40"}
    command = [sys.executable, "-m", "pellucid.cli", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=stdout, stderr=stderr, env=environment)


def printed(arguments: Sequence[str], folder: Path) -> str:
    """What a command prints into pipes."""
    output, _ = process(arguments, folder, subprocess.PIPE, subprocess.STDOUT).communicate(timeout=PATIENCE_S)
    return output.decode()


def on_terminal(arguments: Sequence[str], folder: Path) -> str:
    """What a command prints on a terminal, without the colours and cursor movements that are our own."""
    reader, terminal = pty.openpty()
    child = process(arguments, folder, terminal, terminal)
    os.close(terminal)
    shown = b"".join(read_terminal(reader)).decode()
    child.wait(timeout=PATIENCE_S)
    os.close(reader)
    return unstyled(shown.replace("\r\n", "\n"))


@pytest.mark.parametrize(
    "arguments",
    [["--param", "zz"], ["--param", LR], ["--param", name("wrong")], ["--objective", name("wrong")], [name("wrong")]],
    ids=["wrong parameter", "parameter", "hostile parameter", "hostile objective", "hostile study"],
)
def test_explain_sends_no_name_to_a_terminal_as_it_is(arguments: list[str], storage: str, tmp_path: Path) -> None:
    recorder = Recorder([])
    given = ["explain", "--storage", storage, *arguments]
    recorder.hear(on_terminal(given, tmp_path), "terminal")
    assert recorder.faults == []
    assert recorder.known == 1


def test_json_has_no_control_character_and_every_name(storage: str, tmp_path: Path) -> None:
    text = printed(["explain", "--storage", storage, "--json"], tmp_path)
    assert text.rstrip("\n").isprintable()
    assert text.isascii()
    data = json.loads(text)
    assert data["study"] == NAMED
    assert LR in data["recommendation"]["params"]


@pytest.mark.parametrize("run", [printed, on_terminal], ids=["pipe", "terminal"])
def test_tune_prints_names_of_metrics_as_text(run: object, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    given = ["tune", "script.py:objective", "--trials", "3", "--metric", LOSS, "--study", NAMED]
    text = run([*given, "--storage", "tuning.log"], tmp_path)  # type: ignore[operator]
    recorder = Recorder([])
    recorder.hear(text, "tune")
    assert recorder.faults == []
    assert r"loss\x1b]52;c;aGk=\x07\x1b[2J" in text.replace("\n", "")
