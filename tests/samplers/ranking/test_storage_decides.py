"""Proposals of the ranking sampler depend only on the storage, the seed and the model, also in parallel."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import TrialState
from tests.end_to_end.worker import storage_at
from tests.helpers import (
    STUDY,
    TASK,
    MakeRankingSampler,
    distinct,
    file_storage,
    finish,
    kinds,
    only_rankings,
    params,
    ranking_receipts,
    run,
    start_worker,
    states,
    task,
)

import pellucid
from pellucid.study.storage import kept_model

torch = pytest.importorskip("torch")


def test_resumed_from_a_file_in_two_samplers_is_the_same_as_at_once(
    study: Study, model_file: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        half = optuna.create_study(
            study_name="s",
            storage=file_storage(tmp_path / "study"),
            sampler=pellucid.RankingSampler(model=str(model_file), hand_over=20, seed=0),
            load_if_exists=True,
        )
        half.optimize(TASK, n_trials=12)
    assert params(half) == params(study)
    assert [r.to_dict() for r in pellucid.receipts(half)] == [r.to_dict() for r in pellucid.receipts(study)]


def test_another_process_goes_on_as_this_one_would(
    sampler: MakeRankingSampler, model_file: Path, tmp_path: Path
) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    stored = optuna.create_study(study_name=STUDY, storage=storage, sampler=sampler(hand_over=50))
    stored.optimize(TASK, n_trials=8)
    finish(start_worker(storage, "task", 2, "--model", str(model_file)))
    assert params(stored) == params(run(sampler(hand_over=50), 10))
    assert set(kinds(stored).values()) > {"ranking"}


def test_a_sampler_made_from_studies_is_the_one_that_its_file_makes(
    earlier: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pellucid.study import earlier_studies

    monkeypatch.setattr(
        earlier_studies, "RankingEnsemble", partial(earlier_studies.RankingEnsemble, members=2, width=8)
    )
    monkeypatch.setattr(earlier_studies, "steps_for", lambda _: 40)
    names = [f"earlier {i}" for i in range(5)]
    from_studies = pellucid.RankingSampler.from_studies(earlier._storage, names, seed=3, progress=False)
    from_studies.save(tmp_path / "a.ranker")
    loaded = pellucid.RankingSampler(model=tmp_path / "a.ranker", seed=3)
    loaded.save(tmp_path / "b.ranker")
    assert (tmp_path / "a.ranker").read_bytes() == (tmp_path / "b.ranker").read_bytes()
    first, second = run(from_studies, 10), run(loaded, 10)
    assert params(first) == params(second)
    assert [r.to_dict() for r in pellucid.receipts(first)] == [r.to_dict() for r in pellucid.receipts(second)]
    again = pellucid.RankingSampler.from_studies(earlier._storage, names, seed=3, progress=False)
    again.save(tmp_path / "c.ranker")
    assert (tmp_path / "a.ranker").read_bytes() == (tmp_path / "c.ranker").read_bytes()


def test_maximising_is_minimising_the_opposite(study: Study, sampler: MakeRankingSampler) -> None:
    mirrored = run(sampler(hand_over=20), 24, task(0.3, -1.0), "maximize")
    assert params(mirrored) == params(study)
    assert {receipt.direction for receipt in ranking_receipts(mirrored)} == {"maximize"}
    assert pellucid.receipts(mirrored)[19].best_value == -pellucid.receipts(study)[19].best_value


def test_another_unit_of_the_objective_changes_nothing(study: Study, sampler: MakeRankingSampler) -> None:
    other = run(sampler(hand_over=20), 20, lambda trial: 1024.0 * TASK(trial))
    assert params(other) == params(study)[:20]


def test_the_users_random_numbers_and_threads_of_torch_stay_as_they_are(sampler: MakeRankingSampler) -> None:
    before = torch.get_num_threads()
    torch.manual_seed(3)
    expected = torch.get_rng_state()
    try:
        torch.set_num_threads(2)
        run(sampler(), 10)
        run(sampler(model=None, fallback=pellucid.BayesianSampler(n_startup_trials=2)), 4)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), expected)
        run(sampler(), 12, n_jobs=4)
        assert torch.get_num_threads() == 2
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert seen == [2]
    finally:
        torch.set_num_threads(before)


# ---------------------------------------------------------------------------------------------- parallel work


def test_four_threads_propose_distinct_configurations(sampler: MakeRankingSampler, tmp_path: Path) -> None:
    for storage in (None, f"sqlite:///{tmp_path / 'study.db'}"):
        study = optuna.create_study(sampler=sampler(), storage=storage)
        study.optimize(TASK, n_trials=11, n_jobs=4)
        assert states(study) == [TrialState.COMPLETE] * 11
        assert distinct(study.trials) == 11
        assert only_rankings(study)


def test_two_processes_share_a_study(model_file: Path, ranker: Any, tmp_path: Path) -> None:
    """This process and another, which begin a study together."""
    storage = storage_at(f"sqlite:///{tmp_path / 'study.db'}")
    study = optuna.create_study(
        study_name=STUDY, storage=storage, sampler=pellucid.RankingSampler(model=ranker, seed=0)
    )
    worker = start_worker(
        f"sqlite:///{tmp_path / 'study.db'}", "task", 4, "--model", str(model_file), "--sleep", "0.05"
    )
    deadline = time.monotonic() + 120
    while not study.trials and worker.returncode is None and time.monotonic() < deadline:
        time.sleep(0.02)
    study.optimize(TASK, n_trials=4)
    [log] = finish(worker)
    assert states(study) == [TrialState.COMPLETE] * 8
    assert distinct(study.trials) == 8
    assert set(kinds(study).values()) <= {"ranking", "startup", "model"}
    assert kept_model(study, ranker.name) == ranker.data
    assert "could not be stored" not in log
