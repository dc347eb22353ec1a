"""Writing files so that there is always a whole one: for a reader, after an error, and after a power cut."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

# As many as Linux follows.
_MOST_LINKS = 40
# Characters of the target's name in that of the temporary file: the whole name may be as long as a name can be.
_LONGEST_BEGINNING = 40
# Seconds: how long to wait until somebody reads a pipe, and how often to look.
_PATIENCE_S, _TICK_S = 10, 0.02
# What `fsync` reports of a file or folder for which it does nothing.
_NOT_SYNCED = (errno.EACCES, errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the target, wait until the data are on the disk, and then move; an existing file stays unchanged if
    writing fails. Once this returns, the new file survives a power cut; until then there is the old one or the new one.

    A symbolic link stays, and the file that it names is written, unless somebody else put the link into a folder that
    others can write to. An existing file keeps its mode, and its group if it may; the mode of a new one follows the
    umask. A device or a pipe is written to as it is.
    """
    try:
        target, status = _followed(Path(path))
        if status is None or stat.S_ISREG(status.st_mode):
            _replace(target, status, data)
        else:
            _write_into(target, data)
    except OSError as error:
        if error.errno is None:
            raise
        # The message names the path as the user wrote it, instead of the temporary file.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, as far as they are missing, so that they survive a power cut."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        _sync_folder(each.parent)


def _followed(path: Path) -> tuple[Path, os.stat_result | None]:
    """The file that a path names, through links, and its status; None if it does not exist.

    The system itself follows the links in the folder's path.
    """
    for _ in range(_MOST_LINKS):
        try:
            status = os.lstat(path)
            if not stat.S_ISLNK(status.st_mode):
                return path, status
            _check_link(status, os.stat(path.parent))
            named = os.readlink(path)
            unchanged = _identity(os.lstat(path)) == _identity(status)
        except FileNotFoundError:
            os.stat(path.parent)  # Raises FileNotFoundError if even the folder does not exist.
            return path, None
        if unchanged:
            path = path.parent / named
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _check_link(link: os.stat_result, folder: os.stat_result) -> None:
    """Raises PermissionError if the link may be a trap. Linux has the same rule for folders like /tmp."""
    if not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or not hasattr(os, "geteuid"):
        return
    if link.st_uid not in (os.geteuid(), folder.st_uid):
        raise PermissionError(errno.EPERM, "it is a link that somebody else put into a folder that others can write to")


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Another one if the link was exchanged, and also if it was moved away and back."""
    return status.st_dev, status.st_ino, status.st_uid, status.st_ctime_ns


def _replace(target: Path, before: os.stat_result | None, data: bytes) -> None:
    temporary = target.with_name(f".{target.name[:_LONGEST_BEGINNING]}.{secrets.token_hex(8)}")
    # Nobody else reads what replaces a private file, not even before it has that file's mode. A link that somebody has
    # put here is not followed (O_EXCL).
    mode = 0o666 if before is None else 0o600
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        try:
            _write_all(descriptor, data)
            if before is not None:
                _keep_mode(descriptor, before)
            _sync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _write_into(target: Path, data: bytes) -> None:
    """Into a device or a pipe, but neither through a link nor over a file that has taken its place meanwhile."""
    descriptor = _opened(target, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NOCTTY", 0))
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _opened(target: Path, flags: int) -> int:
    """The descriptor of a device or a pipe. A pipe that nobody reads is waited for, but not for ever."""
    if not hasattr(os, "O_NONBLOCK"):
        return os.open(target, flags)
    end = time.monotonic() + _PATIENCE_S
    while (descriptor := _opened_if_read(target, flags | os.O_NONBLOCK)) is None:
        if time.monotonic() > end:
            raise OSError(errno.ENXIO, f"it is a pipe that nobody has read for {_PATIENCE_S} seconds")
        time.sleep(_TICK_S)
    os.set_blocking(descriptor, True)
    return descriptor


def _opened_if_read(target: Path, flags: int) -> int | None:
    """The descriptor; None if nobody reads the pipe."""
    try:
        return os.open(target, flags)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _keep_mode(descriptor: int, before: os.stat_result) -> None:
    if not hasattr(os, "fchmod"):  # Windows has no modes.
        return
    with suppress(OSError):
        os.fchown(descriptor, before.st_uid if os.geteuid() == 0 else -1, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk. Windows opens no folder, and some folders may not be read."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except PermissionError:
        return
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    """Wait until a file or folder is on the disk, where that is possible."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SYNCED:
            raise
