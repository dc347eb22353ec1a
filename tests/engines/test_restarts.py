"""A server that is killed and started again has forgotten nothing, and workers go on where they were."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from tests.conftest import or_skip
from tests.end_to_end.worker import storage_at
from tests.helpers import COMPLETE, assert_rebuilt_exactly, assert_went_on, bowl

import pellucid
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.cli.storage.studies import open_storage
from pellucid_lab.servers.mariadb import mariadb
from pellucid_lab.servers.postgres import postgres
from pellucid_lab.servers.proxy import proxy


def begun(storage: BaseStorage) -> Study:
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(study_name="restart", storage=storage, sampler=sampler)
    study.optimize(bowl, n_trials=5)
    return study


def assert_goes_on_after(restarted: Any, study: Study) -> None:
    """In a trial that began before the restart, too."""
    trial = study.ask()
    restarted.stop()
    restarted.start()
    study.tell(trial, bowl(trial))
    study.optimize(bowl, n_trials=2)
    assert_went_on(study, [COMPLETE] * 8, n_model=5)
    assert_rebuilt_exactly(study, 5)


@pytest.mark.parametrize(("module", "server"), [("psycopg2", postgres), ("pymysql", mariadb)])
def test_a_worker_survives_the_restart_of_its_database(module: str, server: Any) -> None:
    pytest.importorskip(module)
    with or_skip(server()) as running:
        study = begun(RDBStorage(running.url, engine_kwargs={"pool_pre_ping": True}))
        assert_goes_on_after(running, study)


@pytest.mark.parametrize(("module", "server"), [("psycopg2", postgres), ("pymysql", mariadb)])
def test_the_command_line_survives_the_restart_of_its_database(module: str, server: Any) -> None:
    pytest.importorskip(module)
    with or_skip(server()) as running:
        url = running.url.replace("mysql+pymysql", "mariadb")  # Which Optuna does not take for MySQL.
        assert_goes_on_after(running, begun(open_storage(place_of(url))))


def test_a_worker_survives_the_restart_of_the_proxy(postgres: str) -> None:
    with or_skip(proxy(postgres)) as running:
        study = begun(storage_at(running.url))
        assert_goes_on_after(running, study)
