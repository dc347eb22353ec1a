"""Files that are written: their modes, and what stays if writing fails. `test_links.py` has links."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.threads.forks import child

from pellucid import files
from pellucid.files import write_atomically

MEMORY = Path("/dev/shm")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def other_file_system(tmp_path: Path) -> Iterator[Path]:
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("This machine has no second file system to write to.")
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664), (0o077, 0o600)])
def test_the_mode_of_a_new_file_follows_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "report.html", b"new")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "report.html") == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "report.html"
    file.write_bytes(b"old")
    file.chmod(mode)
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert mode_of(file) == mode


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_file_on_another_file_system_is_written(
    tmp_path: Path, other_file_system: Path, exists: bool
) -> None:
    link, file = tmp_path / "report.html", other_file_system / "other.html"
    link.symlink_to(file)
    if exists:
        file.write_bytes(b"old")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert [path.name for folder in (tmp_path, other_file_system) for path in folder.iterdir()] == [
        link.name,
        file.name,
    ]


def test_an_existing_file_keeps_its_group(tmp_path: Path) -> None:
    """As it would if it were overwritten: others of the group can still read it."""
    groups = {os.getegid() + 1, 54_321} if os.geteuid() == 0 else set(os.getgroups()) - {os.getegid()}
    if not groups:
        pytest.skip("This user is in one group only.")
    file = tmp_path / "report.html"
    file.write_bytes(b"old")
    os.chown(file, -1, min(groups))
    file.chmod(0o640)
    write_atomically(file, b"new")
    assert file.stat().st_gid == min(groups)
    assert mode_of(file) == 0o640


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 250 + ".html")
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"


def test_a_missing_folder_is_named_as_the_user_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as error:
        write_atomically("missing/report.html", b"new")
    assert error.value.filename == "missing/report.html"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"new")
    reader.join(timeout=30)
    assert read == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PATIENCE_S", 0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="it is a pipe that nobody has read for 0 seconds") as error:
        write_atomically(pipe, b"new")
    assert error.value.filename == str(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, b"new")


# ------------------------------------------------------------------------------------------------ failures


def failing(name: str, code: int, times: int) -> Callable[..., Any]:
    """A function of `os` that works so many times, then fails; before, it writes little at a time."""
    real, left = getattr(os, name), [times]

    def called(descriptor: int, *rest: Any) -> Any:
        if not left[0]:
            raise OSError(code, os.strerror(code))
        left[0] -= 1
        return real(descriptor, *(part[:3] for part in rest))

    return called


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize(("name", "times"), [("write", 0), ("write", 1), ("write", 2), ("fsync", 0)])
@pytest.mark.parametrize("old", [None, b"old"])
def test_on_a_full_disk_the_old_file_stays(
    old: bytes | None, name: str, times: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.html"
    if old is not None:
        file.write_bytes(old)
    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing(name, code, times))
        with pytest.raises(OSError) as error:
            write_atomically(file, b"new and long")
    assert (error.value.errno, error.value.filename) == (code, str(file))
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == ({} if old is None else {file.name: old})


def test_a_disk_that_takes_little_at_a_time_gets_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", failing("write", errno.ENOSPC, 10))
    write_atomically(tmp_path / "report.html", b"new and long")
    assert (tmp_path / "report.html").read_bytes() == b"new and long"


@pytest.mark.parametrize("limit", [0, 1000, 100_000])
def test_a_limit_on_the_size_of_files_leaves_the_old_one(limit: int, tmp_path: Path) -> None:
    """The system itself writes a part, and then refuses."""
    file = tmp_path / "report.html"
    file.write_bytes(b"old")

    def write() -> list[Any]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            write_atomically(file, b"x" * 100_001)
        except OSError as error:
            return [error.errno, error.filename]
        return []

    assert child(write) == [errno.EFBIG, str(file)]
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {file.name: b"old"}


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EBADF])
def test_a_disk_that_cannot_wait_is_no_error(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing("fsync", code, 0))
    write_atomically(tmp_path / "report.html", b"new")
    assert (tmp_path / "report.html").read_bytes() == b"new"


def test_a_folder_that_cannot_be_opened_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as any on Windows, and one that may be written to but not read."""
    real = os.open

    def opened(path: Any, flags: int, *rest: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", opened)
    write_atomically(tmp_path / "report.html", b"new")
    assert (tmp_path / "report.html").read_bytes() == b"new"
