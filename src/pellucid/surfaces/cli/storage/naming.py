"""Which storage a command works on: the one of ``--storage``, of ``--storage-file``, or of an environment variable."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.redaction import redacted, secrets_in, visible
from pellucid.surfaces.cli.storage.places import Place, place_of
from pellucid.surfaces.cli.terminal import say
from pellucid.words import printable

DEFAULT_STORAGE = "sqlite:///pellucid.db"
VARIABLE = "PELLUCID_STORAGE"
# Bytes of a file with an address that are read; addresses are far shorter.
_LONGEST = 10_000
_RULE = "--storage-file takes a text file whose only line names a storage as --storage does"


def named_place(storage: str | None, file: Path | None, *, quiet: bool = False) -> Place:
    """The place that the user has named. An option wins over the variable, and the address over the file that holds it.
    An empty variable counts as none."""
    if storage is not None:
        return place_of(storage)
    if file is not None:
        return _place_from(_address_in(file, quiet), "the file of --storage-file")
    if address := os.environ.get(VARIABLE):
        return _place_from(address, f"the variable {VARIABLE}")
    return place_of(DEFAULT_STORAGE)


def _place_from(address: str, source: str) -> Place:
    try:
        return replace(place_of(address), source=source)
    except Mistake as error:
        raise Mistake(f"{error} It is from {source}.") from None


def _address_in(file: Path, quiet: bool) -> str:
    """The address that a file holds. Its text is in no message: it may be another file, with other secrets."""
    name = printable(redacted(visible(str(file))))
    try:
        # Opening a pipe would wait for its writer.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise Mistake(f"{_RULE}; `{name}` cannot be read ({error.strerror}).") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "no ordinary file"
            raise Mistake(f"{_RULE}; `{name}` is {kind}.")
        content = os.read(descriptor, _LONGEST + 1)
    finally:
        os.close(descriptor)
    try:
        lines = [line.strip() for line in content.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise Mistake(f"{_RULE}; `{name}` has a byte that is not UTF-8.") from None
    if len(content) > _LONGEST or len(lines) != 1:
        held = "too long" if len(content) > _LONGEST else f"{len(lines)} lines long" if lines else "empty"
        raise Mistake(f"{_RULE}; `{name}` is {held}.")
    if mode & stat.S_IROTH and secrets_in(lines[0]) and not quiet:
        say(f"Everybody on this machine can read the password in `{name}`: run `chmod go-r {name}`.")
    return lines[0]
