"""Workers of a Dask cluster share a study through `DaskStorage`: in the scheduler's memory or in its database."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.engines.checks import (
    STARTUP,
    assert_no_configuration_is_repeated,
    assert_nothing_is_lost,
    assert_receipts_where_expected,
    assert_workers_overlapped,
)
from tests.helpers import ROOT, assert_rebuilt_exactly, conditional, kinds, states
from tests.trainings import training
from typer.testing import CliRunner

import pellucid
from pellucid.study.storage import keep_model, kept_model
from pellucid.surfaces.cli.app import app

pytest.importorskip("distributed")
pytest.importorskip("optuna_integration")

from distributed import Client, Future, LocalCluster, wait
from optuna_integration import DaskStorage

PAGE = ROOT / "docs" / "machines" / "dask.md"
KILLED, N_TRIALS = 12, 24


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Of a cluster with two processes."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR) as cluster,
        Client(cluster) as client,
    ):
        client.run(optuna.logging.set_verbosity, optuna.logging.ERROR)
        yield client


class Errors(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def scheduler_errors() -> Iterator[list[str]]:
    """What the scheduler, which runs in this process, logs as an error until the end of the test."""
    handler = Errors()
    logging.getLogger("distributed.core").addHandler(handler)
    yield handler.messages
    logging.getLogger("distributed.core").removeHandler(handler)


def new_study(client: Client, name: str, storage: str | None = None, **options: Any) -> Study:
    return optuna.create_study(
        study_name=name,
        storage=DaskStorage(storage, name=name, client=client),
        sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=STARTUP),
        **options,
    )


def finish(tasks: list[Future], seconds: float = 120) -> None:
    """Wait for tasks, which must all succeed."""
    wait(tasks, timeout=seconds)
    for task in tasks:
        task.result()


def objective(trial: Trial) -> float:
    value = conditional(trial)
    trial.set_user_attr("worker", os.getpid())
    time.sleep(0.05 * (1 + trial.number % 3))  # Trials of one length would all begin at the same moment.
    return value


# ------------------------------------------------------------------------------------------- two workers


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def shared(request: pytest.FixtureRequest, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two workers, fifteen trials each, of a study in the scheduler's memory or in its database."""
    file = tmp_path_factory.mktemp("dask") / "study.db"
    study = new_study(client, f"shared in {request.param}", None if request.param == "memory" else f"sqlite:///{file}")
    client.wait_for_workers(2, timeout=60)  # Another test may have killed one a moment ago.
    workers = list(client.nthreads())
    finish(
        [
            client.submit(
                study.optimize, objective, n_trials=15, pure=False, workers=[worker], allow_other_workers=False
            )
            for worker in workers
        ]
    )
    return study


def test_two_workers_of_dask_lose_nothing_and_repeat_nothing(shared: Study) -> None:
    assert_nothing_is_lost(shared, 30)
    assert_no_configuration_is_repeated(shared)


def test_two_workers_of_dask_see_what_the_other_runs(shared: Study) -> None:
    assert_workers_overlapped(shared, 2)


def test_receipts_travel_through_the_scheduler_of_dask(shared: Study) -> None:
    assert_receipts_where_expected(shared)
    assert_rebuilt_exactly(shared, 20)


def test_answers_about_a_study_of_dask_are_those_about_its_copy(shared: Study, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'copy.db'}"
    optuna.copy_study(from_study_name=shared.study_name, from_storage=shared._storage, to_storage=url)
    copy = optuna.load_study(study_name=shared.study_name, storage=url)
    assert str(pellucid.recommend(shared)) == str(pellucid.recommend(copy))
    assert pellucid.receipts(shared) == pellucid.receipts(copy)
    result = CliRunner().invoke(app, ["explain", "--storage", url])
    assert result.exit_code == 0, result.output
    assert "Use lr=" in result.output


# ---------------------------------------------------------------------------------- what a storage must do


def test_proposals_through_the_scheduler_are_those_of_a_study_in_this_process(
    client: Client, scheduler_errors: list[str]
) -> None:
    here = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=STARTUP))
    here.optimize(conditional, n_trials=12)
    there = new_study(client, "alone")
    there.optimize(conditional, n_trials=12)
    assert [trial.params for trial in there.trials] == [trial.params for trial in here.trials]
    assert scheduler_errors == []  # A storage is not asked for what it does not have: the scheduler would log an error.


def test_constraints_and_names_of_metrics_travel_through_the_scheduler(client: Client) -> None:
    def constrained(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("size", x - 0.5)
        return -x

    study = new_study(client, "constrained")
    study.set_metric_names(["speed"])
    study.optimize(constrained, n_trials=12)
    assert "feasible with a chance of" in str(pellucid.recommend(study))
    assert pellucid.receipts(study)[-1].constraints
    assert pellucid.profile_effect(study, "x", objective="speed")
    assert_rebuilt_exactly(study, 12 - STARTUP)


def test_a_model_that_a_study_keeps_travels_through_the_scheduler(client: Client) -> None:
    study, model = new_study(client, "kept"), bytes(range(256)) * 40
    assert keep_model(study, "ranker", model) == ""
    assert kept_model(study, "ranker") == model


def test_workers_of_dask_stop_hopeless_trials_and_say_why(client: Client) -> None:
    study = new_study(client, "curves", pruner=pellucid.CurvePruner())
    finish([client.submit(study.optimize, training(), n_trials=12, pure=False) for _ in range(2)])
    stopped = [trial for trial in study.trials if trial.state == TrialState.PRUNED]
    assert stopped
    for trial in stopped:
        assert trial.user_attrs["pellucid:pruned"].startswith("Stopped at step ")
        assert pellucid.explain_pruning(study, trial.number).source == "recorded"
    assert_rebuilt_exactly(study, 10)


# -------------------------------------------------------------------------------------- what ends too early


def test_a_trial_that_raises_fails_with_its_task_and_the_study_goes_on(client: Client) -> None:
    def raises(trial: Trial) -> float:
        if trial.number == 6:
            raise ValueError(f"Trial {trial.number}")
        return conditional(trial)

    study = new_study(client, "raises")
    with pytest.raises(ValueError, match="Trial 6"):
        finish([client.submit(study.optimize, raises, n_trials=8, pure=False)])
    finish([client.submit(study.optimize, raises, n_trials=4, pure=False)])
    assert states(study) == [TrialState.COMPLETE] * 6 + [TrialState.FAIL] + [TrialState.COMPLETE] * 4


def test_a_study_outlives_the_program_that_began_it(client: Client) -> None:
    with Client(client.scheduler.address, set_as_default=False) as program:
        study = new_study(program, "outlives")
        program.submit(study.optimize, objective, n_trials=8, pure=False)
        end = time.monotonic() + 60
        while len(study.trials) < 2 and time.monotonic() < end:
            time.sleep(0.02)
    study = optuna.load_study(study_name="outlives", storage=DaskStorage(name="outlives", client=client))
    while states(study) != [TrialState.COMPLETE] * 8 and time.monotonic() < end:
        time.sleep(0.05)
    assert_nothing_is_lost(study, 8)


def dies(trial: Trial) -> float:
    """The objective; the process of trial 12 is gone at once."""
    value = objective(trial)
    if trial.number == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def work(study: Study, n_trials: int) -> None:
    """As on the page."""
    while sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False)) < n_trials:
        study.optimize(dies, n_trials=1)


@pytest.fixture(scope="module")
def killed(client: Client) -> Study:
    study = new_study(client, "killed")
    finish([client.submit(work, study, N_TRIALS, pure=False) for _ in range(2)])
    return study


def test_a_study_of_dask_goes_on_after_a_worker_was_killed(killed: Study) -> None:
    assert killed.trials[KILLED].state == TrialState.RUNNING
    # Two workers that check at the same moment may each begin a trial as the last one.
    assert states(killed).count(TrialState.COMPLETE) == len(killed.trials) - 1
    assert len(killed.trials) in (N_TRIALS + 1, N_TRIALS + 2)
    assert_no_configuration_is_repeated(killed)


def test_proposals_of_dask_take_the_lost_trial_into_account(killed: Study) -> None:
    later = [receipt for receipt in pellucid.receipts(killed) if receipt.trial > KILLED + 1]
    assert len(later) >= 10
    assert all(str(KILLED) in receipt.pending for receipt in later)
    assert "fallback" not in kinds(killed).values()
    assert_rebuilt_exactly(killed, 15)


def test_tasks_of_one_trial_are_repeated_after_a_worker_was_killed_as_the_page_says(client: Client) -> None:
    study = new_study(client, "one trial in each task")
    finish([client.submit(study.optimize, dies, n_trials=1, pure=False) for _ in range(16)])
    assert states(study).count(TrialState.COMPLETE) > 16


# ----------------------------------------------------------------------------------- the page and the example


def printed_by(script: Path, *options: str, folder: Path) -> str:
    """What a script prints that starts processes of its own; it must succeed."""
    command = [sys.executable, str(script), *options]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_runs_as_it_is(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n\n".join(blocks), encoding="utf-8")
    printed = printed_by(script, folder=tmp_path)
    assert re.search(r"^Use rate=0\.\d+, layers=3 \(trial \d+\)", printed, re.MULTILINE)
    assert re.search(r"^Trial 39 maximised ", printed, re.MULTILINE)
    study = optuna.load_study(study_name="tuning", storage=f"sqlite:///{tmp_path / 'tuning.db'}")
    assert_nothing_is_lost(study, len(study.trials))


def test_the_example_runs_on_a_cluster_that_is_there(client: Client, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'dask.db'}"
    options = ("--scheduler", client.scheduler.address, "--storage", url, "--trials")
    script = ROOT / "examples" / "cluster_dask.py"
    first = printed_by(script, *options, "6", folder=tmp_path)
    # On a busy machine, one process may have run all six before the other is ready.
    assert re.search(r"^[67] trials by [12] processes\.$", first, re.MULTILINE)
    # Twenty proposals, so that on a busy machine, too, one of them is made while the other worker runs a trial.
    second = printed_by(script, *options, "30", folder=tmp_path)
    assert re.search(r"^3[01] trials by 2 processes\.$", second, re.MULTILINE)
    aware = re.search(r"^(\d+) of (\d+) proposals took into account", second, re.MULTILINE)
    assert aware is not None, second
    assert 1 <= int(aware[1]) <= int(aware[2]) <= 21
    assert "Which configuration is best? Use C=" in second
    assert "More trials? Continue" in second
