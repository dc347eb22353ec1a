"""What all commands share: exit codes, messages on standard error, errors as one sentence, tables and JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from pellucid.answers.base import TextTable
from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.redaction import redacted
from pellucid.words import printable

DONE, FAILED, WRONG, MISSING, BROKEN, STOPPED = 0, 1, 2, 3, 4, 130
# What each code means, in the words of `pellucid --help` and docs/exit-codes.md.
EXIT_CODES = {
    DONE: "done",
    FAILED: "the run, its report or its trials failed",
    WRONG: "the request is wrong: a sentence says what to change",
    MISSING: "a package or a data file is missing: a sentence says where to get it",
    BROKEN: "an answer of `explain` failed; the others are printed",
    STOPPED: "stopped by Ctrl-C: what was finished is kept",
}
# Width of a table that is written to a file or a pipe, which have no edge to fold lines at: wide enough for a row with
# a dozen numbers.
_FILE_WIDTH = 200


def say(*lines: str) -> None:
    """Print on standard error: no line has the secrets of a storage, or characters that control a terminal."""
    for line in lines:
        typer.echo(printable(redacted(line)), err=True)


def print_lines(*lines: str) -> None:
    """Print on standard output, without characters that control a terminal."""
    for line in lines:
        typer.echo(printable(line))


def print_json(value: Any) -> None:
    """Print data on standard output. A reader of JSON gets every name back as it is."""
    typer.echo(json_text(value))


@contextmanager
def sentences() -> Iterator[None]:
    """Turn errors that the user can fix into one sentence and an exit code."""
    try:
        yield
    except Mistake as error:
        say(f"Error: {error}")
        raise typer.Exit(WRONG) from None
    except Unavailable as reason:
        say(str(reason))
        raise typer.Exit(MISSING) from None
    except OSError as error:
        if error.filename is None:
            if not _folder_is_gone():
                raise
            say(
                "Error: A command works in a folder that exists, but the one that it was started in was deleted: "
                "change to another with `cd`."
            )
            raise typer.Exit(WRONG) from None
        say(f"Error: {error.filename} cannot be used ({error.strerror}); choose another path.")
        raise typer.Exit(WRONG) from None


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def json_text(value: Any) -> str:
    """Plain data and NumPy's numbers as JSON that every reader accepts: NaN and infinities become null. It is ASCII
    without characters that control a terminal."""
    import json

    from pellucid.answers.finding import plain

    return json.dumps(plain(value), allow_nan=False).replace("\x7f", r"\u007f")


def print_table(table: TextTable) -> None:
    """Print a table on standard output."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    printed = Table(box=SIMPLE)
    for i, name in enumerate(table.columns):
        printed.add_column(Text(printable(name)), justify="left" if i == 0 else "right")
    for row in table.rows:
        printed.add_row(*(Text(printable(cell)) for cell in row))
    console.print(printed)
