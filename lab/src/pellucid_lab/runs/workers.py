"""Processes that run one function at a time on one thread each, and survive a crash of what they run.

A pool from the standard library loses track of its task when a worker dies (a segmentation fault in a peer,
the out-of-memory killer); here the parent always knows which task a dead process held.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Outcome:
    """What a task returned, or why it did not; ``trace`` is for the log."""

    value: Any = None
    error: str | None = None
    trace: str = ""


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Thread limits for processes started inside: BLAS reads them once, before Python code could set them."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _serve(connection: Connection) -> None:
    # Ctrl-C reaches the whole process group; the parent decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    while True:
        try:
            function, task = connection.recv()
            outcome = Outcome(value=function(task))
        except EOFError:
            return
        except Exception as error:
            outcome = Outcome(error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        connection.send(outcome)


class Worker:
    """One fresh interpreter, limited to one thread, that keeps its imports and caches between tasks."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _one_thread():
            self._process.start()
        theirs.close()

    def send(self, function: Callable[[Task], Any], task: Task) -> None:
        # A process that is already dead is reported by receive(), with its exit code.
        with contextlib.suppress(ConnectionError):
            self.connection.send((function, task))

    def receive(self) -> Outcome:
        """Block for the outcome of the task sent last; a dead process gives an outcome with its exit code."""
        try:
            outcome = self.connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            return Outcome(error=f"the process died with exit code {code} (negative: killed by that signal)")
        assert isinstance(outcome, Outcome)
        return outcome

    def call(self, function: Callable[[Task], Any], task: Task) -> Outcome:
        self.send(function, task)
        return self.receive()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
        self.connection.close()


@dataclass(frozen=True)
class Finished(Generic[Task]):
    task: Task
    outcome: Outcome


def run_all(function: Callable[[Task], Any], tasks: Sequence[Task], jobs: int) -> Iterator[Finished[Task]]:
    """Outcomes of ``function`` over the tasks as they come, with ``jobs`` processes.

    Closing the iterator (or an exception in the loop around it, Ctrl-C included) ends the processes.
    """
    waiting = deque(tasks)
    running: dict[Worker, Task] = {}
    idle = [Worker() for _ in range(min(jobs, len(tasks)))]
    try:
        while waiting or running:
            while waiting and idle:
                worker, task = idle.pop(), waiting.popleft()
                running[worker] = task
                worker.send(function, task)
            ready = wait([worker.connection for worker in running])
            for worker in [one for one in running if one.connection in ready]:
                task = running.pop(worker)
                outcome = worker.receive()
                if not worker.alive:
                    worker.stop()
                    worker = Worker()
                idle.append(worker)
                yield Finished(task, outcome)
    finally:
        for worker in (*idle, *running):
            worker.stop()
