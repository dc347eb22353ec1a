"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the target and then move; an existing file stays unchanged if writing fails.

    A symbolic link stays, and the file that it names is written. An existing file keeps its mode; the mode of a new one
    follows the umask. A device or a pipe is written to as it is.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        # Nobody else reads what replaces a private file, not even before it has that file's mode.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    except OSError as error:
        # The message names the path as the user wrote it, instead of the temporary file.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
