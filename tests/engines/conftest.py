"""Every test here is one of `make test-engines`. Servers live as long as the test run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import or_skip

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """URL of an empty database of MariaDB, with names as they are."""
    pytest.importorskip("pymysql")
    from pellucid_lab.servers.mariadb import mariadb

    with or_skip(mariadb()) as server:
        yield server.url


@pytest.fixture(scope="session")
def proxy(postgres: str) -> Iterator[str]:
    """URL of Optuna's gRPC proxy in front of PostgreSQL."""
    from pellucid_lab.servers.proxy import proxy

    with or_skip(proxy(postgres)) as server:
        yield server.url
