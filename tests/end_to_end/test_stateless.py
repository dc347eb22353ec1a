"""A proposal depends on storage and seed, not on the process: resuming is continuing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import optuna
import pytest
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import TrialState
from tests.helpers import (
    OBJECTIVES,
    STUDY,
    assert_rebuilt_exactly,
    finish,
    kinds,
    new_study,
    shared_folder,
    start_worker,
    states,
)

import pellucid

N = 30
STARTUP = 5


@dataclass(frozen=True)
class Runs:
    """The same 30 trials: by one process, by two processes in a row, and by this process in memory."""

    whole: Study
    halves: Study
    in_memory: Study


def load(url: str) -> Study:
    return optuna.load_study(study_name=STUDY, storage=url)


def params(study: Study) -> list[dict[str, object]]:
    return [trial.params for trial in study.trials]


@pytest.fixture(scope="module", params=["bowl", "conditional"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    objective = request.param
    options = ("--seed", "7", "--startup", str(STARTUP))
    with shared_folder(tmp_path_factory, f"stateless-{objective}") as (folder, is_new):
        whole, halves = f"sqlite:///{folder / 'whole.db'}", f"sqlite:///{folder / 'halves.db'}"
        if is_new:
            in_one_go = start_worker(whole, objective, N, *options)
            finish(start_worker(halves, objective, N // 2, *options))
            assert len(load(halves).trials) == N // 2
            finish(start_worker(halves, objective, N - N // 2, *options))
            finish(in_one_go)
    in_memory = new_study(seed=7, n_startup_trials=STARTUP)
    in_memory.optimize(OBJECTIVES[objective], n_trials=N)
    return Runs(load(whole), load(halves), in_memory)


def test_thirty_trials_equal_fifteen_and_fifteen_more_in_a_new_process(runs: Runs) -> None:
    assert states(runs.whole) == states(runs.halves) == [TrialState.COMPLETE] * N
    assert params(runs.halves) == params(runs.whole)


def test_a_resumed_study_has_the_same_receipts(runs: Runs) -> None:
    resumed = pellucid.receipts(runs.halves)
    assert len(resumed) == N
    assert resumed == pellucid.receipts(runs.whole)


def test_the_same_seed_gives_the_same_trials_in_two_fresh_processes(runs: Runs) -> None:
    worker, other_worker = (
        {t.user_attrs["worker"] for t in study.trials[: N // 2]} for study in (runs.whole, runs.halves)
    )
    assert len(worker) == len(other_worker) == 1
    assert worker != other_worker
    assert params(runs.whole)[: N // 2] == params(runs.halves)[: N // 2]


def test_an_in_memory_study_in_this_process_gets_what_a_stored_one_gets_in_another(runs: Runs) -> None:
    assert params(runs.in_memory) == params(runs.whole)


def test_the_model_proposes_everything_after_the_startup_trials(runs: Runs) -> None:
    kind_by_trial = kinds(runs.whole)
    assert sorted(kind_by_trial) == list(range(N))
    assert {i: kind_by_trial[i] for i in range(STARTUP, N)} == dict.fromkeys(range(STARTUP, N), "model")
    assert "fallback" not in kind_by_trial.values()


def test_rebuild_is_exact_in_another_process_than_the_one_that_proposed(runs: Runs) -> None:
    assert_rebuilt_exactly(runs.halves, N - STARTUP)


def test_rebuild_is_exact_in_the_process_that_proposed(runs: Runs) -> None:
    assert_rebuilt_exactly(runs.in_memory, N - STARTUP)


def test_the_receipt_holds_the_parameters_that_the_trial_got(runs: Runs) -> None:
    proposed = {r.trial: r.params for r in pellucid.receipts(runs.whole) if r.kind == "model"}
    # Until a condition is inferred, a proposal may hold a child that the objective then does not suggest.
    suggested = {i: runs.whole.trials[i].params for i in proposed}
    assert {i: {name: proposed[i].get(name) for name in suggested[i]} for i in proposed} == suggested


def test_rebuild_predicts_the_values_of_the_receipt_in_the_users_unit(runs: Runs) -> None:
    last = pellucid.receipts(runs.whole)[-1]
    mean, sd = pellucid.rebuild(runs.whole, N - 1).predict([last.params])
    assert mean[0] == pytest.approx(last.mean, rel=1e-9, abs=1e-9)
    assert sd[0] == pytest.approx(last.sd, rel=1e-9, abs=1e-9)


def storages(folder: Path) -> dict[str, BaseStorage]:
    return {
        "memory": InMemoryStorage(),
        "sqlite": RDBStorage(f"sqlite:///{folder / 'study.db'}"),
        "journal": JournalStorage(JournalFileBackend(str(folder / "study.log"))),
    }


@pytest.mark.parametrize("objective", ["bowl", "conditional"])
def test_the_kind_of_storage_does_not_change_a_proposal(tmp_path: Path, objective: str) -> None:
    configurations = {}
    for name, storage in storages(tmp_path).items():
        study = new_study(storage=storage, seed=3)
        study.optimize(OBJECTIVES[objective], n_trials=15)
        configurations[name] = params(study)
    assert len(configurations["memory"]) == 15
    assert configurations["sqlite"] == configurations["memory"]
    assert configurations["journal"] == configurations["memory"]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_rebuild_is_exact_on_every_kind_of_storage(tmp_path: Path, kind: str) -> None:
    study = new_study(storage=storages(tmp_path)[kind], seed=5)
    study.optimize(OBJECTIVES["conditional"], n_trials=12)
    assert_rebuilt_exactly(study, 9)


def test_another_seed_gives_other_trials() -> None:
    first, second = new_study(seed=1), new_study(seed=2)
    first.optimize(OBJECTIVES["bowl"], n_trials=6)
    second.optimize(OBJECTIVES["bowl"], n_trials=6)
    assert all(a != b for a, b in zip(params(first), params(second), strict=True))


def test_a_sampler_used_for_another_study_in_between_proposes_the_same() -> None:
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3)
    other = optuna.create_study(sampler=sampler)
    other.optimize(OBJECTIVES["conditional"], n_trials=6)
    study = optuna.create_study(sampler=sampler)
    for _ in range(8):
        study.optimize(OBJECTIVES["bowl"], n_trials=1)
        other.optimize(OBJECTIVES["conditional"], n_trials=1)
    alone = new_study()
    alone.optimize(OBJECTIVES["bowl"], n_trials=8)
    assert params(study) == params(alone)


@pytest.mark.parametrize("late", [False, True])
def test_a_model_fitted_without_a_diverged_loss_is_not_updated_with_it(late: bool) -> None:
    """Also if the loss is that of an old trial which ends after many newer ones."""
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0))
    slow = None
    for i in range(103):
        trial = study.ask()
        value = (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.6) ** 2
        if i == 5 and late:
            slow = trial
            continue
        study.tell(trial, value)
    if slow is None:
        slow = study.ask()
        slow.suggest_float("x", 0, 1), slow.suggest_float("y", 0, 1)
    study.tell(slow, 1e8)
    trial = study.ask()
    trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    receipt = pellucid.receipts(study)[-1]
    assert receipt.mean is not None
    assert receipt.mean > -1.0
