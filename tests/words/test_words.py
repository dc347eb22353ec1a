"""What is printable, and what becomes of the rest."""

from __future__ import annotations

import sys
import unicodedata
from copy import copy as copied
from traceback import format_exception

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.words import PrintableError, parts_of, printable, printable_error, printable_lines, printable_traceback

BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def controls(letter: str) -> bool:
    """By what Unicode says of it."""
    return (
        unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(letter) in BIDIRECTIONAL
        or unicodedata.name(letter, "") in ("LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK", "ARABIC LETTER MARK")
        or 0xE0000 <= ord(letter) <= 0xE007F
    )


def test_exactly_what_controls_a_terminal_is_escaped() -> None:
    for letter in map(chr, range(sys.maxunicode + 1)):
        if controls(letter):
            assert printable(letter) == repr(letter)[1:-1], hex(ord(letter))
        else:
            assert printable(letter) == letter, hex(ord(letter))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a\x1b]52;c;aGk=\x07\x1b[2J", r"a\x1b]52;c;aGk=\x07\x1b[2J"),
        ("lr\nError: all is lost", r"lr\nError: all is lost"),
        ("\x9b31m\r\x7f", r"\x9b31m\r\x7f"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("学習率 η 👩\u200d💻 a\u00a0b \\x1b <b> `lr`", "学習率 η 👩\u200d💻 a\u00a0b \\x1b <b> `lr`"),
    ],
)
def test_escapes_are_visible_and_other_letters_stay(text: str, escaped: str) -> None:
    assert printable(text) == escaped


@given(st.text(st.characters()))
def test_a_printable_text_stays_as_it_is(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert not any(map(controls, printable(text)))
    printable(text).encode("utf-8")


def test_a_text_of_lines_keeps_them() -> None:
    assert printable_lines("a\x1b\n\nb\r\nc") == "a\\x1b\n\nb\\r\nc"


def test_an_error_of_ours_has_a_printable_message() -> None:
    class Own(PrintableError, ValueError):
        pass

    error = Own("no `a\x1b[2J\n`")
    assert str(error) == r"no `a\x1b[2J\n`"
    assert str(copied(PrintableError("a\x07"))) == r"a\x07"
    assert str(PrintableError()) == ""
    with pytest.raises(ValueError, match="no `a"):
        raise error


def failed() -> ValueError:
    def fails() -> None:
        try:
            raise KeyError("first\n\x1b[2J")
        except KeyError as error:
            raise ValueError("second\nTraceback of nobody\u202e") from error

    try:
        fails()
    except ValueError as error:
        return error
    raise AssertionError


def test_a_traceback_has_every_message_on_one_line() -> None:
    lines = printable_traceback(failed()).split("\n")
    assert lines[0] == "Traceback (most recent call last):"
    assert r"KeyError: 'first\n\x1b[2J'" in lines
    assert lines[-1] == r"ValueError: second\nTraceback of nobody\u202e"
    assert sum("in fails" in line for line in lines) == 2
    assert "\n".join(lines).count("Traceback (most recent call last):") == 2


def test_a_harmless_traceback_is_that_of_python() -> None:
    def fails() -> None:
        try:
            np.linalg.inv(np.zeros((2, 2)))
        except np.linalg.LinAlgError:
            int("none")

    with pytest.raises(ValueError, match="invalid literal") as caught:
        fails()
    assert printable_traceback(caught.value) == "".join(format_exception(caught.value)).rstrip("\n")


def test_a_log_gets_a_copy_of_the_error() -> None:
    error = failed()
    copy = printable_error(error)
    assert str(copy) == r"second\nTraceback of nobody\u202e"
    assert str(copy.__cause__) == r"'first\n\x1b[2J'"
    assert str(error) == "second\nTraceback of nobody\u202e"


def test_a_traceback_of_errors_that_led_to_each_other_ends() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert printable_traceback(first).endswith("ValueError: first")


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("no names", [("no names", False)]),
        ("`lr` and `x`.", [("", False), ("lr", True), (" and ", False), ("x", True), (".", False)]),
        ("`a`b` is no name", [("`a`b` is no name", False)]),
        ("", [("", False)]),
    ],
)
def test_names_stand_between_backticks(sentence: str, parts: list[tuple[str, bool]]) -> None:
    assert parts_of(sentence) == parts
