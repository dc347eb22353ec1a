"""The worker processes of `pellucid tune`, seen from their parent: started, listened to, told to go on, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from pellucid.cli.tune.messages import GO, Job, Message

_GRACE_S = 10.0
_LONGEST_LINE = 65_536
_LAST_WORDS_S = 2.0


@dataclass
class Worker:
    """A process and what is known of it.

    trial    the number of the trial it runs;  busy  whether it was told to go and has not ended the trial
    waiting  whether it waits for an order;  words  what it said before it ended, when something went wrong
    """

    index: int
    process: subprocess.Popen[bytes]
    readers: tuple[threading.Thread, ...] = ()
    trial: int | None = None
    busy: bool = False
    waiting: bool = False
    words: str = ""

    @property
    def how_it_ended(self) -> str:
        code = self.process.returncode
        if self.words:
            return self.words
        return f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"


@dataclass(frozen=True)
class Heard:
    """A message of a worker, or a line that the user's code has printed."""

    worker: Worker
    said: Message | str


class Crew:
    """Workers share nothing but the storage. Each has a session of its own, so that Ctrl-C reaches the parent only."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._heard: SimpleQueue[Heard] = SimpleQueue()
        self.workers: list[Worker] = []
        try:
            for index, job in enumerate(jobs):
                self.workers.append(self._started(index, job))
        except OSError:
            self.end(lambda: True)
            raise

    def _started(self, index: int, job: Job) -> Worker:
        process = subprocess.Popen(
            [sys.executable, "-m", "pellucid.cli.tune.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        worker = Worker(index, process)
        targets = (self._read_messages, self._read_output)
        worker.readers = tuple(threading.Thread(target=one, args=(worker,), daemon=True) for one in targets)
        for reader in worker.readers:
            reader.start()
        _write(worker, job.to_json())
        return worker

    def _read_messages(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            with suppress(ValueError, TypeError, KeyError):  # A process that dies may leave half a line.
                self._heard.put(Heard(worker, Message.from_json(line.decode())))

    def _read_output(self, worker: Worker) -> None:
        assert worker.process.stderr is not None
        while line := worker.process.stderr.readline(_LONGEST_LINE):
            # A progress bar writes over its own line: the last state is the one to keep.
            text = line.decode(errors="replace").rstrip("\r\n").rpartition("\r")[2]
            self._heard.put(Heard(worker, text))

    def hear(self, seconds: float) -> list[Heard]:
        """What was said since the last time, after waiting for something at most so long."""
        out: list[Heard] = []
        try:
            out.append(self._heard.get(timeout=seconds))
            while True:
                out.append(self._heard.get_nowait())
        except Empty:
            return out

    def order(self, worker: Worker) -> None:
        """Run one more trial."""
        worker.waiting, worker.busy = False, True
        _write(worker, GO)

    def take_lost(self) -> list[Worker]:
        """Workers that have ended without being told to; they are no longer of the crew."""
        lost = [worker for worker in self.workers if worker.process.poll() is not None]
        for worker in lost:
            _wait_for_last_words(worker)
            self.workers.remove(worker)
        return lost

    def dismiss(self) -> None:
        """End workers that wait; one that runs a trial ends after it."""
        for worker in self.workers:
            if worker.process.stdin is not None:
                with suppress(OSError):
                    worker.process.stdin.close()

    def end(self, hurry: Callable[[], bool]) -> list[Worker]:
        """End all workers, running trials included: politely at first, by force after a while or when in a hurry."""
        self.dismiss()
        for worker in self.workers:
            _signal(worker, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while any(worker.process.poll() is None for worker in self.workers):
            if time.monotonic() > deadline or hurry():
                for worker in self.workers:
                    _signal(worker, getattr(signal, "SIGKILL", signal.SIGTERM))
                break
            time.sleep(0.02)
        for worker in self.workers:
            worker.process.wait()
            _wait_for_last_words(worker)
        ended, self.workers = self.workers, []
        return ended

    def wait(self) -> None:
        """Let dismissed workers leave."""
        for worker in self.workers:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(_GRACE_S)
        self.end(lambda: True)


def _write(worker: Worker, text: str) -> None:
    assert worker.process.stdin is not None
    with suppress(OSError, ValueError):  # One that has died is found by `take_lost`.
        worker.process.stdin.write(f"{text}\n".encode())
        worker.process.stdin.flush()


def _signal(worker: Worker, number: int) -> None:
    """To the worker and to whatever the objective has started, as Ctrl-C in a terminal would."""
    if worker.process.poll() is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(worker.process.pid, number)
        else:
            worker.process.terminate()


def _wait_for_last_words(worker: Worker) -> None:
    """What the process said before it ended; one that it left behind may hold the line open for ever."""
    for reader in worker.readers:
        reader.join(_LAST_WORDS_S)
