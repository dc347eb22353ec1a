"""Text for people: numbers, names and sentences, and what makes a text harmless before it is shown.

Names of studies, parameters, choices, objectives and constraints are the user's, or those of whoever writes to the same
storage. A terminal obeys some characters instead of showing them: they move its cursor, clear it, fill its clipboard,
or turn the order of what follows. Every message, log record and line of a command passes `printable`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from html import escape as escaped_markup
from traceback import format_exception
from typing import Any, Literal

# The name of an objective that has none of its own, and of its unit.
OBJECTIVE = "objective"
# The categories Cc, Cs, Zl and Zp of Unicode, the marks that change the direction of text, and invisible tags. All
# other letters are left as they are: text in any language, and emoji that are joined of several.
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
# With more digits after the point than this, or for values this large, significant digits are shown instead.
_MOST_DECIMALS, _LARGE = 6, 1e6
# Significant digits that a number of double precision has.
_ALL_DIGITS = 15
# Chances below this are not told apart.
_SMALLEST_CHANCE = 1e-6
# Characters of an error's message that are shown: errors of NumPy can repeat whole arrays.
_LONGEST_CAUSE = 300
# How trials are chosen if an answer would take too long with all of them.
_SELECTED = "the best ones and an even selection."
_CHOSEN = "the newest, those near the best and some of every region."


# ---------------------------------------------------------------------- what is shown


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


def cause_of(error: Exception) -> str:
    """Type and message of an error on one line, without characters that could move the cursor of a terminal."""
    message = " ".join(str(error).split())
    short = message if len(message) <= _LONGEST_CAUSE else f"{message[:_LONGEST_CAUSE]} ..."
    text = f"{type(error).__name__}: {short}" if short else type(error).__name__
    return printable(text)


def printable_traceback(error: BaseException) -> str:
    """The traceback of an error, in lines that are printable."""
    return printable_lines("".join(format_exception(printable_error(error))).rstrip("\n"))


class Unanswered(PrintableError, ValueError):
    """Why there is no answer, in a sentence for the user. Errors about arguments are a ValueError of another type."""


class NoAnswer(Unanswered):
    """Why a question has no answer, and never will have: more trials do not change it."""


class NoAnswerYet(Unanswered):
    """Why a question has no answer yet: more trials may change it."""


class RecordError(PrintableError, ValueError):
    """A record that cannot exist: a field has the wrong form."""


class UnreadableRecordError(RecordError, NoAnswer):
    """A stored record that cannot be read: damaged, or written by a newer version."""


# ---------------------------------------------------------------------- numbers


def chance_text(chance: float) -> str:
    """ "31%", "0.04%"; never 0% or 100%, because a model is never sure."""
    if chance > 0.99:
        return "more than 99%"
    if chance < _SMALLEST_CHANCE:
        return f"less than {100 * _SMALLEST_CHANCE:.4f}%"
    return f"{chance:.0%}" if chance >= 0.095 else f"{100 * chance:.1g}%"


def by_text(tolerance: float) -> str:
    """ " by 0.3" """
    return f" by {tolerance:.4g}" if tolerance > 0.0 else ""


def number_text(value: float, form: str = ".4g") -> str:
    """A number in a format such as ".4g" or "+.2f". What rounds to zero has no minus: "-0.00" says nothing."""
    text = f"{value:{form}}"
    return f"{0.0:{form}}" if text == f"{-0.0:{form}}" else text


def decimals(value: float, error: float) -> int | None:
    """The digits after the point of a value that its error leaves meaningful; None if significant digits are better."""
    if not (math.isfinite(error) and error > 0.0) or abs(value) >= _LARGE:
        return None
    count = max(0, 1 - math.floor(math.log10(error)))
    return count if count <= _MOST_DECIMALS else None


def rounded(value: float, error: float) -> str:
    """A value to the digits that its error leaves meaningful."""
    count = decimals(value, error)
    return number_text(value, f".{significant(value, error, 6)}g" if count is None else f".{count}f")


def significant(value: float, error: float, fewest: int) -> int:
    """The significant digits of a value that its error leaves meaningful, at least `fewest` and at most all of them."""
    if value == 0.0 or not (math.isfinite(value) and math.isfinite(error) and error > 0.0):
        return fewest
    needed = math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2
    return min(max(needed, fewest), _ALL_DIGITS)


def percent(chance: float) -> str:
    """ "97%"; never 0% or 100%, because a model is never sure."""
    return "more than 99%" if chance > 0.99 else "less than 1%" if chance < 0.01 else f"{chance:.0%}"


def short_percent(chance: float) -> str:
    """The same for a table: ">99%", "<1%"."""
    return ">99%" if chance > 0.99 else "<1%" if chance < 0.01 else f"{chance:.0%}"


def within_error(value: float, half_width: float) -> str:
    """A value to the digits that its half-width leaves meaningful; to four of them if there is none."""
    if not (math.isfinite(half_width) and half_width > 0.0):
        return number_text(value)
    digits = decimals(value, half_width)
    return number_text(value, f".{significant(value, half_width, 4)}g" if digits is None else f".{digits}f")


def with_error(value: float, half_width: float) -> str:
    """A value with its half-width, both to the digits that the half-width leaves meaningful."""
    if not (math.isfinite(half_width) and half_width > 0.0):
        return number_text(value)
    digits = decimals(value, half_width)
    error = f"{half_width:.2g}" if digits is None else f"{half_width:.{digits}f}"
    return f"{within_error(value, half_width)} ± {error}"


def as_share(text: str) -> float | None:
    """0.02 for "2%"; None if the text is no share."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*%\s*", text)
    return float(match.group(1)) / 100.0 if match else None


def share_text(share: float) -> str:
    """ "1.2%", "34%", "250%" """
    return f"{100.0 * share:.2g}%" if share < 0.995 else f"{100.0 * share:.0f}%"


# ---------------------------------------------------------------------- names and values


def value_text(value: Any) -> str:
    """A number with four digits, a word unchanged. A word that looks like a number or a constant is quoted."""
    if isinstance(value, float):
        return number_text(value)
    return repr(value) if isinstance(value, str) and _looks_like_a_literal(value) else str(value)


def _looks_like_a_literal(text: str) -> bool:
    if text in ("None", "True", "False"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def called(objective: str) -> str:
    """An objective in a sentence: by its name, if it has one."""
    return "the objective" if objective == OBJECTIVE else objective


def prefix(objective: str) -> str:
    """What stands before a value: "accuracy "; nothing if the objective has no name."""
    return "" if objective == OBJECTIVE else f"{objective} "


def about(objective: str, sentence: str) -> str:
    """A sentence about an objective, with its name if it has one: "For accuracy, ..." """
    return sentence if objective == OBJECTIVE else f"For {objective}, {sentence[0].lower()}{sentence[1:]}"


def counted(count: int, noun: str) -> str:
    """ "1 trial", "2 trials" """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def spoken(names: Sequence[str]) -> str:
    """ "a, b and c" """
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def parts_of(sentence: str) -> list[tuple[str, bool]]:
    """The parts of a sentence, and which of them are `names`. None is if a name contains a backtick, or the end was
    cut."""
    pieces = sentence.split("`")
    if len(pieces) % 2 == 0:
        return [(sentence, False)]
    return [(piece, i % 2 == 1) for i, piece in enumerate(pieces)]


def unknown_parameter(name: object, known: Collection[str]) -> str:
    """The message for a parameter that a study does not have."""
    close = get_close_matches(str(name), known, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    return f"The study has no parameter `{name}`; it has {', '.join(f'`{other}`' for other in known)}.{hint}"


# ---------------------------------------------------------------------- notes


NoteKind = Literal[
    "selection",  # There are so many trials that the answer is computed from some of them.
    "omission",  # Trials that do not count, or things that are not shown.
    "sampling",  # How the trials were chosen: at random, or by an optimiser.
    "curves",  # Values that a model of learning curves predicted.
    "size",  # Few trials for so many parameters.
    "evidence",  # A value, a choice, a branch or a place about which the trials say little.
    "failures",  # Settings at which trials fail.
    "feasibility",  # Constraints.
    "scope",  # What the answer is about, and how it was worked out.
    "outcome",  # What became of a trial.
    "receipt",  # What the receipt of a trial says of it.
    "reason",  # What spoke for a proposal, or was no reason for it.
]


class Note(str):
    """A reason for doubt, or what else a reader should know of an answer: a sentence with its kind.

    Programs choose notes by their kind, never by their words.
    """

    kind: NoteKind

    def __new__(cls, text: str, kind: NoteKind) -> Note:
        note = super().__new__(cls, text)
        note.kind = kind
        return note

    def __getnewargs__(self) -> tuple[str, NoteKind]:  # type: ignore[override]
        """What copies and pickles are made of."""
        return str(self), self.kind


def kind_of(note: str) -> NoteKind | None:
    """The kind of a note; None if it is a text of another class, as in records that a user made."""
    return note.kind if isinstance(note, Note) else None


def selection_note(what: str, used: int, of: int) -> Note:
    """A note of an answer that is computed from some of the trials."""
    return Note(f"{what} uses {used} of {of} trials: {_SELECTED}", "selection")


def choice_note(used: int, of: int, model: str = "The model rests") -> list[str]:
    """A note of an answer whose model is conditioned on some of the trials; none if it is on all."""
    return [] if used == of else [Note(f"{model} on {used:,} of {of:,} trials: {_CHOSEN}", "selection")]


def outside_note(outside: int, of: int) -> Note:
    """A note of an answer that leaves out the trials outside the present ranges."""
    return Note(f"{outside} of {of} trials lie outside the present ranges and are left out.", "omission")
