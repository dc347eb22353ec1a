"""Optuna's gRPC proxy: workers talk to it, and it alone talks to the database."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess

from pellucid.surfaces.cli.extras import require_extra
from pellucid.words import printable
from pellucid_lab.servers.processes import DEADLINE_S, answers_in_time, free_port

_HOST = "127.0.0.1"
# A process that inherits nothing: gRPC does not survive a fork.
_PROCESSES = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class ProxyServer:
    """A proxy at ``url`` (``grpc://HOST:PORT``) in front of the storage at ``storage``. It keeps nothing itself."""

    storage: str
    port: int
    # The running proxy, if any.
    _running: list[BaseProcess] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"grpc://{_HOST}:{self.port}"

    def start(self) -> None:
        process = _PROCESSES.Process(target=serve, args=(self.storage, _HOST, self.port), daemon=True)
        process.start()
        self._running.append(process)
        if not answers_in_time(self._answers, process.is_alive):
            self.stop()
            raise RuntimeError(printable(f"The gRPC proxy at {self.url} does not answer."))

    def stop(self) -> None:
        """End the proxy at once: calls that it has not answered fail."""
        for process in self._running:
            process.kill()
            process.join(DEADLINE_S)
        self._running.clear()

    def _answers(self) -> bool:
        import grpc

        with grpc.insecure_channel(f"{_HOST}:{self.port}") as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=1)
            except grpc.FutureTimeoutError:
                return False
        return True


def serve(storage: str, host: str, port: int) -> None:
    """Answer workers until the process ends."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    # A connection is tried before it is used: the database may have been restarted.
    database = optuna.storages.RDBStorage(storage, engine_kwargs={"pool_pre_ping": True})
    # `get_storage` lets it keep finished trials in memory.
    optuna.storages.run_grpc_proxy_server(optuna.storages.get_storage(database), host=host, port=port)


@contextmanager
def proxy(storage: str) -> Iterator[ProxyServer]:
    """A running proxy that lives as long as the context; raises `Unavailable` if gRPC is not installed."""
    require_extra("grpc", ["grpc"], "Optuna's proxy")
    server = ProxyServer(storage, free_port())
    server.start()
    try:
        yield server
    finally:
        server.stop()
