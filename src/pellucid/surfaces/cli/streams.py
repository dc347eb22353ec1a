"""Standard input, output and errors that are closed, or whose disk is full."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO, TypeVar

from pellucid.surfaces.cli.terminal import FAILED, say
from pellucid.words import PrintableError


class OutputLost(PrintableError):
    """Standard output cannot be written. The message says why."""


class _Output(io.TextIOWrapper):
    """Standard output. Its errors have a type of their own; a pipe whose reader has left is no error."""

    def write(self, text: str) -> int:
        with _lost():
            return super().write(text)

    def flush(self) -> None:
        with _lost():
            super().flush()


class _Errors(io.TextIOWrapper):
    """Standard error. A command goes on without it: what cannot be written is discarded."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


Stream = TypeVar("Stream", bound=io.TextIOWrapper)


@contextmanager
def _lost() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise OutputLost(error.strerror or str(error)) from None


def open_closed_streams() -> None:
    """Open what the caller has closed, and discard what is written there. Otherwise a storage would be opened with the
    number of standard errors, and get the messages of libraries."""
    for number in (0, 1, 2):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)  # Has the lowest number that is free: this one.
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False, encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False, encoding="utf-8")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@contextmanager
def told_if_lost() -> Iterator[None]:
    """End with a sentence if standard output cannot be written."""
    own = sys.stdout, sys.stderr  # Would close the buffers that they share with the new ones, if they were freed.
    sys.stdout, sys.stderr = _opened_as(_Output, own[0]), _opened_as(_Errors, own[1])
    try:
        yield
    except OutputLost as reason:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")  # What is left cannot be written either.
        say(f"Error: The answer cannot be written to standard output ({reason}); send it somewhere else.")
        sys.exit(FAILED)


def _opened_as(kind: type[Stream], stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):  # A test has put something else there.
        return stream
    return kind(
        stream.buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
