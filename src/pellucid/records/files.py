"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the target and then move; an existing file stays unchanged if writing fails."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.resolve().parent, prefix=f".{target.name}.")
    except OSError as error:
        # The message names the target instead of the temporary file.
        raise type(error)(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
