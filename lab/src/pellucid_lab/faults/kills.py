"""SIGKILL at random moments: of workers that share a study, two at a time, and of the parent of `pellucid tune`.

Of a worker: it says which trials it has told. Of a parent: its workers must end after their trial, and the same command
must continue the study. A trial of such a worker has been told if the worker began another one afterwards.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.faults.base import PATIENCE_S, FaultTask, Tally
from pellucid_lab.faults.children import Child
from pellucid_lab.faults.homes import home
from pellucid_lab.faults.studies import (
    Snapshot,
    begun,
    compared,
    count_unusable,
    work,
)

_FOREVER = 10**6
# The longest life of a worker and of a parent, once it works: about the time of a few trials.
_LONGEST_S, _LONGEST_PARENT_S = 0.4, 0.5
# One parent in so many is killed at any moment from its start on, instead of once a trial has begun.
_EARLY, _LONGEST_START_S = 5, 3.0
# The storage is read after this many kills.
_BETWEEN = 5


def run_worker_kills(task: FaultTask) -> Tally:
    tally, moments = Tally(), random.Random(f"{task.case} {task.chunk}")
    with home(task.case) as at_home:
        begun(tally, at_home.address, 3)
        told: dict[int, tuple[float, ...]] = {}
        before: Snapshot = {}
        with ExitStack() as stack:  # Workers would go on for ever if an error left this loop.

            def begin_worker() -> Child:
                return stack.enter_context(Child(lambda say: work(at_home.address, _FOREVER, say)))

            workers = [begin_worker() for _ in range(2)]
            while tally.tried < task.size:
                time.sleep(moments.uniform(0.0, _LONGEST_S))
                _kill(tally, workers.pop(moments.randrange(2)), told)
                workers.append(begin_worker())
                if tally.tried % _BETWEEN == 0:
                    before = compared(tally, at_home.address, told, before)
            for worker in workers:
                _kill(tally, worker, told)
        tally.tried = task.size  # The last two were killed to end the task, and while they may have done nothing yet.
        after = compared(tally, at_home.address, told, before)
        tally.count("trials told", len(told))
        tally.count("trials left running", sum(state == "RUNNING" for state, _ in after.values()))
        count_unusable(tally, at_home.address, at_home.folder)
    return tally


def _kill(tally: Tally, worker: Child, told: dict[int, tuple[float, ...]]) -> None:
    worker.kill()
    ended = worker.ended()
    told.update({number: tuple(values) for number, values in worker.said})
    tally.tried += 1
    tally.peak_mb = max(tally.peak_mb, ended.peak_mb)
    if ended.error != f"killed by signal {signal.SIGKILL.value}":
        tally.crashes += 1
        tally.note(f"a worker ended by itself: {ended.error}")


# ---------------------------------------------------------------------- the parent of workers

_SCRIPT = """
import os, time

def objective(trial):
    with open({log!r}, "a") as log:
        log.write(f"{{os.getpid()}} {{trial.number}}\\n")
    x, y = trial.suggest_float("x", -1.0, 1.0), trial.suggest_float("y", -1.0, 1.0)
    time.sleep(0.02)
    return (x - 0.3) ** 2 + (y + 0.2) ** 2
"""


def run_parent_kills(task: FaultTask) -> Tally:
    if not Path("/proc/self/cwd").exists():
        raise Mistake("Kills of tune's parent need /proc, where they see whether its workers have ended.")
    tally, moments = Tally(), random.Random(f"{task.case} {task.chunk}")
    with home(task.case) as at_home:
        log, script = at_home.folder / "log", at_home.folder / "script.py"
        script.write_text(_SCRIPT.format(log=str(log)), encoding="utf-8")
        before: Snapshot = {}
        for number in range(task.size):
            at_start = number % _EARLY == _EARLY - 1
            _kill_parent(tally, tune_command(script, at_home.address, _FOREVER, 1 + number % 2), log, at_start, moments)
            if number == 0 or not at_start:
                before = compared(tally, at_home.address, {}, before)
                _count_untold(tally, _begun(log), before)
        tally.count("trials begun", len(_begun(log)))
        last = subprocess.run(
            tune_command(script, at_home.address, len(before) + 2, 1),
            cwd=at_home.folder,
            capture_output=True,
            timeout=4 * PATIENCE_S,
            check=False,
        )
        if last.returncode != 0:
            tally.unusable += 1
            tally.note(f"the last command failed: {last.stderr.decode(errors='replace')[-200:]}")
        compared(tally, at_home.address, {}, before)
        count_unusable(tally, at_home.address, at_home.folder)
    return tally


def _kill_parent(tally: Tally, command: list[str], log: Path, at_start: bool, moments: random.Random) -> None:
    """Kill a run of tune: at any moment from its start on, or once a trial has begun."""
    n_begun = len(_begun(log))
    parent = subprocess.Popen(
        command, cwd=log.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    tally.tried += 1
    if at_start:
        time.sleep(moments.uniform(0.0, _LONGEST_START_S))
    elif _wait(lambda: len(_begun(log)) > n_begun, parent):
        time.sleep(moments.uniform(0.0, _LONGEST_PARENT_S))
    else:
        tally.unusable += 1
        tally.note("the same command did not continue the study")
    parent.kill()
    parent.wait()
    if not _wait(lambda: not _is_anybody_in(log.parent)):
        tally.hangs += 1
        tally.note("workers go on without their parent")


def tune_command(script: Path, address: str, trials: int, jobs: int) -> list[str]:
    options = ["--trials", str(trials), "--jobs", str(jobs), "--storage", address, "--study", "study", "--quiet"]
    return [sys.executable, "-m", "pellucid.cli", "tune", f"{script}:objective", *options]


def _begun(log: Path) -> list[tuple[int, int]]:
    """Processes and trials, in the order in which these began."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8").split("\n")[:-1]
    return [(int(pid), int(number)) for pid, number in (line.split() for line in lines)]


def _is_anybody_in(folder: Path) -> bool:
    """Whether a process works in a folder, as the workers of tune do."""
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if link.readlink() == folder.resolve():
                return True
    return False


def _wait(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> bool:
    """Wait for a condition for as long as nothing may take; False if it does not come, or if the process ends."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if condition():
            return True
        if process is not None and process.poll() is not None:
            return False
        time.sleep(0.01)
    return False


def _count_untold(tally: Tally, begun_trials: list[tuple[int, int]], after: Snapshot) -> None:
    """A worker tells a trial before it begins another one."""
    last = dict(begun_trials)  # By process: the last trial that it began.
    for pid, number in begun_trials:
        if last[pid] != number and after.get(number, ("absent", ()))[0] != "COMPLETE":
            tally.lost += 1
            tally.note(f"lost: trial {number} had been told by a worker of tune")
