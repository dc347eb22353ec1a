"""Workers share a study in MariaDB, or in MySQL, whose driver and dialect MariaDB has."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.study import Study
from optuna.trial import Trial
from sqlalchemy import create_engine, text
from tests.end_to_end.examples import share_between_workers
from tests.engines.processes import (
    assert_a_trial_without_a_heartbeat_is_run_again,
    assert_explained_on_the_command_line,
    assert_four_processes_worked_as_one,
    assert_reading_cannot_write,
    assert_the_study_went_on,
    load,
    study_of_a_killed_worker,
    study_of_four_processes,
)
from tests.helpers import PRUNED, RECEIPT_KEY, assert_rebuilt_exactly, bowl, new_study, params, wide
from tests.trainings import pruned_study

import pellucid


@pytest.fixture(scope="module")
def shared(mariadb: str) -> Study:
    return study_of_four_processes(mariadb, "four on MariaDB")


def test_four_processes_share_a_study(shared: Study) -> None:
    assert_four_processes_worked_as_one(shared)


def test_the_study_is_explained_on_the_command_line(mariadb: str, shared: Study) -> None:
    assert_explained_on_the_command_line(mariadb, shared)


@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mariadb+pymysql"])
def test_the_command_line_takes_urls_without_the_driver(mariadb: str, shared: Study, scheme: str) -> None:
    assert_explained_on_the_command_line(mariadb.replace("mysql+pymysql", scheme), shared)


def test_a_study_goes_on_after_a_worker_was_killed_in_a_trial(mariadb: str, tmp_path: Path) -> None:
    study = study_of_a_killed_worker(mariadb, "killed on MariaDB", tmp_path / "hangs")
    assert_the_study_went_on(study)


def test_a_trial_without_a_heartbeat_is_run_again(mariadb: str) -> None:
    assert_a_trial_without_a_heartbeat_is_run_again(mariadb, "heartbeat")


def test_nothing_is_written_by_reading(mariadb: str, shared: Study) -> None:
    assert_reading_cannot_write(mariadb, shared)


# ------------------------------------------------------------------------------------- what MySQL changes


def optimized(mariadb: str, name: str, objective: object, n_trials: int) -> Study:
    """A study of one process, as another process would read it."""
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(study_name=name, storage=mariadb, sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    return load(mariadb, name)


def test_receipts_of_several_parts_come_back(mariadb: str) -> None:
    study = optimized(mariadb, "wide", wide, 6)
    parts = [sum(key.startswith(RECEIPT_KEY) for key in trial.system_attrs) for trial in study.trials]
    assert max(parts) >= 2
    assert_rebuilt_exactly(study, 3)


def named(trial: Trial) -> float:
    """Names that differ only in case, by an accent, or by an emoji."""
    names = ("C", "c", "résumé", "resume", "lr 🙂", "lr 🙃")
    return sum((trial.suggest_float(name, 0, 1) - 0.1 * i) ** 2 for i, name in enumerate(names))


def test_names_are_told_apart_whatever_their_characters(mariadb: str) -> None:
    first, second = (optimized(mariadb, name, named, 6) for name in ("Näme 🙂", "näme 🙃"))
    for study in (first, second):
        assert all(len(trial.params) == 6 for trial in study.trials)
        assert_rebuilt_exactly(study, 3)
    assert_explained_on_the_command_line(mariadb, first)


# The smallest and largest numbers, and some that need all 17 digits.
FLOATS = [
    5e-324,
    2.2250738585072014e-308,
    1e-300,
    0.1 + 0.2,
    1 / 3,
    -2 / 3,
    123456789.123456789,
    1.7976931348623157e308,
]


def test_numbers_come_back_bit_for_bit(mariadb: str) -> None:
    study = optuna.create_study(study_name="numbers", storage=mariadb)
    anywhere = FloatDistribution(-1.0, 1.7976931348623157e308)
    for number in FLOATS:
        study.add_trial(optuna.create_trial(params={"x": number}, distributions={"x": anywhere}, value=number))
    trials = load(mariadb, "numbers").trials
    assert [(trial.value, trial.params["x"]) for trial in trials] == [(number, number) for number in FLOATS]


def test_proposals_are_those_of_a_study_in_memory(mariadb: str) -> None:
    in_memory = new_study()
    in_memory.optimize(bowl, n_trials=10)
    assert params(optimized(mariadb, "bowl", bowl, 10)) == params(in_memory)


def test_a_worker_sees_what_another_has_written_since(mariadb: str) -> None:
    """A transaction of MariaDB shows the data of its first query: a worker begins a new one for every proposal."""
    optuna.create_study(study_name="seen", storage=mariadb)
    first, second = (optuna.load_study(study_name="seen", storage=mariadb) for _ in range(2))
    assert first.trials == second.trials == []
    for study in (first, second):
        study.sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3)
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    for i in range(4):
        trial = first.ask(space)
        first.tell(trial, trial.params["x"] + i)
    running = first.ask(space)
    proposed = second.ask(space)
    assert list(pellucid.receipt(second, proposed.number).pending) == [str(running.number)]


def test_whole_seconds_are_enough_to_explain_a_stop(mariadb: str) -> None:
    """MySQL keeps whole seconds, and many of these trials begin and end in the same one."""
    stopped_by_median = pruned_study(20, pruner=optuna.pruners.MedianPruner(n_warmup_steps=3))
    name = stopped_by_median.study_name
    optuna.copy_study(from_study_name=name, from_storage=stopped_by_median._storage, to_storage=mariadb)
    study = load(mariadb, name)
    assert {trial.datetime_start.microsecond for trial in study.trials if trial.datetime_start} == {0}
    last = [trial.number for trial in study.trials if trial.state == PRUNED][-1]
    assert pellucid.explain_pruning(study, last) == pellucid.explain_pruning(stopped_by_median, last)


def test_a_database_that_ignores_case_loses_a_parameter(mariadb: str) -> None:
    """Why docs/machines/mysql.md asks for `utf8mb4_bin`: Optuna takes `c` for `C`, and says nothing."""
    engine = create_engine(mariadb)
    with engine.connect() as connection:
        connection.execute(text("CREATE DATABASE default_names CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"))
    engine.dispose()
    study = optuna.create_study(study_name="s", storage=mariadb.replace("/studies", "/default_names"))
    trial = study.ask({"C": FloatDistribution(0, 1), "c": FloatDistribution(0, 1)})
    assert len(study.trials[trial.number].params) == 1


@pytest.mark.slow  # As on SQLite.
def test_the_example_runs_the_trial_of_a_dead_worker_again(mariadb: str) -> None:
    share_between_workers(mariadb)
