"""The worker processes of `pellucid tune`, as their parent sees them: it starts, directs and ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from pellucid.surfaces.cli.redaction import redacted
from pellucid.surfaces.cli.tune.messages import GO, Job, Message

# `python -m` would import Optuna and the standard library from the working folder first, if it has files of such names.
# Python names that folder "" here; `load_objective` adds it for the user's code.
_WORKER = (
    "import sys; sys.path[:] = [folder for folder in sys.path if folder]; "
    "from pellucid.surfaces.cli.tune.worker import main; main()"
)
# How long a worker has to end after SIGTERM, before it is killed: objectives may save files on the way out.
_GRACE_S = 10.0
# How long to wait for the last output of a worker that has ended; a process it left behind may hold its pipes open.
_LAST_OUTPUT_S = 2.0
# How often to check whether workers have ended.
_POLL_S = 0.02
# Output without a line break is passed on in pieces of this many bytes, so that it cannot fill the memory.
_LONGEST_LINE = 65_536
# Lines of output that are kept of a worker, to show them if it ends unexpectedly: the end of a traceback.
_LAST_LINES = 8


@dataclass
class WorkerProcess:
    """A worker process and its state.

    trial    the number of the trial that it runs;  busy  whether it has an order to run a trial that has not ended
    waiting  whether it waits for an order;  error  what it reported before it ended
    output   the last lines that it printed
    """

    index: int
    process: subprocess.Popen[bytes]
    readers: tuple[threading.Thread, ...] = ()
    trial: int | None = None
    busy: bool = False
    waiting: bool = False
    error: str = ""
    output: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))

    @property
    def cause_of_end(self) -> str:
        code = self.process.returncode
        if self.error:
            return self.error
        return f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"


@dataclass(frozen=True)
class Event:
    """A message of a worker, or a line that the user's code has printed."""

    worker: WorkerProcess
    content: Message | str


class WorkerPool:
    """Workers share nothing but the storage. Each has a process group of its own, so that Ctrl-C reaches only the
    parent."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self.workers: list[WorkerProcess] = []
        try:
            for index, job in enumerate(jobs):
                self.workers.append(self._started(index, job))
        except OSError:
            self.end(lambda: True)
            raise

    def _started(self, index: int, job: Job) -> WorkerProcess:
        process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        worker = WorkerProcess(index, process)
        read_functions = (self._read_messages, self._read_output)
        worker.readers = tuple(threading.Thread(target=read, args=(worker,), daemon=True) for read in read_functions)
        for reader in worker.readers:
            reader.start()
        _write(worker, job.to_json())
        return worker

    def _read_messages(self, worker: WorkerProcess) -> None:
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            with suppress(ValueError, TypeError, KeyError):  # A process that is killed may leave half a line.
                message = Message.from_json(line.decode())
                self._events.put(Event(worker, replace(message, text=redacted(message.text))))

    def _read_output(self, worker: WorkerProcess) -> None:
        assert worker.process.stderr is not None
        while line := worker.process.stderr.readline(_LONGEST_LINE):
            # A progress bar overwrites its own line: only its last state is kept.
            text = redacted(line.decode(errors="replace").rstrip("\r\n").rpartition("\r")[2])
            if text.strip():
                worker.output.append(text)
            self._events.put(Event(worker, text))

    def events(self, seconds: float) -> list[Event]:
        """The events since the last call; waits at most this long for the first one."""
        events: list[Event] = []
        try:
            events.append(self._events.get(timeout=seconds))
            while True:
                events.append(self._events.get_nowait())
        except Empty:
            return events

    def start_trial(self, worker: WorkerProcess) -> None:
        worker.waiting, worker.busy = False, True
        _write(worker, GO)

    def remove_ended(self) -> list[WorkerProcess]:
        """Remove and return the workers that have ended by themselves."""
        ended = [worker for worker in self.workers if worker.process.poll() is not None]
        for worker in ended:
            _wait_for_last_output(worker)
            self.workers.remove(worker)
        return ended

    def dismiss(self) -> None:
        """End workers that wait for an order; one that runs a trial ends after it."""
        for worker in self.workers:
            if worker.process.stdin is not None:
                with suppress(OSError):
                    worker.process.stdin.close()

    def end(self, kill_now: Callable[[], bool]) -> list[WorkerProcess]:
        """End all workers and their running trials: by SIGTERM, then by force after a while or once `kill_now()`."""
        self.dismiss()
        for worker in self.workers:
            _signal(worker, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while any(worker.process.poll() is None for worker in self.workers):
            if time.monotonic() > deadline or kill_now():
                for worker in self.workers:
                    _signal(worker, getattr(signal, "SIGKILL", signal.SIGTERM))
                break
            time.sleep(_POLL_S)
        for worker in self.workers:
            worker.process.wait()
            _wait_for_last_output(worker)
        ended, self.workers = self.workers, []
        return ended

    def wait(self) -> None:
        """Wait until dismissed workers have ended; end those that take too long."""
        for worker in self.workers:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(_GRACE_S)
        self.end(lambda: True)


def _write(worker: WorkerProcess, text: str) -> None:
    assert worker.process.stdin is not None
    with suppress(OSError, ValueError):  # `remove_ended` notices a worker that has died.
        worker.process.stdin.write(f"{text}\n".encode())
        worker.process.stdin.flush()


def _signal(worker: WorkerProcess, number: int) -> None:
    """Send a signal to a worker and to all processes that the objective has started, as Ctrl-C in a terminal would."""
    if worker.process.poll() is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(worker.process.pid, number)
        else:
            worker.process.terminate()


def _wait_for_last_output(worker: WorkerProcess) -> None:
    for reader in worker.readers:
        reader.join(_LAST_OUTPUT_S)
