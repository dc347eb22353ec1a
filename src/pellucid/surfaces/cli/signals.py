"""Ctrl-C and SIGTERM for commands that decide themselves where to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopSignals:
    """Counts Ctrl-C and SIGTERM, so that a loop stops at a point where nothing is half done."""

    def __init__(self) -> None:
        self.count = 0

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1

    @contextmanager
    def counting(self) -> Iterator[None]:
        handlers = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
