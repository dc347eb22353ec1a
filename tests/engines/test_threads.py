"""Threads of one process share a study (`n_jobs`)."""

from __future__ import annotations

import threading
from pathlib import Path

from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.end_to_end.examples import run
from tests.end_to_end.worker import wait_until
from tests.engines.checks import (
    STARTUP,
    assert_no_configuration_is_repeated,
    assert_nothing_is_lost,
    assert_receipts_where_expected,
    assert_workers_overlapped,
)
from tests.engines.processes import assert_explained_on_the_command_line, load
from tests.helpers import (
    RUNNING,
    assert_rebuilt_exactly,
    conditional,
    finish,
    kill_in_its_trial,
    new_study,
    start_worker,
)

import pellucid

THREADS, TRIALS = 4, 48


def test_four_threads_share_a_study() -> None:
    study = new_study(n_startup_trials=STARTUP)
    together = threading.Barrier(THREADS, timeout=60)

    def objective(trial: Trial) -> float:
        """The first trials wait for each other, and a later one for another beside it, unless it is the last."""
        value = conditional(trial)
        trial.set_user_attr("worker", threading.get_ident())
        if trial.number < THREADS:
            together.wait()
        wait_until(lambda: proposed_beside(study, trial) or len(study.get_trials(deepcopy=False)) == TRIALS)
        return value

    study.optimize(objective, n_trials=TRIALS, n_jobs=THREADS)
    assert_nothing_is_lost(study, TRIALS)
    assert_workers_overlapped(study, THREADS)
    assert_receipts_where_expected(study)
    assert_no_configuration_is_repeated(study)
    assert_rebuilt_exactly(study, TRIALS - STARTUP - THREADS)


def proposed_beside(study: Study, trial: Trial) -> bool:
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return any("worker" in other.user_attrs and other.number != trial.number for other in running)


def test_a_study_goes_on_after_a_process_of_four_threads_was_killed(tmp_path: Path) -> None:
    """Each thread may lose its trial."""
    url, marker = f"sqlite:///{tmp_path / 'study.db'}", tmp_path / "hangs"
    options = ("--study", "threads", "--startup", str(STARTUP), "--threads", str(THREADS))
    killed = start_worker(url, "conditional", 1000, *options, "--hang-at", "8", "--marker", str(marker))
    kill_in_its_trial(killed, marker)
    lost = [trial.number for trial in load(url, "threads").trials if trial.state == RUNNING]
    assert 8 in lost
    assert len(lost) <= THREADS

    finish(start_worker(url, "conditional", 8, *options))
    study = load(url, "threads")
    assert [trial.number for trial in study.trials if trial.state == RUNNING] == lost
    later = pellucid.receipts(study)[-8:]
    with_parameters = {str(number) for number in lost if study.trials[number].params}
    assert all(with_parameters <= set(receipt.pending) for receipt in later)
    assert_no_configuration_is_repeated(study)
    assert_rebuilt_exactly(study, 8)
    assert_explained_on_the_command_line(url, study)


def test_the_example_compares_one_thread_with_four(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}?timeout=60"
    printed = run("cluster_threads.py", "--trials", "6", "--storage", url)
    assert "6 trials, 1 at a time: " in printed
    assert "6 trials, 4 at a time: " in printed
    assert "Which configuration is best? Use C=" in printed
    assert_nothing_is_lost(load(url, "4 at a time"), 6)
