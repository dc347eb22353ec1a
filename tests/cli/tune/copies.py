"""Workers of `pellucid tune` that begin as copies of a process that has imported packages."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

from tests.helpers import FORKS


class CopiedProcess:
    """What `pool` uses of `subprocess.Popen`, with the worker's `main` in a copy of the server process of the tests:
    imports take longer than most runs. It has pipes, a session, signals and an end of its own like any worker."""

    def __init__(self, _: list[str], **__: Any) -> None:
        orders, to_worker = Pipe(duplex=False)
        from_worker, reports = Pipe(duplex=False)
        printed, output = Pipe(duplex=False)
        ends = (orders, reports, output)
        self._process = FORKS.Process(target=_run, args=(ends, os.getcwd(), dict(os.environ)))
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self.stdin: IO[bytes] = os.fdopen(os.dup(to_worker.fileno()), "wb")
        self.stdout: IO[bytes] = os.fdopen(os.dup(from_worker.fileno()), "rb")
        self.stderr: IO[bytes] = os.fdopen(os.dup(printed.fileno()), "rb")
        for end in (*ends, to_worker, from_worker, printed):
            end.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0.0)
        return self.returncode


def _run(ends: tuple[Connection, Connection, Connection], folder: str, environment: dict[str, str]) -> None:
    from pellucid.surfaces.cli.tune.worker import main

    os.setsid()
    for descriptor, end in enumerate(ends):
        os.dup2(end.fileno(), descriptor)
        end.close()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = [place for place in sys.path if place]
    main()
