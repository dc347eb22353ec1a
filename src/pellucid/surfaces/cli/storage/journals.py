"""The lock of a journal file, for writers that may die or run out of space at any moment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from optuna.storages.journal import JournalFileSymlinkLock

# Seconds without a new entry after which a lock is taken from a process that was killed while it held it. Shorter would
# take it from a live one whose shared disk is slow; Optuna's 30 make everybody else wait for longer than they need to.
_GRACE_S = 20
# Bytes that are read at a time, from the end.
_BLOCK = 65_536


class RepairingLock(JournalFileSymlinkLock):
    """Optuna's lock of a journal. Whoever gets it first removes half a line from the end of the file, which a write on
    a full disk leaves: the next entry would continue that line, and nobody could read the journal any more."""

    def __init__(self, path: str) -> None:
        super().__init__(path, grace_period=_GRACE_S)
        self._journal = Path(path)

    def acquire(self) -> bool:
        acquired = super().acquire()
        try:
            remove_half_line(self._journal)
        except BaseException:
            self.release()
            raise
        return acquired


def remove_half_line(file: Path) -> None:
    """Cut a file after its last line break, unless it ends with one. Nobody else may write meanwhile."""
    with file.open("rb+") as stream:
        end = stream.seek(0, os.SEEK_END)
        complete = _end_of_last_line(stream, end)
        # Whoever thought that the lock was theirs may have written after all.
        if complete < end == stream.seek(0, os.SEEK_END):
            stream.truncate(complete)
            os.fsync(stream.fileno())


def _end_of_last_line(stream: BinaryIO, end: int) -> int:
    """The position after the last line break before `end`. Usually that is the last byte."""
    block, complete = 1, end
    while complete > 0:
        start = max(complete - block, 0)
        stream.seek(start)
        last = stream.read(complete - start).rfind(b"\n")
        if last >= 0:
            return start + last + 1
        block, complete = _BLOCK, start
    return 0
