"""The engines. To add one, write a function that runs a task on it and a line in ``ENGINES``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid_lab.engines.clusters import shared_on_dask, shared_on_ray
from pellucid_lab.engines.records import EngineTask, Work
from pellucid_lab.engines.workers import Address, shared_by_processes, shared_by_threads

if TYPE_CHECKING:
    from optuna.study import Study


@dataclass(frozen=True)
class Engine:
    """How workers share a study, in words, and the size of a run that says enough about it."""

    words: str
    run: Callable[[EngineTask], tuple[Work, Study]]
    workers: int
    trials: int
    requires: tuple[str, ...] = ()


def _on_sqlite(task: EngineTask) -> tuple[Work, Study]:
    with tempfile.TemporaryDirectory() as folder:
        return shared_by_processes(task, Address(url=f"sqlite:///{Path(folder) / 'study.db'}"))


def _on_journal(task: EngineTask) -> tuple[Work, Study]:
    with tempfile.TemporaryDirectory() as folder:
        return shared_by_processes(task, Address(journal=str(Path(folder) / "study.log")))


def _on_postgres(task: EngineTask) -> tuple[Work, Study]:
    from pellucid_lab.servers.postgres import postgres

    with postgres() as server:
        return shared_by_processes(task, Address(url=server.url))


def _on_mariadb(task: EngineTask) -> tuple[Work, Study]:
    from pellucid_lab.servers.mariadb import mariadb

    with mariadb() as server:
        return shared_by_processes(task, Address(url=server.url))


def _behind_proxy(task: EngineTask) -> tuple[Work, Study]:
    from pellucid_lab.servers.postgres import postgres
    from pellucid_lab.servers.proxy import proxy

    with postgres() as server, proxy(server.url) as front:
        return shared_by_processes(task, Address(port=front.port))


ENGINES: dict[str, Engine] = {
    "threads": Engine("threads of one process, in memory", shared_by_threads, 8, 400),
    "sqlite": Engine("processes, a file of SQLite", _on_sqlite, 8, 400),
    "journal": Engine("processes, a journal file", _on_journal, 8, 400),
    "postgres": Engine("processes, PostgreSQL", _on_postgres, 24, 1000, ("psycopg2",)),
    "mariadb": Engine("processes, MariaDB", _on_mariadb, 24, 400, ("pymysql",)),
    "grpc": Engine("processes, a gRPC proxy before PostgreSQL", _behind_proxy, 24, 400, ("psycopg2", "grpc")),
    "dask": Engine("Dask workers, `DaskStorage`", shared_on_dask, 4, 200, ("distributed", "optuna_integration")),
    "ray": Engine("Ray Tune, `OptunaSearch`", shared_on_ray, 4, 80, ("ray",)),
}
