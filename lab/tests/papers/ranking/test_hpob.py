"""Runs on HPO-B: what a task searches, what a method may learn from, and which results other data invalidates."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.tests.helpers import hpob_content, write_hpob

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.papers.ranking import hpob as hpob_runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_hpob(hpob_content(), tmp_path / "data")


def test_a_task_is_a_search_from_the_published_starts(folder: Path) -> None:
    tasks = hpob_runs.plan(str(folder), ["4796"], ["random", "gp"], 40)
    assert [(task.method, task.task) for task in tasks] == [
        (m, t) for m in ("random", "gp") for t in ("23", "29", "54")
    ]
    runs = [hpob_runs.run_hpob_task(task) for task in tasks if task.method == "random"]
    again = hpob_runs.run_hpob_task(tasks[1])
    assert again.regret == runs[1].regret
    for run in runs:
        regret = np.array(run.regret)
        assert regret.shape == (5, 40)
        assert (np.diff(regret, axis=1) <= 0.0).all()
        np.testing.assert_array_equal(regret[:, -1], 0.0)  # 40 steps look up the whole table.


def test_a_method_may_learn_from_every_split_but_the_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def learner(collection: Any) -> Any:
        seen.append(collection)
        return hpob_runs.METHODS["random"](collection)

    monkeypatch.setattr(hpob_runs, "METHODS", {**hpob_runs.METHODS, "learner": learner})
    for task in hpob_runs.plan(str(folder), ["4796"], ["learner"], 3):
        hpob_runs.run_hpob_task(task)
    (collection,) = seen
    assert [task.name for task in (*collection.train, *collection.validation)] == ["3", "31", "37", "44"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that hardly learn."""
    pytest.importorskip("torch")
    from pellucid.study import earlier_studies
    from pellucid_lab.papers.ranking import baselines as transfer_baselines
    from pellucid_lab.papers.ranking.surrogates import deep_kernel

    meta = partial(deep_kernel.DeepKernelGP.meta_train, meta=deep_kernel.MetaSettings(steps=3))
    monkeypatch.setattr(deep_kernel.DeepKernelGP, "meta_train", staticmethod(meta))
    monkeypatch.setattr(transfer_baselines, "DeepEnsembleEI", partial(transfer_baselines.DeepEnsembleEI, epochs=3))
    monkeypatch.setattr(earlier_studies, "_FEWEST_STEPS", 3)
    monkeypatch.setattr(earlier_studies, "_STEPS_PER_TRIAL", 0)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("method", hpob_runs.METHODS)
def test_every_method_searches_from_the_published_starts(method: str, folder: Path) -> None:
    if method in hpob_runs.WITHOUT_TRANSFER:
        (folder / "meta-train-dataset.json").unlink()
    tasks = hpob_runs.plan(str(folder), ["5527"], [method], 2)
    runs = [hpob_runs.run_hpob_task(task) for task in tasks]
    for run in runs:
        regret = np.array(run.regret)
        assert regret.shape == (5, 2)
        assert ((regret >= 0.0) & (regret <= 1.0)).all()
    assert hpob_runs.regrets_of(tasks, runs).steps == 2


@pytest.mark.usefixtures("quick")
def test_tasks_without_an_order_are_not_learned_from(tmp_path: Path) -> None:
    files = hpob_content()
    tables = files["meta-train-dataset.json"]["5527"]
    tables["3"] = {"X": [[0.1, 0.2]], "y": [1.0]}
    (task, *_) = hpob_runs.plan(str(write_hpob(files, tmp_path / "some")), ["5527"], ["ranking"], 1)
    assert hpob_runs.run_hpob_task(task).regret
    tables["31"]["y"] = [0.5] * len(tables["31"]["X"])
    (task, *_) = hpob_runs.plan(str(write_hpob(files, tmp_path / "none")), ["5527"], ["ranking"], 1)
    with pytest.raises(Mistake, match=r"5527: learning needs a task .* leave `ranking` out of --methods"):
        hpob_runs.run_hpob_task(task)


def test_results_depend_on_other_tasks_only_where_those_are_learned_from(folder: Path) -> None:
    pytest.importorskip("torch")
    before = hpob_runs.plan(str(folder), ["5527"], ["gp", "ranking"], 2)
    files = hpob_content()
    files["meta-train-dataset.json"]["5527"]["3"]["y"][0] = [0.123]
    after = hpob_runs.plan(str(write_hpob(files, folder)), ["5527"], ["gp", "ranking"], 2)
    assert [a.key == b.key for a, b in zip(before, after, strict=True)] == [True, True, False, False]
    assert [task.key for task in hpob_runs.plan(str(folder), ["5527"], ["gp"], 2)] == [task.key for task in after[:2]]
