"""Worker processes with one thread each, which run one task at a time; a task that kills its process is reported.

A pool of the standard library loses track of a task if its worker dies (a segmentation fault in a peer, the
out-of-memory killer). Here the parent always knows which task a dead process had.
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
    """What a task returned, or the error that ended it; ``trace`` is for the log."""

    value: Any = None
    error: str | None = None
    trace: str = ""


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Limits the threads of processes that are started inside: BLAS reads the limits once, when it is loaded."""
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
    # Ctrl-C reaches all processes of the group; the parent ends its workers.
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
    """A fresh interpreter with one thread, which keeps its imports and caches between tasks."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.connection, remote = context.Pipe()
        self._process = context.Process(target=_serve, args=(remote,), daemon=True)
        with _one_thread():
            self._process.start()
        remote.close()

    def send(self, function: Callable[[Task], Any], task: Task) -> None:
        # If the process is already dead, receive() reports it with its exit code.
        with contextlib.suppress(ConnectionError):
            self.connection.send((function, task))

    def receive(self) -> Outcome:
        """Wait for the outcome of the last task; if the process died, the outcome is an error with its exit code."""
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
    """Outcomes of ``function`` for each task as they come, from ``jobs`` processes.

    Closing the iterator (or an exception in the loop around it, including Ctrl-C) ends the processes.
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
            for worker in [worker for worker in running if worker.connection in ready]:
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
