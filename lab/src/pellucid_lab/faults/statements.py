"""SIGKILL at every storage statement of one whole trial: ask, suggest, report, should_prune and tell.

A study has some trials. For every statement and every commit of the next trial, a worker begins on a copy of the study
and is killed just before it; the last time after `tell` has returned. Then a new process continues.

Resume after a kill = no kill, bit for bit, means with one worker:

- A killed process and one that goes on leave the same. The same trial is begun on another copy, but instead of the
  kill, an exception undoes the statement, and the same process continues, with all that it remembers. Parameters,
  values, reports, receipts and reasons of the begun trial and of those after it are equal to the last bit.
- If the trial was not yet in the storage, or had been told, they are also those of a study that nothing happened to.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Child, Say, attempted
from pellucid_lab.faults.homes import Home, home
from pellucid_lab.faults.studies import (
    MORE,
    begun,
    count_lost,
    count_unusable,
    fingerprint,
    opened,
    run_trial,
    snapshot,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

TRIALS = 8


class Undone(BaseException):
    """Ends a statement in a process that goes on; not an Exception, which pellucid would log and survive."""


def counted(act: Callable[[int, Connection], None]) -> None:
    """Call a function with 0, 1, … and the connection before every statement and every commit of this process."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    passed = [0]

    def point(connection: Connection, *_: Any) -> None:
        passed[0] += 1
        act(passed[0] - 1, connection)

    event.listen(Engine, "before_cursor_execute", point)
    event.listen(Engine, "commit", point)


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL cannot be survived")


def uninterrupted(address: str, say: Say) -> list[Any]:
    """How many points a trial has, and that trial with those after it."""
    study = opened(address)
    points: list[int] = []
    counted(lambda point, _: points.append(point))
    run_trial(study)
    n_points = len(points)
    for _ in range(MORE):
        run_trial(study)
    return [n_points, fingerprint(study, TRIALS)]


def killed(address: str, at: int, say: Say) -> None:
    study = opened(address)
    counted(lambda point, _: die() if point == at else None)
    told = run_trial(study)
    say([told.number, list(told.values or ())])
    die()


def went_on(address: str, at: int, say: Say) -> list[Any]:
    """The same without a kill: the statement is undone, and the process goes on."""
    study = opened(address)
    in_trial = [True]

    def undo(point: int, connection: Connection) -> None:
        if point == at and in_trial[0]:
            connection.connection.rollback()  # What a server or a file does for a process that is gone.
            raise Undone

    counted(undo)
    with suppress(Undone):
        run_trial(study)
    in_trial[0] = False  # Later trials pass the same number of statements.
    for _ in range(MORE):
        run_trial(study)
    return fingerprint(study, TRIALS)


def run_statements(task: FaultTask) -> Tally:
    """Every `size`-th statement, from number `chunk` on."""
    tally = Tally()
    with home(task.case) as at_home:
        begun(tally, at_home.address, TRIALS)
        whole = attempted(tally, lambda say: uninterrupted(at_home.copy("whole"), say))
        n_points, reference = whole.value
        for at in range(task.chunk, n_points + 1, task.size):
            _kill_at(tally, at_home, at, reference)
        tally.count("statements and commits of a trial", n_points if task.chunk == 0 else 0)
    return tally


def _kill_at(tally: Tally, at_home: Home, at: int, reference: list[Any]) -> None:
    address = at_home.copy("killed")
    child = Child(lambda say: killed(address, at, say))
    ended = child.ended()
    tally.tried += 1
    tally.hangs += ended.hung
    tally.peak_mb = max(tally.peak_mb, ended.peak_mb)
    if not ended.hung and ended.error != f"killed by signal {signal.SIGKILL.value}":
        tally.crashes += 1
        tally.note(f"statement {at}: {ended.error or 'it was not killed'}")
    after = snapshot(tally, address)
    if after is None:
        return
    count_lost(tally, {number: tuple(values) for number, values in child.said}, after)
    state = after.get(TRIALS, ("absent", ()))[0]
    tally.count(f"left {state.lower()}")
    resumed = count_unusable(tally, address, at_home.folder, TRIALS)
    other = attempted(tally, lambda say: went_on(at_home.copy("goes_on"), at, say)).value
    if resumed is None or resumed != other:
        tally.different += 1
        tally.note(f"statement {at}: continued otherwise than by the process that was not killed")
    elif state != "RUNNING" and resumed != reference[: len(resumed)]:
        tally.different += 1
        tally.note(f"statement {at}: continued otherwise than a study that nothing happened to")
