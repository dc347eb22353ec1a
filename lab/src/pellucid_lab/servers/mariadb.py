"""A MariaDB server, which MySQL's drivers take for MySQL."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pellucid.words import printable
from pellucid_lab.servers.processes import DEADLINE_S, Account, account, answers_in_time, free_port, program

_DATABASE = "studies"
_USER = "pellucid"
# Names of studies and parameters may have any character, and `C` is another parameter than `c`.
_SETUP = (
    f"CREATE DATABASE IF NOT EXISTS {_DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\n"
    f"CREATE USER IF NOT EXISTS '{_USER}'@'127.0.0.1';\n"
    f"GRANT ALL ON *.* TO '{_USER}'@'127.0.0.1';\n"
)


@dataclass(frozen=True)
class MariaServer:
    """A server with an empty database at ``url``. It forgets nothing when it is stopped, unless the machine dies."""

    url: str
    port: int
    _account: Account
    _program: str
    # The running server, if any: a process has to be waited for by the one that started it.
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def _log(self) -> Path:
        return self._account.folder / "server.log"

    def start(self) -> None:
        folder = self._account.folder
        command = [
            *(self._program, "--no-defaults", f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}"),
            *("--bind-address=127.0.0.1", f"--port={self.port}", "--skip-name-resolve"),
            # What was committed is the system's: a killed server loses nothing, and nobody waits for the disk.
            *("--innodb-flush-log-at-trx-commit=2", "--skip-log-bin", f"--init-file={folder / 'setup.sql'}"),
        ]
        with self._log.open("a") as output:
            server = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, **self._account.identity)
        self._running.append(server)
        if not answers_in_time(self._answers, lambda: server.poll() is None):
            self.stop()
            raise RuntimeError(printable(f"{self._program} does not answer:\n{self._log.read_text(errors='replace')}"))

    def stop(self) -> None:
        """End the server at once: connections are cut, open transactions are undone at the next start."""
        for server in self._running:
            server.kill()
            server.wait(DEADLINE_S)
        self._running.clear()

    def _answers(self) -> bool:
        import pymysql

        try:
            pymysql.connect(host="127.0.0.1", port=self.port, user=_USER, database=_DATABASE).close()
        except pymysql.err.OperationalError:
            return False
        return True


@contextmanager
def mariadb() -> Iterator[MariaServer]:
    """A running server that lives as long as the context; raises `Unavailable` if the machine has no MariaDB."""
    install, server_program = (
        program(name, "mariadb", [f"usr/*bin/{name}"]) for name in ("mariadb-install-db", "mariadbd")
    )
    with account("mariadb", ["mysql"]) as owner:
        options = ["--no-defaults", f"--datadir={owner.folder / 'data'}", "--skip-test-db"]
        owner.run([install, *options, "--auth-root-authentication-method=normal"], owner.folder / "server.log")
        setup = owner.folder / "setup.sql"
        setup.write_text(_SETUP)
        setup.chmod(0o644)  # The server runs as another user.
        port = free_port()
        url = f"mysql+pymysql://{_USER}@127.0.0.1:{port}/{_DATABASE}"
        server = MariaServer(url, port, owner, server_program)
        server.start()
        try:
            yield server
        finally:
            server.stop()
