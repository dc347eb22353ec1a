"""Errors that a command reports as one sentence, without a traceback."""

from __future__ import annotations

from pellucid.words import PrintableError


class Mistake(PrintableError):
    """Something the user can fix. The message states the rule, what was received, and what to do."""


class Unavailable(PrintableError):
    """A package or a data file is missing. The message says where to get it."""
