"""A live report that is served on a free port, and what a program or a browser reads there."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import optuna
from optuna.samplers import RandomSampler
from tests.helpers import STUDY

from pellucid.surfaces.page.live import LiveReport
from pellucid.surfaces.page.server import serving

PATIENCE_S = 120
READY = "document.body && document.body.dataset.ready === 'yes'"
LINE = "(document.querySelector('#live')?.innerText ?? '')"


def stored_study(url: str) -> optuna.Study:
    return optuna.create_study(study_name=STUDY, storage=url, sampler=RandomSampler(seed=0))


def impatient(url: str) -> optuna.Study:
    """The study, for a reader that waits for a lock only for a moment."""
    return optuna.load_study(study_name=STUDY, storage=f"{url}?timeout=0.1")


@contextmanager
def served(study: optuna.Study) -> Iterator[tuple[LiveReport, int]]:
    """A report that nobody computes yet, and its port."""
    live = LiveReport(study, lambda error: f"It failed: {type(error).__name__}.")
    with serving(live, 0) as address:
        yield live, port_of(address)


@contextmanager
def watching(live: LiveReport) -> Iterator[None]:
    live.start()
    try:
        yield
    finally:
        assert live.end(PATIENCE_S)


def port_of(address: str) -> int:
    return int(address.rstrip("/").rpartition(":")[2])


@contextmanager
def locked(url: str) -> Iterator[None]:
    """A database that another process keeps to itself."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


def answer(port: int, path: str = "/", *hosts: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with closing(connection):
        connection.putrequest(method, path, skip_host=True)
        for host in hosts or (f"127.0.0.1:{port}",):
            connection.putheader("Host", host)
        connection.endheaders()
        response = connection.getresponse()
        return response, response.read()


def state(port: int) -> dict[str, Any]:
    return dict(json.loads(answer(port, "/state")[1]))


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)
