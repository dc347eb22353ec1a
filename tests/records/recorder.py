"""What a program does to the files of a folder, and what a disk may hold of it if the power is cut.

A disk may have any part of what was written to a file since its last `fsync`, or zeros of that length; and any part of
the names that were created, moved or removed in a folder since the last `fsync` of the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Operation:
    """`kind`: write, fsync (of a file), create, replace, unlink, or sync (of the folder). `file`: number of the file
    that is written; a name otherwise."""

    kind: str
    file: int = -1
    data: bytes = b""
    name: str = ""
    to: str = ""


@dataclass
class Recorder:
    """Records operations on the files of one folder, and lets them happen."""

    folder: Path
    operations: list[Operation] = field(default_factory=list)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        real = {name: getattr(os, name) for name in ("open", "write", "fsync", "close", "replace", "unlink")}
        files: dict[int, int] = {}  # Numbers of files by descriptor; -1 is the folder.
        counted = 0

        def opened(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            nonlocal counted
            descriptor: int = real["open"](path, flags, *rest, **options)
            if Path(os.path.abspath(path)) == self.folder:
                files[descriptor] = -1
            elif self._inside(path) and flags & (os.O_WRONLY | os.O_RDWR):
                assert flags & os.O_EXCL, "a file is overwritten in its place"
                files[descriptor] = counted
                self.operations.append(Operation("create", counted, name=Path(path).name))
                counted += 1
            return descriptor

        def write(descriptor: int, data: Any) -> int:
            written: int = real["write"](descriptor, data)
            if descriptor in files:
                self.operations.append(Operation("write", files[descriptor], bytes(data[:written])))
            return written

        def fsync(descriptor: int) -> None:
            real["fsync"](descriptor)
            if descriptor in files:
                number = files[descriptor]
                self.operations.append(Operation("sync") if number < 0 else Operation("fsync", number))

        def close(descriptor: int) -> None:
            real["close"](descriptor)
            files.pop(descriptor, None)

        def replace(source: Any, target: Any, **options: Any) -> None:
            real["replace"](source, target, **options)
            if self._inside(source):
                self.operations.append(Operation("replace", name=Path(source).name, to=Path(target).name))

        def unlink(path: Any, **options: Any) -> None:
            real["unlink"](path, **options)
            if self._inside(path):
                self.operations.append(Operation("unlink", name=Path(path).name))

        for name, function in {
            "open": opened, "write": write, "fsync": fsync, "close": close, "replace": replace, "unlink": unlink,
        }.items():  # fmt: skip
            patch.setattr(os, name, function)

    def _inside(self, path: Any) -> bool:
        return isinstance(path, (str, os.PathLike)) and Path(os.path.abspath(path)).parent == self.folder


def after_power_cut(operations: list[Operation], name: str, old: bytes | None) -> Iterator[bytes | None]:
    """Every content that a file may have if the power is cut after these operations; None: it does not exist."""
    written: dict[int, bytes] = {}
    safe: dict[int, bytes] = {}
    names: dict[str, int | None] = {}  # That the disk has for sure; files that were there before have the number None.
    if old is not None:
        names[name] = None
    pending: list[Operation] = []
    for operation in operations:
        if operation.kind == "write":
            written[operation.file] = written.get(operation.file, b"") + operation.data
        elif operation.kind == "fsync":
            safe[operation.file] = written.get(operation.file, b"")
        elif operation.kind == "sync":
            names, pending = _moved(names, pending), []
        else:
            pending.append(operation)
    for chosen in product((False, True), repeat=len(pending)):
        on_disk = _moved(names, [operation for operation, done in zip(pending, chosen, strict=True) if done])
        if name not in on_disk:
            yield None
            continue
        number = on_disk[name]
        if number is None:
            yield old
            continue
        certain, hoped = safe.get(number, b""), written.get(number, b"")
        rest = hoped[len(certain) :]
        for part in (b"", rest[: len(rest) // 2], b"\0" * len(rest), rest):
            yield certain + part


def _moved(names: dict[str, int | None], operations: list[Operation]) -> dict[str, int | None]:
    names = dict(names)
    for operation in operations:
        if operation.kind == "create":
            names[operation.name] = operation.file
        elif operation.name in names:
            number = names.pop(operation.name)
            if operation.kind == "replace":
                names[operation.to] = number
    return names
