"""Workers share a study: nothing is lost, nothing is proposed twice, and a worker may die at any point."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.engines.checks import (
    STARTUP,
    assert_no_configuration_is_repeated,
    assert_nothing_is_lost,
    assert_receipts_where_expected,
    assert_workers_overlapped,
)
from tests.helpers import (
    RECEIPT_KEY,
    STUDY,
    assert_rebuilt_exactly,
    bowl,
    finish,
    kill_in_its_trial,
    kinds,
    messages,
    new_study,
    shared_folder,
    start_worker,
    states,
)

import pellucid


def load(url: str) -> Study:
    return optuna.load_study(study_name=STUDY, storage=url)


# ------------------------------------------------------------------------------------ several processes


@pytest.fixture(scope="module")
def two_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Study:
    with shared_folder(tmp_path_factory, "parallel") as (folder, is_new):
        url = f"sqlite:///{folder / 'study.db'}"
        if is_new:
            # The study exists before the workers do, so that they begin together.
            optuna.create_study(study_name=STUDY, storage=url)
            options = ("--together", "2", "--sleep", "0.03", "--startup", str(STARTUP), "--seed")
            finish(*(start_worker(url, "conditional", 25, *options, seed) for seed in ("1", "2")))
    return load(url)


def test_two_processes_on_sqlite_finish_fifty_trials(two_on_sqlite: Study) -> None:
    assert_nothing_is_lost(two_on_sqlite, 50)


def test_two_processes_on_sqlite_work_at_the_same_time(two_on_sqlite: Study) -> None:
    assert_workers_overlapped(two_on_sqlite, 2)


def test_two_processes_on_sqlite_repeat_no_configuration(two_on_sqlite: Study) -> None:
    assert_no_configuration_is_repeated(two_on_sqlite)


def test_two_processes_on_sqlite_leave_receipts_where_expected(two_on_sqlite: Study) -> None:
    assert_receipts_where_expected(two_on_sqlite)


def test_proposals_of_two_processes_are_rebuilt_exactly(two_on_sqlite: Study) -> None:
    assert_rebuilt_exactly(two_on_sqlite, 40)


# ----------------------------------------------------------------------------------- at the same moment


def test_a_running_trial_changes_what_is_proposed_next() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=6)
    space = study.trials[0].distributions
    first, second = study.ask(space), study.ask(space)
    receipts = {receipt.trial: receipt for receipt in pellucid.receipts(study)}
    assert list(receipts[second.number].pending) == [str(first.number)]
    distance = max(abs(first.params[name] - second.params[name]) for name in space)
    assert distance > 1e-3


class SlowToWrite(InMemoryStorage):
    """A storage that holds back the receipt of trial `slow` until it is released."""

    def __init__(self, slow: int) -> None:
        super().__init__()
        self.slow = slow
        self.reached, self.released = threading.Event(), threading.Event()

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        if key.startswith(RECEIPT_KEY) and self.get_trial(trial_id).number == self.slow:
            self.reached.set()
            assert self.released.wait(60)
        super().set_trial_system_attr(trial_id, key, value)


def test_two_workers_that_propose_at_the_same_moment_do_not_propose_the_same() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_int("n", 0, 9) ** 2 + trial.suggest_categorical("c", [0, 1])

    storage = SlowToWrite(slow=6)
    study = new_study(storage=storage, deterministic_objective=True)
    study.optimize(objective, n_trials=6)
    early, late = study.ask(), study.ask()
    worker = threading.Thread(target=objective, args=(early,))
    worker.start()
    assert storage.reached.wait(60)  # It has proposed, but the proposal is not visible yet.
    objective(late)
    storage.released.set()
    worker.join(60)
    assert {"fallback"}.isdisjoint(kinds(study).values())
    assert early.params != late.params


# ------------------------------------------------------------------------------------- killed processes

KILLED, N_KILLED = 12, 22


@pytest.fixture(scope="module")
def killed_in_a_trial(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Trial 12 hangs, its worker gets SIGKILL there, and another process takes the study to 22 trials."""
    with shared_folder(tmp_path_factory, "killed") as (folder, is_new):
        url, marker = f"sqlite:///{folder / 'study.db'}", folder / "hangs"
        if is_new:
            victim = start_worker(url, "bowl", N_KILLED, "--hang-at", str(KILLED), "--marker", str(marker))
            kill_in_its_trial(victim, marker)
            assert states(load(url)) == [TrialState.COMPLETE] * KILLED + [TrialState.RUNNING]
            finish(start_worker(url, "bowl", N_KILLED - KILLED - 1))
    return load(url)


def test_a_study_goes_on_after_a_worker_was_killed_in_a_trial(killed_in_a_trial: Study) -> None:
    expected = [TrialState.COMPLETE] * N_KILLED
    expected[KILLED] = TrialState.RUNNING
    assert states(killed_in_a_trial) == expected
    assert_receipts_where_expected(killed_in_a_trial)
    assert_no_configuration_is_repeated(killed_in_a_trial)


def test_proposals_after_the_kill_take_the_unfinished_trial_into_account(killed_in_a_trial: Study) -> None:
    later = [receipt for receipt in pellucid.receipts(killed_in_a_trial) if receipt.trial > KILLED]
    assert len(later) == N_KILLED - KILLED - 1
    assert {tuple(receipt.pending) for receipt in later} == {(str(KILLED),)}


def test_every_proposal_is_rebuilt_exactly_around_a_killed_worker(killed_in_a_trial: Study) -> None:
    assert_rebuilt_exactly(killed_in_a_trial, N_KILLED - STARTUP)


def test_a_study_goes_on_after_a_worker_was_killed_while_it_wrote_a_receipt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    victim = start_worker(url, "wide", 30, "--die-writing", str(KILLED))
    log = victim.ended()
    assert victim.returncode == -signal.SIGKILL, log
    assert states(load(url)) == [TrialState.COMPLETE] * KILLED + [TrialState.RUNNING]

    finish(start_worker(url, "wide", 7))
    study = load(url)
    assert states(study) == [TrialState.COMPLETE] * KILLED + [TrialState.RUNNING] + [TrialState.COMPLETE] * 7
    kind_by_trial = kinds(study)
    assert sorted(kind_by_trial) == [i for i in range(KILLED + 8) if i != KILLED]
    assert "fallback" not in kind_by_trial.values()
    assert any(f"Trial {KILLED}" in message for message in messages(caplog))
    assert_rebuilt_exactly(study, KILLED + 7 - STARTUP)


# ------------------------------------------------------------------------------------- learning curves


@pytest.fixture(scope="module")
def killed_in_a_curve(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Trial 9 has reported 6 of 20 steps when its worker gets SIGKILL; two others take the study to 26 trials."""
    with shared_folder(tmp_path_factory, "curve") as (folder, is_new):
        url, marker = f"sqlite:///{folder / 'study.db'}", folder / "hangs"
        if is_new:
            victim = start_worker(url, "training", 20, "--hang-at", "9", "--marker", str(marker))
            kill_in_its_trial(victim, marker)
            finish(*(start_worker(url, "training", 8, "--seed", seed) for seed in ("1", "2")))
    return load(url)


def test_a_study_goes_on_after_a_worker_was_killed_in_the_middle_of_a_curve(killed_in_a_curve: Study) -> None:
    ended = [trial for trial in killed_in_a_curve.trials if trial.number != 9]
    assert len(ended) == 25
    assert killed_in_a_curve.trials[9].state == TrialState.RUNNING
    assert list(killed_in_a_curve.trials[9].intermediate_values) == [1, 2, 3, 4, 5, 6]
    assert {trial.state for trial in ended} == {TrialState.COMPLETE, TrialState.PRUNED}
    assert "fallback" not in kinds(killed_in_a_curve).values()


def test_the_curve_of_a_killed_worker_is_an_observation_of_later_proposals(killed_in_a_curve: Study) -> None:
    later = [receipt for receipt in pellucid.receipts(killed_in_a_curve) if receipt.trial > 9]
    assert len(later) == 16
    assert all(receipt.curves is not None and "9" in receipt.curves.running for receipt in later)
    assert all("9" not in receipt.pending for receipt in later)


def test_proposals_of_two_processes_that_share_curves_are_rebuilt_exactly(killed_in_a_curve: Study) -> None:
    assert_rebuilt_exactly(killed_in_a_curve, 20)


def test_every_stop_of_two_processes_has_its_reason(killed_in_a_curve: Study) -> None:
    stopped = [trial for trial in killed_in_a_curve.trials if trial.state == TrialState.PRUNED]
    assert stopped
    for trial in stopped:
        assert trial.user_attrs["pellucid:pruned"].startswith("Stopped at step ")
        assert pellucid.explain_pruning(killed_in_a_curve, trial.number).source == "recorded"
