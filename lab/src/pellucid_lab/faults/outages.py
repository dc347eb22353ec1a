"""Storages that refuse for a while: read-only, locked by somebody else, or on a server that is stopped and started."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from pellucid_lab.faults.base import PATIENCE_S, FaultTask, Tally
from pellucid_lab.faults.children import Child, Say, attempted
from pellucid_lab.faults.disks import REFUSALS, make_read_only
from pellucid_lab.faults.homes import Home, empty_folder, home
from pellucid_lab.faults.studies import (
    Snapshot,
    begun,
    check_answers,
    compared,
    count_backwards,
    count_unusable,
    opened,
    run_trial,
    snapshot,
    work,
)
from pellucid_lab.servers.postgres import postgres

# ---------------------------------------------------------------------- read-only


def run_readonly(task: FaultTask) -> Tally:
    """A study that becomes read-only `size` times: answers and reports still work, a write is refused in words, and
    nothing changes."""
    tally = Tally()
    with home(task.case) as at_home, empty_folder() as pages:
        begun(tally, at_home.address, 10)
        before = snapshot(tally, at_home.address) or {}
        for number in range(task.size):
            tally.tried += 1
            attempted_answers(tally, *_closed(at_home, task.case, number), pages)
            after = snapshot(tally, at_home.address) or {}
            count_backwards(tally, before, after)
            if after != before:
                tally.lost += 1
                tally.note("a storage that is read-only has changed")
        count_unusable(tally, at_home.address, pages)
    return tally


def _closed(at_home: Home, case: str, number: int) -> tuple[str, Callable[[], None]]:
    """The address of the storage for a process that may not write, and what it does first so that it cannot."""
    if case == "postgresql":
        return f"{at_home.address}?options=-c%20default_transaction_read_only%3Don", lambda: None
    if case == "sqlite" and number % 2 == 0:
        file = Path(at_home.address.removeprefix("sqlite:///"))
        return f"sqlite:///{file.as_uri()}?mode=ro&uri=true", lambda: None
    return at_home.address, lambda: make_read_only(at_home.folder)


def attempted_answers(tally: Tally, address: str, close: Callable[[], None], pages: Path) -> None:
    def read_and_write(say: Say) -> list[str]:
        try:
            close()
        except OSError:
            return ["not tried"]
        study = opened(address)
        problems = check_answers(study, pages, say)
        try:
            run_trial(study)
            problems.append("a write was not refused")
        except Exception as error:
            if type(error).__name__ not in REFUSALS or not str(error):
                problems.append(f"a write was refused with {type(error).__name__}: {error}")
        return problems

    ended = attempted(tally, read_and_write)
    problems = ended.value if ended.fine else ["it cannot be opened, or not in time"]
    if problems == ["not tried"]:
        tally.tried -= 1
        tally.count("folders that could not be made read-only, which were not tried")
    elif problems:
        tally.unusable += 1
        tally.note("read-only: " + "; ".join(problems))


# ---------------------------------------------------------------------- locked


def run_locked(task: FaultTask) -> Tally:
    """Another connection locks the storage `size` times, at random moments of a worker: every second time only for a
    while, so that the worker goes on; otherwise for good, so that it must give up after the second that its address
    allows it to wait."""
    tally, moments = Tally(), random.Random(f"{task.case} {task.chunk}")
    with home(task.case) as at_home:
        begun(tally, at_home.address, 6)
        told: dict[int, tuple[float, ...]] = {}
        before: Snapshot = {}
        for number in range(task.size):
            tally.tried += 1
            for_good = number % 2 == 1
            with _waiting_worker(at_home.address, task.case, for_good) as worker:
                worker.listen(moments.uniform(0.1, 0.6))
                with _lock(at_home.address, task.case):
                    worker.listen(PATIENCE_S if for_good else 1.0)
                # What was said before the lock was released may have been told before it was taken.
                _count_ended(tally, worker, still_works=not for_good, more=2)
                told.update({number: tuple(values) for number, values in worker.said})
            before = compared(tally, at_home.address, told, before)
        tally.count("trials told", len(told))
        count_unusable(tally, at_home.address, at_home.folder)
    return tally


def _waiting_worker(address: str, case: str, for_good: bool) -> Child:
    limit = {"sqlite": "?timeout=1", "postgresql": "?options=-c%20lock_timeout%3D1000"}[case] if for_good else ""
    return Child(lambda say: work(f"{address}{limit}", 10**6, say))


def _count_ended(tally: Tally, worker: Child, still_works: bool, more: int) -> None:
    """A worker gives up with an error of the storage or, if it may, goes on: then it tells `more` trials in time, and
    is killed by us. Neither is a hang."""
    went_on = still_works and worker.says(more, PATIENCE_S)
    if went_on:
        worker.kill()
        tally.count("workers that went on")
    ended = worker.ended()
    tally.hangs += ended.hung
    tally.peak_mb = max(tally.peak_mb, ended.peak_mb)
    if ended.error.partition(":")[0] in REFUSALS:
        tally.count("workers that gave up in words")
    elif not ended.hung and not went_on:
        tally.crashes += 1
        tally.note(f"a worker ended: {ended.error or 'without an error'}")


@contextmanager
def _lock(address: str, case: str) -> Iterator[None]:
    if case == "sqlite":
        with closing(sqlite3.connect(address.removeprefix("sqlite:///"), timeout=PATIENCE_S)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield
            connection.rollback()
        return
    import psycopg2

    with closing(psycopg2.connect(address.replace("+psycopg2", ""))) as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLE trials IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


# ---------------------------------------------------------------------- stopped and started


def run_restarts(task: FaultTask) -> Tally:
    """The server is stopped at once and started again `size` times, at random moments of two workers."""
    tally, moments = Tally(), random.Random(task.chunk)
    with postgres() as server, empty_folder() as folder:
        begun(tally, server.url, 4)
        told: dict[int, tuple[float, ...]] = {}
        before: Snapshot = {}
        for _ in range(task.size):
            tally.tried += 1
            with ExitStack() as stack:
                workers = [stack.enter_context(Child(lambda say: work(server.url, 10**6, say))) for _ in range(2)]
                time.sleep(moments.uniform(0.1, 1.0))
                server.stop()
                for worker in workers:
                    worker.listen(0.0)  # Nothing that a worker says after this was told before the stop.
                time.sleep(moments.uniform(0.0, 0.2))
                server.start()
                for worker in workers:
                    _count_ended(tally, worker, still_works=True, more=1)
                    told.update({number: tuple(values) for number, values in worker.said})
            before = compared(tally, server.url, told, before)
        tally.count("trials told", len(told))
        count_unusable(tally, server.url, folder)
    return tally
