"""Listens to all that pellucid says while hostile names are about: which places said something, and what."""

from __future__ import annotations

import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest
import rich.console
import typer
from tests.words.places import Place

import pellucid
from pellucid import words

Value = TypeVar("Value")
SOURCES = Path(pellucid.__file__).parent
# Callers of `printable` that are looked at: the place is a few functions above, or in the one that calls it.
_DEPTH = 14
FORGED = "FORGED"
_CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def name(role: str) -> str:
    """A name that asks a terminal for everything: to fill the clipboard, to clear itself, to ring, to turn the order of
    letters, to begin a line of its own; and a page, Markdown and a shell for the rest."""
    return (
        f"{role}\x1b]52;c;aGk=\x07\x1b[2J\r\x9b31m\u202eb\u2066\u200e\x7f\U000e0041<script>x</script>`|$(id)\n"
        f"{FORGED}: {role}"
    )


def _short(file: str) -> str:
    return file.removeprefix("src/pellucid/")


class Recorder:
    """lines    of the sources, by file, that have said something
    faults   what was said and should not have been
    heard    how many texts were looked at
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        self._at = {(_short(place.file), line) for place in places for line in range(place.line, place.end + 1)}
        self.lines: set[tuple[str, int]] = set()
        self.faults: list[str] = []
        self.heard = 0
        self.known = 0  # Texts with the name of something.

    def hear(self, text: object, source: str) -> None:
        """A text that reaches a terminal, a log, a page or a program."""
        said = str(text)
        self.heard += 1
        self.known += "aGk=" in said
        found = _CONTROLS.search(said)
        if found or any(line.startswith(FORGED) for line in said.split("\n")):
            self.faults.append(f"{source}: {said[:300]!r}")

    def hear_data(self, value: Any, source: str) -> None:
        """Every text in plain data that is shown."""
        if isinstance(value, str):
            self.hear(value, source)
        elif isinstance(value, dict):
            for key, entry in value.items():
                self.hear(key, source)
                self.hear_data(entry, source)
        elif isinstance(value, list | tuple):
            for entry in value:
                self.hear_data(entry, source)

    def attempt(self, call: Callable[[], Value]) -> Value | None:
        """What it returns; None if it raises, after a look at the error."""
        try:
            return call()
        except (Exception, SystemExit) as error:
            self.caught(error)
            return None

    def caught(self, error: BaseException) -> None:
        seen: list[BaseException] = []
        left: list[BaseException | None] = [error]
        while left:
            each = left.pop()
            if each is None or each in seen:
                continue
            seen.append(each)
            left += [each.__cause__, each.__context__]
            place, frame = None, each.__traceback__
            while frame is not None:
                place = self._note(frame.tb_frame.f_code.co_filename, frame.tb_lineno)
                frame = frame.tb_next
            if place in self._at:  # Other libraries, and Python, have errors of their own.
                self.hear(each, f"{type(each).__name__}")

    def _note(self, file: str, line: int) -> tuple[str, int] | None:
        if not file.startswith(str(SOURCES)):
            return None
        self.lines.add((file[len(str(SOURCES)) + 1 :], line))
        return file[len(str(SOURCES)) + 1 :], line

    def _note_callers(self, frame: FrameType | None) -> None:
        for _ in range(_DEPTH):
            if frame is None:
                return
            self._note(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back

    @property
    def missed(self) -> list[Place]:
        """The places that nothing has reached."""
        return [
            place
            for place in self.places
            if not any((_short(place.file), line) in self.lines for line in range(place.line, place.end + 1))
        ]

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Also to what passes `printable`, to logs, to warnings and to tables."""
        recorder = self

        class Mouth:
            def sub(self, replace: Any, text: str) -> str:
                recorder._note_callers(sys._getframe(1))
                return pattern.sub(replace, text)

        class Log(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                recorder._note(record.pathname, record.lineno)
                recorder.hear(record.getMessage(), f"log of {record.name}")
                if record.exc_info:
                    recorder.hear(logging.Formatter().formatException(record.exc_info), f"log of {record.name}")

        def told(function: Callable[..., Any]) -> Callable[..., Any]:
            def tell(*arguments: Any, **named: Any) -> Any:
                recorder._note_callers(sys._getframe(1))
                return function(*arguments, **named)

            return tell

        pattern, handler, logger = words._CONTROLS, Log(), logging.getLogger("pellucid")
        level = logger.level
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            patch.setattr(words, "_CONTROLS", Mouth())
            patch.setattr(typer, "echo", told(typer.echo))
            patch.setattr(rich.console.Console, "print", told(rich.console.Console.print))
            logger.addHandler(handler)
            logger.setLevel(logging.DEBUG)
            try:
                yield
            finally:
                logger.removeHandler(handler)
                logger.setLevel(level)
        for warning in warned:
            if warning.filename.startswith(str(SOURCES)):
                self.hear(warning.message, "warning")
