"""A PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pellucid_lab.servers.processes import Account, account, free_port, program

_ELSEWHERE = "usr/lib/postgresql/*/bin"  # Where Debian keeps the programs of each version.


@dataclass(frozen=True)
class PostgresServer:
    """A server with an empty database at ``url``. It forgets nothing when it is stopped, unless the machine dies."""

    url: str
    port: int
    _account: Account
    _control: str

    @property
    def _data(self) -> Path:
        return self._account.folder / "data"

    def start(self) -> None:
        folder = self._account.folder
        settings = f"-p {self.port} -h 127.0.0.1 -k {folder} -c fsync=off"
        self._run("-l", str(self._data / "postgres.log"), "-o", settings, "-w", "-t", "60", "start")

    def stop(self) -> None:
        """End the server at once, if it runs: connections are cut, open transactions are undone at the next start."""
        if (self._data / "postmaster.pid").exists():
            self._run("-m", "immediate", "-w", "stop")

    def _run(self, *arguments: str) -> None:
        self._account.run([self._control, "-D", str(self._data), *arguments], self._account.folder / "server.log")


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """A running server that lives as long as the context; raises `Unavailable` if the machine has no PostgreSQL."""
    initdb, control = (program(name, "postgres", [f"{_ELSEWHERE}/{name}"]) for name in ("initdb", "pg_ctl"))
    with account("postgres", ["postgres"]) as owner:
        options = ["-U", "pellucid", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        owner.run([initdb, "-D", str(owner.folder / "data"), *options], owner.folder / "server.log")
        port = free_port()
        server = PostgresServer(f"postgresql+psycopg2://pellucid@127.0.0.1:{port}/postgres", port, owner, control)
        server.start()
        try:
            yield server
        finally:
            server.stop()
