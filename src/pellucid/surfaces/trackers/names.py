"""Names that a tracker accepts, as close as possible to those that the user gave.

MLflow is the stricter of the two: letters, digits, `_`, `-`, `.`, spaces and slashes, nothing that `..` or `//` would
make the same path as another name, and at most 250 characters. Its file store keeps each entry in a file of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TypeVar

Value = TypeVar("Value")
# Bytes of one name: the names of an objective and of a parameter must fit into 250 characters together.
_LONGEST = 100


def accepted(name: str) -> str:
    """The name itself if trackers accept it. Otherwise a similar one, with a digest that tells it from others."""
    parts = [re.sub(r"[^\w.\- ]", "_", part) for part in name.split("/")]
    path = "/".join("_" if part in ("", ".", "..") else part for part in parts)
    short = path.encode()[:_LONGEST].decode(errors="ignore")
    return name if short == name else f"{short}-{digest(name, length=8)}"


def distinct(entries: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """The entries by name. One with the name of an earlier entry, or of a folder of another, gets a digest."""
    pairs = list(entries)
    folders = {str(folder) for name, _ in pairs for folder in PurePosixPath(name).parents}
    named: dict[str, Value] = {}
    for name, value in pairs:
        while name in named or name in folders:
            name = f"{name}-{digest(name, length=8)}"
        named[name] = value
    return named


def writable(text: str) -> str:
    """The text without halves of surrogate pairs, which UTF-8 refuses."""
    return text.encode(errors="replace").decode()


def digest(text: str, *, length: int) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
