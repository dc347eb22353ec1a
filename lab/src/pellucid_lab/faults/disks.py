"""Full disks: a worker writes until there is no space, reports and models are saved there too, then space is freed.

The disk is a small file system in memory that only the child sees (a mount namespace). Where the machine does not allow
one, a limit on the size of files takes its place.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pellucid_lab.faults.base import FaultTask, Tally
from pellucid_lab.faults.children import Child, Say, attempted
from pellucid_lab.faults.examples import model_data
from pellucid_lab.faults.homes import empty_folder
from pellucid_lab.faults.studies import (
    Snapshot,
    begun,
    compared,
    count_unusable,
    opened,
    work,
)

_MEGABYTES = 24
# The most that is left free, in bytes: a trial needs a few thousand.
_MOST_FREE = 48_000
# Of Linux: unshare and mount.
_NEW_NAMESPACE, _NEW_USER, _PRIVATE, _RECURSIVE = 0x20000, 0x10000000, 1 << 18, 1 << 14
_BIND, _REMOUNT, _READ_ONLY = 1 << 12, 1 << 5, 1
# What a worker may raise if the storage refuses to write.
REFUSALS = ("StorageInternalError", "OperationalError", "InternalError", "OSError", "PendingRollbackError")


@dataclass(frozen=True)
class Disk:
    """`fill` leaves about so many bytes; `free` gives all space back; `means` says how."""

    means: str
    fill: Callable[[int], None]
    free: Callable[[], None]


def small_disk(folder: Path) -> Disk:
    """Make a folder a small disk that only this process and its children see."""
    try:
        _mount(folder)
    except OSError:
        return _limited(folder)
    filler = folder / "filler"

    def fill(free: int) -> None:
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 65536)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            file.truncate(max(file.tell() - free, 0))

    return Disk("a file system of 24 MB", fill, lambda: filler.unlink(missing_ok=True))


def _mount(folder: Path) -> None:
    libc = own_mounts()
    _called(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={_MEGABYTES}m".encode()))


def make_read_only(folder: Path) -> None:
    """Make a folder a file system that nobody can write to, for this process and its children only."""
    libc = own_mounts()
    name = os.fsencode(folder)
    _called(libc.mount(name, name, None, _BIND, None))
    _called(libc.mount(None, name, None, _BIND | _REMOUNT | _READ_ONLY, None))


def own_mounts() -> ctypes.CDLL:
    """Let this process mount what no other process sees. Raises OSError if the machine does not allow it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare"):
        raise OSError(errno.ENOSYS, "mount namespaces are of Linux")
    user, group = os.geteuid(), os.getegid()
    _called(libc.unshare(_NEW_NAMESPACE if user == 0 else _NEW_NAMESPACE | _NEW_USER))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _called(libc.mount(b"none", b"/", None, _PRIVATE | _RECURSIVE, None))
    return libc


def _called(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _limited(folder: Path) -> Disk:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(free: int) -> None:
        largest = max((file.stat().st_size for file in folder.iterdir() if file.suffix in (".db", ".log")), default=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + free, hard))

    return Disk("a limit on the size of files", fill, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard)))


def run_disks(task: FaultTask) -> Tally:
    """`size` disks that become full, one after the other, for one study."""
    tally = Tally()
    model = model_data() if find_spec("torch") is not None else b"not a model"
    with empty_folder() as folder:
        ended = attempted(tally, lambda say: _session(task, folder, model, say))
        if ended.value is None:
            tally.unusable += 1
        else:
            tally.add(ended.value)
    return tally


def _session(task: FaultTask, folder: Path, model: bytes, say: Say) -> dict[str, Any]:
    tally, sizes = Tally(), random.Random(f"{task.case} {task.chunk}")
    disk = small_disk(folder)
    address = f"sqlite:///{folder}/study.db" if task.case == "sqlite" else f"{folder}/study.log"
    begun(tally, address, 6)
    attempted(tally, lambda say: _write_both(address, folder, model))
    say("begun")
    pages = {name: (folder / name).read_bytes() for name in ("report.html", "model")}
    told: dict[int, tuple[float, ...]] = {}
    before: Snapshot = {}
    for _ in range(task.size):
        disk.fill(sizes.randrange(_MOST_FREE))
        tally.tried += 1
        _write_until_full(tally, address, told)
        say("worker")
        _count_broken_files(tally, address, folder, model, pages)
        say("files")
        disk.free()
        before = compared(tally, address, told, before)
        say("snapshot")
    tally.count("trials told", len(told))
    tally.count(f"disks: {disk.means}", task.size)
    count_unusable(tally, address, folder)
    return asdict(tally)


def _write_until_full(tally: Tally, address: str, told: dict[int, tuple[float, ...]]) -> None:
    worker = Child(lambda say: work(address, 40, say))
    ended = worker.ended()
    told.update({number: tuple(values) for number, values in worker.said})
    tally.hangs += ended.hung
    tally.peak_mb = max(tally.peak_mb, ended.peak_mb)
    if not ended.error:
        tally.count("workers that were not stopped by the disk")
    elif ended.error.partition(":")[0] in REFUSALS or ended.error.startswith("Mistake"):
        tally.count("workers that were stopped by the disk")
    elif not ended.hung:
        tally.crashes += 1
        tally.note(f"a worker on a full disk: {ended.error}")


def _write_both(address: str, folder: Path, model: bytes) -> None:
    import pellucid
    from pellucid.files import write_atomically

    pellucid.report(opened(address), folder / "report.html", progress=False)
    write_atomically(folder / "model", model)


def _count_broken_files(tally: Tally, address: str, folder: Path, model: bytes, good: dict[str, bytes]) -> None:
    """Write the report and the model again. What was there before, or what is new, must be complete."""

    def rewrite(say: Say) -> list[str]:
        import pellucid
        from pellucid.files import write_atomically

        refused = []
        writers: dict[str, Callable[[], object]] = {
            "report": lambda: pellucid.report(opened(address), folder / "report.html", progress=False),
            "model": lambda: write_atomically(folder / "model", model),
        }
        for name, write in writers.items():
            try:
                write()
            except OSError:
                refused.append(name)
            say(name)
        return refused

    ended = Child(rewrite).ended()
    tally.hangs += ended.hung
    # A database may need space to be opened: then there is no new report.
    for name in ended.value or ():
        tally.count(f"{name}s that were refused")
    report = (folder / "report.html").read_bytes()
    complete = report == good["report.html"] or report.rstrip().endswith(b"</html>")
    if not complete or (folder / "model").read_bytes() != good["model"]:
        tally.lost += 1
        tally.note("a file was replaced by half of a new one")
    left = [file.name for file in folder.iterdir() if file.name.startswith((".report", ".model"))]
    if left:
        tally.lost += 1
        tally.note(f"half a file is left: {left}")
