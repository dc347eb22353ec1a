"""What all servers need: a program, a user who may run it, a free port, and commands whose output goes to a file."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pellucid.surfaces.cli.errors import Unavailable
from pellucid.words import printable

DEADLINE_S = 60  # For a server to start, or to end.
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Account:
    """The user that servers run as, and the folder with their files, which belongs to that user."""

    user: int
    folder: Path

    @property
    def identity(self) -> dict[str, Any]:
        """Arguments of `subprocess` that change the user, if this process is root."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.user, "group": pwd.getpwuid(self.user).pw_gid, "extra_groups": []}

    def run(self, command: Sequence[str], log: Path) -> None:
        """Run a command to its end; if it fails, the error is what it printed."""
        # A server that inherits our pipes would keep them open, so the output goes to a file.
        with log.open("a") as output:
            result = subprocess.run(
                command,
                cwd=self.folder,
                stdout=output,
                stderr=output,
                timeout=2 * DEADLINE_S,
                check=False,
                **self.identity,
            )
        if result.returncode != 0:
            raise RuntimeError(printable(f"{command[0]} has failed:\n{log.read_text(errors='replace')}"))


def unprivileged(names: Sequence[str]) -> int:
    """The user to run a server as: the present one, or the first of these if that is root, which servers refuse."""
    if os.geteuid() != 0:
        return os.geteuid()
    users = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
    tried = (*names, "nobody")
    found = next((users[name] for name in tried if name in users), None)
    if found is None:
        raise Unavailable(f"A database server refuses to run as root, and there is no user {' or '.join(tried)}.")
    return found


def program(name: str, package: str, patterns: Sequence[str] = ()) -> str:
    """A program on PATH, or the last of the files that match these patterns; `package`: what brings it."""
    elsewhere = [str(path) for pattern in patterns for path in sorted(Path("/").glob(pattern))]
    found = shutil.which(name) or next(reversed(elsewhere), None)
    if found is None:
        raise Unavailable(
            f"The program {name} is not on PATH: `sh tools/ensure.sh {package}` installs it with Debian's packages."
        )
    return found


def free_port() -> int:
    """A port below those that systems give to outgoing connections: one of these could take it while a server is
    stopped, or before it has started."""
    while True:
        port = _PORTS[secrets.randbelow(len(_PORTS))]
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:  # It is taken.
                continue
            return port


def answers_in_time(answers: Callable[[], bool], lives: Callable[[], bool]) -> bool:
    """Wait until a server answers; False if its process ends before, or if it takes too long."""
    end = time.monotonic() + DEADLINE_S
    while lives() and time.monotonic() < end:
        if answers():
            return True
        time.sleep(0.05)
    return False


@contextmanager
def account(kind: str, users: Sequence[str]) -> Iterator[Account]:
    """A user and an empty folder of theirs, which is removed in the end."""
    user = unprivileged(users)
    # Not below the caller's own temporary folders: the other user may not enter those.
    folder = Path(tempfile.mkdtemp(prefix=f"pellucid-{kind}-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, user, -1)
        yield Account(user, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
