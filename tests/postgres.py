"""A PostgreSQL server for the tests that need one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def program(name: str) -> str | None:
    """A PostgreSQL server program: on PATH, or where Debian keeps the newest version."""
    installed = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: float(p.parts[-3]), reverse=True
    )
    return shutil.which(name) or next(map(str, installed), None)


def unprivileged() -> int | None:
    """The user to run the server as: the present one, or another one if that is root, which PostgreSQL refuses."""
    if os.geteuid() != 0:
        return os.geteuid()
    users = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
    return next((users[name] for name in ("postgres", "nobody") if name in users), None)


@contextmanager
def server() -> Iterator[str]:
    """URL of an empty database on a server that lives as long as the context; skips the test if there is none."""
    pytest.importorskip("psycopg2")
    initdb, pg_ctl, user = program("initdb"), program("pg_ctl"), unprivileged()
    if initdb is None or pg_ctl is None:
        pytest.skip("PostgreSQL's programs initdb and pg_ctl are neither on PATH nor in /usr/lib/postgresql/*/bin")
    if user is None:
        pytest.skip("PostgreSQL refuses to run as root, and neither `postgres` nor `nobody` exists to run it as")
    # Not below pytest's own temporary folders: the other user may not enter those.
    folder = Path(tempfile.mkdtemp(prefix="pellucid-postgres-"))
    if os.geteuid() == 0:
        os.chown(folder, user, -1)
    data, log = folder / "data", folder / "server.log"

    def run(*command: str) -> None:
        identity = {"user": user, "group": pwd.getpwuid(user).pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        # A server that inherits our pipes would keep them open, so the output goes to a file.
        with log.open("a") as output:
            result = subprocess.run(command, cwd=folder, stdout=output, stderr=output, check=False, **identity)
        assert result.returncode == 0, log.read_text(errors="replace")

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    try:
        run(
            initdb,
            "-D",
            str(data),
            "-U",
            "pellucid",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        )
        settings = f"-p {port} -h 127.0.0.1 -k {folder} -c fsync=off"
        run(
            pg_ctl,
            "-D",
            str(data),
            "-l",
            str(data / "postgres.log"),
            "-o",
            settings,
            "-w",
            "-t",
            "60",
            "start",
        )
        try:
            yield f"postgresql+psycopg2://pellucid@127.0.0.1:{port}/postgres"
        finally:
            run(pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
