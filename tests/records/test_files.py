"""Files that are written: their modes, and the links that name them."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pellucid.records.files import write_atomically

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


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, b"new")
