"""Copies of this process that may be killed, hang or fill the memory without harm.

A child has everything imported already, so that it starts in milliseconds. It sends lines of JSON: what it says on the
way, and what it returns. It leaves without any cleaning up, as a killed process does.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pellucid_lab.faults.base import PATIENCE_S, Tally

Say = Callable[[Any], None]
_DIE_WITH_PARENT = 1
_KILOBYTES_OF_MAXRSS = 1 if sys.platform != "darwin" else 1 / 1024


@dataclass(frozen=True)
class Ended:
    """How a child ended. `error`: the exception that ended it, or the signal; `hung`: it said nothing for too long."""

    value: Any
    error: str
    hung: bool
    peak_mb: float

    @property
    def fine(self) -> bool:
        return not self.error and not self.hung


class Child:
    """A process that calls a function with `say`, which sends a message to this one."""

    def __init__(self, function: Callable[[Say], Any]) -> None:
        read, write = os.pipe()
        with warnings.catch_warnings():
            # Newer Pythons warn if there is another thread, such as that of pytest-xdist: it holds no lock of ours.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os.close(read)
            _serve(function, write)
        os.close(write)
        self.pid = pid
        self.said: list[Any] = []
        self._pipe = read
        self._rest = b""
        self._value: Any = None
        self._error = ""
        self._finished = self._reaped = False
        self._heard = time.monotonic()

    def listen(self, seconds: float) -> bool:
        """Take in what the child sends within this time; returns False once it has ended."""
        deadline = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self._pipe], [], [], max(deadline - time.monotonic(), 0.0))
            if not ready:
                return True
            data = os.read(self._pipe, 65536)
            if not data:
                return False
            self._heard = time.monotonic()
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if "said" in message:
            self.said.append(message["said"])
        else:
            self._finished = True
            self._value, self._error = message["value"], message["error"]

    def says(self, more: int, patience: float) -> bool:
        """Wait until the child has said something so many more times; False if it ends before, or says nothing for
        longer than `patience` seconds."""
        enough = len(self.said) + more
        while len(self.said) < enough and time.monotonic() - self._heard <= patience:
            if not self.listen(0.05):
                return False
        return len(self.said) >= enough

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        """A child that nobody has waited for is ended, so that it does not work on for ever."""
        if not self._reaped:
            self.kill()
            self.ended()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def ended(self, patience: float = PATIENCE_S) -> Ended:
        """Wait for the end. A child that says nothing for longer than `patience` seconds hangs, and is killed."""
        hung = False
        while self.listen(0.2):
            if time.monotonic() - self._heard > patience and not hung:
                hung = True
                self.kill()
        os.close(self._pipe)
        _, status, usage = os.wait4(self.pid, 0)
        self._reaped = True
        error = self._error
        if not self._finished and os.WIFSIGNALED(status):
            error = f"killed by signal {os.WTERMSIG(status)}"
        return Ended(self._value, error, hung, usage.ru_maxrss * _KILOBYTES_OF_MAXRSS / 1024)


def _serve(function: Callable[[Say], Any], write: int) -> None:
    """What the copied process does: it never returns."""
    try:
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with suppress(AttributeError):  # Of Linux: a child ends with its parent.
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)

        def send(message: dict[str, Any]) -> None:
            data = (json.dumps(message) + "\n").encode()
            while data:
                data = data[os.write(write, data) :]

        try:
            send({"value": function(lambda said: send({"said": said})), "error": ""})
        except BaseException as error:  # Whatever it is, the parent is to know it.
            send({"value": None, "error": f"{type(error).__name__}: {str(error)[:500]}"})
    finally:
        os.kill(os.getpid(), signal.SIGKILL)  # Nothing of the process that it is a copy of may be cleaned up twice.


def attempted(tally: Tally, function: Callable[[Say], Any], patience: float = PATIENCE_S) -> Ended:
    """Run a function in a child to its end; count a hang, an error as a crash, and the memory."""
    ended = Child(function).ended(patience)
    tally.peak_mb = max(tally.peak_mb, ended.peak_mb)
    if ended.hung:
        tally.hangs += 1
        tally.note(f"hangs: nothing heard for {patience:g} s")
    elif ended.error:
        tally.crashes += 1
        tally.note(ended.error)
    return ended
