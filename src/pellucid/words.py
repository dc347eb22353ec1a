"""The mouth: what makes a text harmless before it reaches a terminal, a log or a message.

Names of studies, parameters, choices, objectives and constraints are the user's, or those of whoever writes to the same
storage. A terminal obeys some characters instead of showing them: they move its cursor, clear it, fill its clipboard,
or turn the order of what follows.
"""

from __future__ import annotations

import re
from html import escape as escaped_markup
from traceback import format_exception

# The categories Cc, Cs, Zl and Zp of Unicode, the marks that change the direction of text, and invisible tags. All
# other letters are left as they are: text in any language, and emoji that are joined of several.
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    r"""The text on one line, with what would control a terminal as escapes like `\x1b`, `\n` and `\u202e`."""
    return _CONTROLS.sub(lambda control: ascii(control[0])[1:-1], text)


def escape(text: str, quote: bool = True) -> str:
    """HTML that shows a printable text as it is."""
    return escaped_markup(printable(text), quote)


def printable_lines(text: str) -> str:
    """A text of several lines, each of them printable."""
    return "\n".join(map(printable, text.split("\n")))


class PrintableError(Exception):
    """The base of our own errors: whatever is in the message, it can be printed as it is."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


def printable_error(error: BaseException) -> BaseException:
    """A copy of an error, and of those that led to it, for tracebacks: each message is printable."""
    return _copied(error, {})


def _copied(error: BaseException, copies: dict[int, BaseException]) -> BaseException:
    if id(error) not in copies:
        kind = type(type(error).__name__, (Exception,), {"__module__": type(error).__module__})
        copy = copies[id(error)] = kind(printable(str(error)))
        copy.__cause__ = None if error.__cause__ is None else _copied(error.__cause__, copies)
        copy.__context__ = None if error.__context__ is None else _copied(error.__context__, copies)
        copy.__suppress_context__ = error.__suppress_context__
        copy.__traceback__ = error.__traceback__
    return copies[id(error)]


def printable_traceback(error: BaseException) -> str:
    """The traceback of an error, in lines that are printable."""
    return printable_lines("".join(format_exception(printable_error(error))).rstrip("\n"))
