"""Links in the place of a file: yours are followed, those that somebody else puts there are not."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.threads.forks import in_a_thread

from pellucid import files
from pellucid.files import write_atomically

if not hasattr(os, "geteuid"):
    pytest.skip("Windows has no owners of this kind.", allow_module_level=True)

SOMEBODY = 54_321


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A private file that nobody wants to be written."""
    (tmp_path / "private").mkdir()
    file = tmp_path / "private" / "victim"
    file.write_bytes(b"victim")
    file.chmod(0o600)
    return file


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that everybody can write to."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def untouched(victim: Path) -> bool:
    return victim.read_bytes() == b"victim" and stat.S_IMODE(victim.stat().st_mode) == 0o600


def given_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a link somebody else's, or, where only root can, make believe that it is."""
    if os.geteuid() == 0:
        os.lchown(path, SOMEBODY, SOMEBODY)
        return
    lstat = os.lstat

    def as_somebody(other: Any) -> os.stat_result:
        status = lstat(other)
        if not stat.S_ISLNK(status.st_mode):
            return status
        return os.stat_result((*status[:4], SOMEBODY, *status[5:]))

    monkeypatch.setattr(os, "lstat", as_somebody)


# ------------------------------------------------------------------------------------- in the target's place


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o770])
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_of_somebody_else_in_a_shared_folder_is_not_followed(
    mode: int, exists: bool, shared: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.chmod(mode)
    link, named = shared / "report.html", victim if exists else victim.with_name("new")
    link.symlink_to(named)
    given_away(link, monkeypatch)
    with pytest.raises(PermissionError, match="somebody else put into a folder that others can write to") as error:
        write_atomically(link, b"new")
    assert error.value.filename == str(link)
    assert untouched(victim)
    assert link.is_symlink()
    assert [each.name for each in shared.iterdir()] == [link.name]
    assert [each.name for each in victim.parent.iterdir()] == [victim.name]


def test_a_link_of_somebody_else_in_a_folder_of_their_own_is_followed(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder where others cannot write, whoever made the link might have changed the file itself."""
    link = tmp_path / "report.html"
    link.symlink_to(victim)
    given_away(link, monkeypatch)
    write_atomically(link, b"new")
    assert victim.read_bytes() == b"new"
    assert link.is_symlink()


def test_your_own_links_are_followed_one_after_the_other_in_a_shared_folder_too(shared: Path, victim: Path) -> None:
    (shared / "report.html").symlink_to("second.html")
    (shared / "second.html").symlink_to(victim)
    write_atomically(shared / "report.html", b"new")
    assert victim.read_bytes() == b"new"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
    assert sorted(each.name for each in shared.iterdir()) == ["report.html", "second.html"]


def test_a_link_of_the_owner_of_the_folder_is_followed(
    shared: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = shared / "report.html"
    link.symlink_to(victim)
    if os.geteuid() == 0:
        os.lchown(link, SOMEBODY, SOMEBODY)
        os.chown(shared, SOMEBODY, SOMEBODY)
    else:  # Both are this user's, who is to be another.
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    write_atomically(link, b"new")
    assert victim.read_bytes() == b"new"


def test_links_in_a_circle_are_one_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as error:
        write_atomically(tmp_path / "a", b"new")
    assert error.value.filename == str(tmp_path / "a")


# ------------------------------------------------------------------------------------------------- meanwhile


def before(name: str, action: Callable[[], None], patch: pytest.MonkeyPatch, when: Callable[..., bool]) -> None:
    """Do something once, just before a function of `os` is called with such arguments."""
    real, pending = getattr(os, name), [action]

    def called(*arguments: Any, **options: Any) -> Any:
        if pending and when(*arguments):
            pending.pop()()
        return real(*arguments, **options)

    patch.setattr(os, name, called)


def test_a_link_at_the_name_of_the_temporary_file_is_not_followed(
    shared: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, guessed = shared / "report.html", shared / ".report.html.0123456789abcdef"
    target.write_bytes(b"old")
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "0123456789abcdef")
    guessed.symlink_to(victim)
    with pytest.raises(FileExistsError) as error:
        write_atomically(target, b"new")
    assert error.value.filename == str(target)
    assert untouched(victim)
    assert target.read_bytes() == b"old"


def test_a_link_that_takes_the_place_of_the_temporary_file_gives_no_other_file_a_mode(
    shared: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = shared / "report.html"
    target.write_bytes(b"old")
    target.chmod(0o666)
    real = os.open

    def opened(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        descriptor = real(path, flags, *rest, **options)
        if flags & os.O_EXCL:
            os.unlink(path)
            os.symlink(victim, path)
        return descriptor

    monkeypatch.setattr(os, "open", opened)
    write_atomically(target, b"new")
    assert untouched(victim)


def test_a_link_that_takes_the_place_of_the_target_is_replaced(
    shared: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = shared / "report.html"
    target.write_bytes(b"old")

    def exchange() -> None:
        target.unlink()
        target.symlink_to(victim)

    before("replace", exchange, monkeypatch, lambda *_: True)
    write_atomically(target, b"new")
    assert untouched(victim)
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_link_that_is_exchanged_while_it_is_read_is_not_followed(
    shared: Path, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Yours is checked, and then it is another one: it is checked again."""
    link, mine = shared / "report.html", tmp_path / "mine.html"
    link.symlink_to(mine)

    def exchange() -> None:
        link.unlink()
        link.symlink_to(victim)
        given_away(link, monkeypatch)

    before("readlink", exchange, monkeypatch, lambda path, *_: path == link)
    with pytest.raises(PermissionError, match="somebody else"):
        write_atomically(link, b"new")
    assert untouched(victim)
    assert not mine.exists()


@pytest.mark.parametrize("instead", ["link", "file"])
def test_a_pipe_that_is_exchanged_is_not_written_to(
    instead: str, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def exchange() -> None:
        pipe.unlink()
        pipe.symlink_to(victim) if instead == "link" else pipe.hardlink_to(victim)

    before("open", exchange, monkeypatch, lambda path, *_: path == pipe)
    with pytest.raises(OSError) as error:
        write_atomically(pipe, b"new")
    assert error.value.filename == str(pipe)
    assert untouched(victim)


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root can make links of somebody else.")
def test_nothing_else_is_written_while_somebody_exchanges_links(shared: Path, victim: Path) -> None:
    target, prepared = shared / "report.html", shared / "prepared"
    ended, n_links = threading.Event(), 0

    def exchange() -> None:
        nonlocal n_links
        while not ended.is_set():
            prepared.symlink_to(victim)
            os.lchown(prepared, SOMEBODY, SOMEBODY)
            os.replace(prepared, target)
            n_links += 1
            time.sleep(0)
            target.unlink()

    def written() -> bool:
        try:
            write_atomically(target, b"new")
        except PermissionError:
            return False
        return True

    with in_a_thread(exchange):
        n_written = 0
        for _ in range(500):
            n_written += written()
            time.sleep(0.0002)
        ended.set()
    print(f"{n_links} links; {n_written} of 500 files written, the others refused")
    assert untouched(victim)
    assert 0 < n_written < 500
