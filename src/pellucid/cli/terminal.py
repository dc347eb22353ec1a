"""What all commands share: exit codes, messages on standard error, and sentences instead of tracebacks.

Exit codes: 0 done, 1 some trials or runs failed, 2 the request is wrong, 3 a package or a file is missing, 130 stopped
by Ctrl-C (finished work is kept).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from pellucid.cli.errors import Mistake, Unavailable

FAILED, WRONG, MISSING, STOPPED = 1, 2, 3, 130


def say(sentence: str) -> None:
    """Print a sentence on standard error."""
    typer.echo(sentence, err=True)


def shown(name: str) -> str:
    """A name from a user or a storage, without characters that could move the cursor of a terminal."""
    return name if name.isprintable() else repr(name)[1:-1]


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
            raise
        say(f"Error: {error.filename} cannot be used ({error.strerror}); choose another path.")
        raise typer.Exit(WRONG) from None
