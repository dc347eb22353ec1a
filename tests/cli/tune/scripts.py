"""A script with objectives of every kind, and functions that run it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError
from tests.helpers import file_storage
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli.app import app

URL = "sqlite:///tuning.db"
# A journal is opened in a third of the time: for tests to which the kind of storage does not matter.
LOG = "tuning.log"
COMPLETE, FAIL, PRUNED = TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED
# Longer than anything takes on a busy machine, so that a test that hangs fails.
PATIENCE_S = 120

SCRIPT = """
import os, sys, time
import optuna


def bowl(trial):
    with open(f"{trial.number}.running", "w") as file:
        file.write(str(os.getpid()))
    return trial.suggest_float("x", -1, 1) ** 2 + trial.suggest_float("y", -1, 1) ** 2


def slow(trial):
    value = bowl(trial)
    time.sleep(0.3)
    return value


def endless_from_third(trial):
    value = bowl(trial)
    while trial.number >= 3:
        time.sleep(0.02)
    return value


def stubborn(trial):
    value = bowl(trial)
    try:
        while trial.number >= 3:
            time.sleep(0.02)
    except KeyboardInterrupt:
        pass
    return value


def sometimes(trial):
    value = bowl(trial)
    if trial.number == 1:
        raise ValueError("one\\nis bad")
    if trial.number == 2:
        return "a word"
    if trial.number == 3:
        sys.exit(7)
    if trial.number == 4:
        raise optuna.TrialPruned
    return value


def always(trial):
    return helper(bowl(trial))


def helper(value):
    raise ZeroDivisionError("never works")


def suicide(trial):
    bowl(trial)
    os.kill(os.getpid(), 9)


def stops(trial):
    if trial.number == 2:
        trial.study.stop()
    return bowl(trial)


def chatty(trial):
    assert sys.stdin.read() == ""
    value = bowl(trial)
    time.sleep(0.1)
    print("printed [bold]by[/bold] trial", trial.number)
    print("warned", file=sys.stderr)
    os.write(1, b"by a library\\n")
    return value


def both(trial):
    value = bowl(trial)
    if trial.number == 1:
        return value
    if trial.number == 2:
        return value, "a word"
    trial.study.set_metric_names(["loss", "ms"])
    return value, 100.0 * trial.params["x"]


def scored(trial):
    x = trial.suggest_float("x", 0, 1)
    accuracy, latency = 1 - (1 - x) ** 2, 100 * x
    if trial.number == 1:
        return {"accuracy": accuracy, "latency": latency}
    return accuracy, latency


def wanderer(trial):
    os.makedirs("elsewhere", exist_ok=True)
    os.chdir("elsewhere")
    return trial.suggest_float("x", -1, 1) ** 2


def worse_and_worse(trial):
    level = trial.number + trial.suggest_float("x", 0, 1)
    for step in range(1, 11):
        value = level + 0.5**step
        trial.report(value, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


number = 3


class Thing:
    pass
"""


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def tune(function: str, n: int, *options: str) -> Result:
    return call("tune", f"script.py:{function}", "--trials", str(n), "--storage", URL, *options)


def command(function: str, n: int, *options: str) -> list[str]:
    words = ["tune", f"script.py:{function}", "--trials", str(n), "--storage", URL, *options]
    return [sys.executable, "-m", "pellucid.cli", *words]


def start(function: str, n: int, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command(function, n, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def study(name: str = "script", storage: str = URL) -> Study:
    opened = file_storage(Path(storage)) if storage == LOG else storage
    return optuna.load_study(study_name=name, storage=opened)


def states(name: str = "script", storage: str = URL) -> Counter[TrialState]:
    return Counter(trial.state for trial in study(name, storage).trials)


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[str] | None = None) -> Any:
    """The first true result of the function. It may raise an error while the storage does not exist yet."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if result := condition():
                return result
        except (KeyError, OSError, SQLAlchemyError):
            pass
        if process is not None and process.poll() is not None:
            pytest.fail(f"The process has ended early: {process.communicate()}")
        time.sleep(0.05)
    pytest.fail(f"Nothing happened in {PATIENCE_S} seconds.")


def pid_of(number: int) -> int | None:
    """The process id of the worker that runs, or has run, a trial."""
    marker = Path(f"{number}.running")
    return int(marker.read_text() or 0) if marker.exists() else None


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process whose parent is gone may stay in the process table as a zombie.
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
