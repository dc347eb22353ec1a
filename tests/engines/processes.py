"""Processes that share a study through a storage, and what must hold of it. Every engine has the same tests."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import optuna
import pytest
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.study import Study
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.end_to_end.worker import storage_at
from tests.engines.checks import (
    STARTUP,
    assert_no_configuration_is_repeated,
    assert_nothing_is_lost,
    assert_receipts_where_expected,
    assert_workers_overlapped,
)
from tests.helpers import (
    COMPLETE,
    FAIL,
    RUNNING,
    assert_rebuilt_exactly,
    bowl,
    finish,
    kill_in_its_trial,
    start_worker,
    states,
)
from typer.testing import CliRunner

import pellucid
from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.cli.storage.studies import reading

WORKERS, TRIALS_EACH = 4, 12
KILLED = 8  # The trial in which a worker is killed; another worker runs four more.


def load(storage: str, name: str) -> Study:
    return optuna.load_study(study_name=name, storage=storage_at(storage))


def study_of_four_processes(storage: str, name: str) -> Study:
    """All with the same seed: they differ by the trial number and by the trials that they see of each other."""
    optuna.create_study(study_name=name, storage=storage_at(storage))
    options = ("--study", name, "--together", str(WORKERS), "--startup", str(STARTUP))
    finish(*(start_worker(storage, "conditional", TRIALS_EACH, *options) for _ in range(WORKERS)))
    return load(storage, name)


def assert_four_processes_worked_as_one(study: Study) -> None:
    n = WORKERS * TRIALS_EACH
    assert_nothing_is_lost(study, n)
    assert_workers_overlapped(study, WORKERS)
    assert_receipts_where_expected(study)
    assert_no_configuration_is_repeated(study)
    # All but the first trials, and those that began before enough of these had finished.
    assert_rebuilt_exactly(study, n - STARTUP - WORKERS)


def study_of_a_killed_worker(storage: str, name: str, marker: Path, *options: str) -> Study:
    """Trial 8 hangs, its worker gets SIGKILL there, and another process runs four more trials."""
    own = ("--study", name, "--startup", str(STARTUP))
    victim = start_worker(storage, "conditional", 20, *own, "--hang-at", str(KILLED), "--marker", str(marker), *options)
    kill_in_its_trial(victim, marker)
    finish(start_worker(storage, "conditional", 4, *own))
    return load(storage, name)


def assert_the_study_went_on(study: Study) -> None:
    """The lost trial stays, every later proposal takes it into account, and the study has its answers."""
    expected = [COMPLETE] * (KILLED + 5)
    expected[KILLED] = RUNNING
    assert states(study) == expected
    later = [receipt for receipt in pellucid.receipts(study) if receipt.trial > KILLED]
    assert [tuple(receipt.pending) for receipt in later] == [(str(KILLED),)] * 4
    assert_no_configuration_is_repeated(study)
    assert_rebuilt_exactly(study, KILLED + 5 - STARTUP)
    assert pellucid.recommend(study).params in [trial.params for trial in study.trials]


def assert_explained_on_the_command_line(storage: str, study: Study) -> None:
    """`pellucid explain NAME --storage STORAGE` gives the answers that the functions give."""
    result = CliRunner().invoke(app, ["explain", study.study_name, "--storage", storage])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"Study `{study.study_name}` in ")
    assert f"Best configuration: {pellucid.recommend(study)}" in result.stdout


def assert_a_trial_without_a_heartbeat_is_run_again(url: str, name: str) -> None:
    storage = RDBStorage(
        url, heartbeat_interval=60, grace_period=120, heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback()
    )
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(study_name=name, storage=storage, sampler=sampler)
    study.optimize(bowl, n_trials=4)
    lost = study.ask()
    bowl(lost)
    storage.record_heartbeat(lost._trial_id)
    fail_stale_trials(study)
    assert states(study)[4:] == [RUNNING]  # Its heartbeat is new.
    with storage.engine.begin() as connection:
        connection.execute(text("UPDATE trial_heartbeats SET heartbeat = :then"), {"then": datetime(2001, 1, 1)})
    study.optimize(bowl, n_trials=1)
    assert states(study)[4:] == [FAIL, COMPLETE]
    assert study.trials[5].params == study.trials[4].params == lost.params


def assert_reading_cannot_write(storage: str, study: Study) -> None:
    """A storage that is opened to be read shows the study, and its server refuses to write."""
    with reading(place_of(storage)) as opened:
        assert len(optuna.load_study(study_name=study.study_name, storage=opened).trials) == len(study.trials)
        assert isinstance(opened, RDBStorage)
        with opened.engine.connect() as connection, pytest.raises(DBAPIError, match=r"(?i)read[ -]only"):
            connection.execute(text("DELETE FROM trials"))
