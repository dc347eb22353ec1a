"""Storages that faults happen to, on this machine: SQLite files, journals, and databases of a PostgreSQL server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pellucid_lab.servers.postgres import PostgresServer, postgres

_MEMORY = Path("/dev/shm")


@contextmanager
def empty_folder() -> Iterator[Path]:
    """In memory if the machine has such a file system: a killed process loses nothing there that a disk would keep."""
    with TemporaryDirectory(prefix="pellucid-faults-", dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@dataclass(frozen=True)
class Home:
    """A storage at `address`. `copy` gives the address of a copy with another name; nobody may be connected."""

    folder: Path
    address: str
    copy: Callable[[str], str]


@contextmanager
def home(case: str) -> Iterator[Home]:
    """An empty storage of a sort: sqlite, journal or postgresql."""
    with empty_folder() as folder:
        if case == "postgresql":
            with postgres() as server:
                yield _database(server, folder)
        else:
            yield _file(folder, "sqlite:///", "db") if case == "sqlite" else _file(folder, "", "log")


def _file(folder: Path, prefix: str, suffix: str) -> Home:
    first = folder / f"study.{suffix}"

    def copy(name: str) -> str:
        second = folder / f"{name}.{suffix}"
        shutil.copy(first, second)
        return f"{prefix}{second}"

    return Home(folder, f"{prefix}{first}", copy)


def _database(server: PostgresServer, folder: Path) -> Home:
    base = server.url.rpartition("/")[0]

    def execute(statement: str) -> None:
        import psycopg2

        connection = psycopg2.connect(f"{base.replace('+psycopg2', '')}/postgres")
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
        finally:
            connection.close()

    def copy(name: str) -> str:
        execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        execute(f"CREATE DATABASE {name} TEMPLATE first")
        return f"{base}/{name}"

    execute("CREATE DATABASE first")
    return Home(folder, f"{base}/first", copy)
