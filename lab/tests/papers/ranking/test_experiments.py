"""The experiments of the ranking surrogate on a small transfer benchmark that is made of the real one's surrogate."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.tests.helpers import call, needs_splits

from pellucid_lab.base import stable_seed
from pellucid_lab.papers.ranking import report as transfer_report
from pellucid_lab.papers.ranking.transfer import TableRuns, search
from pellucid_lab.problems import tabular, yahpo
from pellucid_lab.problems.data import data_folder

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from pellucid.models.ranking import ensemble
from pellucid.models.ranking.ensemble import RankingEnsemble
from pellucid.models.ranking.training import Recipe
from pellucid_lab.papers.ranking.baselines import StaticForest
from pellucid_lab.papers.ranking.experiments import (
    EXPERIMENTS,
    METHODS,
    OTHER_DRAWS,
    TransferRun,
    TransferTask,
    regrets_of,
    run_transfer_task,
)
from pellucid_lab.papers.ranking.ranking import Ranking, meta_trained
from pellucid_lab.papers.ranking.reference import WatchedRanking, reference_grid
from pellucid_lab.papers.ranking.samplers import SAMPLERS, against_best_known, tune

pytestmark = needs_splits
STEPS, SIZE, TEST = 2, 40, ("3945", "7593")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """lcbench with five tasks, 40 configurations each, and two steps."""
    root, published = tmp_path_factory.mktemp("data"), data_folder(None)
    assert published is not None
    (root / "yahpo").symlink_to((published / "yahpo").resolve())
    (root / "meta").mkdir()
    init = {task: [[0, 1, 2], [3, 4, 5]] for task in TEST}
    parts = {"train": ["34539", "126025"], "validation": ["146212"], "test": list(TEST)}
    collection: dict[str, Any] = {"target": "val_balanced_accuracy", **parts, "init": init}
    splits = {"seed": 1, "N": SIZE, "steps": STEPS, "n_init": 3, "n_seeds": 2, "lcbench": collection}
    (root / "meta" / "splits.json").write_text(json.dumps(splits))
    return str(root)


def test_other_draws_have_other_configurations_of_the_same_tasks(data: str) -> None:
    first, other, again = (tabular.tabular("lcbench", data, draw) for draw in (0, 1, 1))
    assert [task.name for task in first.test] == [task.name for task in other.test]
    for table, other_table, same_table in zip(first.test, other.test, again.test, strict=True):
        assert not np.isin(table.X, other_table.X).all(axis=1).any()
        np.testing.assert_array_equal(other_table.X, same_table.X)
        np.testing.assert_array_equal(first.seeds[table.name], other.seeds[other_table.name])


def test_a_static_forest_has_one_order_per_table_that_it_did_not_learn_from(data: str) -> None:
    collection = tabular.tabular("lcbench", data)
    forest = StaticForest.learned(collection.space, collection.train)
    runs = TableRuns(collection.space, np.stack([task.X for task in collection.test]), np.array([0, 0, 1]), (0, 1, 0))
    chosen = np.array([[0, 1], [2, 3], [4, 5]])
    utility = forest(runs, chosen, np.zeros((3, 2)))
    assert utility.shape == (3, SIZE)
    np.testing.assert_array_equal(utility[0], utility[1])
    np.testing.assert_array_equal(utility, forest(runs, chosen[:, ::-1], np.ones((3, 2))))
    for task, scores in zip(collection.test, utility[1:], strict=True):
        assert np.corrcoef(scores, task.y)[0, 1] > 0.3
    others = TableRuns(collection.space, runs.X[::-1], runs.owner, runs.seeds)
    np.testing.assert_array_equal(forest(others, chosen, np.zeros((3, 2)))[2], utility[0])


@pytest.mark.parametrize("draw", [0, 3])
def test_a_job_runs_a_method_on_every_test_task(data: str, draw: int) -> None:
    run = run_transfer_task(TransferTask("lcbench", "static forest", 1, data, draw))
    assert run.key == ("lcbench", "static forest", 1, draw)
    assert np.array(run.regret).shape == (len(TEST), STEPS)
    collection = tabular.tabular("lcbench", data, draw)
    method = METHODS["static forest"](collection, 1)
    chosen = search(
        method, collection.space, collection.test, [collection.seeds[task.name][1:] for task in collection.test], STEPS
    )
    for task, rows, regret in zip(collection.test, chosen, run.regret, strict=True):
        np.testing.assert_allclose(regret, task.regret(rows[0])[3:])


def test_experiments_name_methods_that_exist_and_all_methods_are_used() -> None:
    assert {method for methods in EXPERIMENTS.values() for method in methods} == {*METHODS, *SAMPLERS}


def test_a_sampler_proposes_in_the_space_and_its_regret_is_relative_to_the_table(data: str) -> None:
    import optuna

    collection = tabular.tabular("lcbench", data)
    regrets, _, _ = tune("RandomSampler", collection, 3, data, trials=4)
    assert np.array(regrets).shape == (len(TEST), 4)
    for task, regret in zip(collection.test, regrets, strict=True):
        problem = yahpo.yahpo(yahpo.LCBENCH, task.name, data)
        sampler = optuna.samplers.RandomSampler(seed=stable_seed("transfer", "lcbench", task.name, 3))
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(lambda trial, problem=problem: problem.evaluate(problem.suggest(trial)), n_trials=4)
        reached = [max(trial.value for trial in study.trials[: k + 1]) for k in range(4)]
        np.testing.assert_allclose(regret, (task.y.max() - reached) / np.ptp(task.y))
    job = run_transfer_task(TransferTask("lcbench", "RandomSampler", 3, data))
    np.testing.assert_array_equal(np.array(job.regret)[:, :4], regrets)


def test_a_sampler_that_learns_has_a_model_of_the_other_tasks(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = partial(RankingEnsemble, recipe=Recipe(steps=20))
    monkeypatch.setattr(ensemble, "RankingEnsemble", quick)
    collection = tabular.tabular("lcbench", data)
    regrets, _, _ = tune("RankingSampler", collection, 0, data, trials=3)
    assert np.array(regrets).shape == (len(TEST), 3)
    assert tune("RankingSampler", collection, 0, data, trials=3)[0] == regrets
    assert tune("RankingSampler", collection, 1, data, trials=3)[0] != regrets


def test_regret_of_samplers_is_relative_to_the_best_known_value() -> None:
    a, b = np.array([[0.5, -1.0], [0.3, 0.2]]), np.array([[0.0, -0.5], [0.6, 0.0]])
    regrets = against_best_known(transfer_report.Regrets({"a": a, "b": b}, ("t", "u"), ("s",) * 2))
    # Of t, a table from 0 to 1 and a run that reached 2; of u, nothing is better than the table's best.
    np.testing.assert_allclose(regrets.by_method["a"], [[1.5 / 2, 0.0], [0.3, 0.2]])
    np.testing.assert_allclose(regrets.by_method["b"], [[1.0 / 2, 0.5 / 2], [0.6, 0.0]])


def test_runs_of_other_draws_are_side_by_side_and_of_one_task() -> None:
    runs = [
        TransferRun("lcbench", method, seed, ([float(draw), seed],), 0.0, 0.0, (), draw)
        for method in EXPERIMENTS["other-draws"]
        for seed in (1, 0)
        for draw in (0, *OTHER_DRAWS)
    ]
    regrets = regrets_of("lcbench", "other-draws", runs, ["t"])
    expected = [[draw, seed] for draw in OTHER_DRAWS for seed in (0, 1)]
    for method in EXPERIMENTS["other-draws"]:
        np.testing.assert_array_equal(regrets.by_method[method], expected)
    assert set(regrets.tasks) == {"t"}


def test_regret_by_task_is_the_mean_over_its_runs() -> None:
    regret = np.array([[0.5, 0.2], [0.4, 0.0], [0.1, 0.1]])
    regrets = transfer_report.Regrets({"a": regret}, ("t", "t", "u"), ("s",) * 3)
    grid = transfer_report.task_grid(regrets, 1)
    assert grid.rows == (("t", "0.450 / 0.100"), ("u", "0.100 / 0.100"))
    assert grid.title == "Mean regret by task, after 1 step / 2 steps"


def test_ranks_of_the_references_are_those_of_the_scores(data: str) -> None:
    """Against the definition, from the scores of the same ranking; and watching does not change a search."""
    collection = tabular.tabular("lcbench", data)
    model = meta_trained(RankingEnsemble(collection.space, members=3, recipe=Recipe(steps=20)), collection, 0)
    watched, starts = WatchedRanking(Ranking(model)), [collection.seeds[task.name] for task in collection.test]
    chosen = search(watched, collection.space, collection.test, starts, STEPS)
    for rows, expected in zip(
        chosen, search(Ranking(model), collection.space, collection.test, starts, STEPS), strict=True
    ):
        np.testing.assert_array_equal(rows, expected)
    runs = TableRuns(
        collection.space, np.stack([task.X for task in collection.test]), np.array([0, 0, 1, 1]), (0, 1, 0, 1)
    )
    first = np.concatenate(starts)
    y = np.stack([collection.test[t].y[row] for t, row in zip(runs.owner, first, strict=True)])
    ranks = (-Ranking(model).scores(runs, first, y)).argsort(axis=2).argsort(axis=2) + 1.0
    for g in range(4):
        best, mean = first[g, y[g].argmax()], ranks[g].mean(axis=0)
        pending = [i for i in range(SIZE) if i not in first[g]]
        assert watched.incumbent[0].place[g] == pytest.approx(mean[best] / SIZE)
        assert watched.incumbent[0].before[g] == pytest.approx(np.mean(mean[pending] < mean[best]))
        assert watched.last[0].place[g] == pytest.approx(mean[first[g, -1]] / SIZE)
        assert watched.last[0].spread[g] == pytest.approx(ranks[g][:, first[g, -1]].std() / SIZE)
    grid = reference_grid(Ranking(model), collection)
    assert [row[:2] for row in grid.rows] == [("the incumbent", "1–2"), ("the last one", "1–2")]


def test_the_command_runs_missing_tasks_and_writes_a_page(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = ("random", "GP", "static forest", "ListNet, alone", "RankNet, alone", "subset regression, alone")
    monkeypatch.setitem(EXPERIMENTS, "losses-alone", quick)
    options = ["--collection", "lcbench", "--seeds", "1", "--data", data, "--out", str(tmp_path), "--jobs", "1"]
    command = ["reproduce", "ranking", "--experiment", "losses-alone", "--no-figures", *options]
    first = call(*command)
    assert first.exit_code == 0, first.output
    runs = (tmp_path / "lcbench.jsonl").read_text()
    assert len(runs.splitlines()) == len(EXPERIMENTS["losses-alone"])
    page = (tmp_path / "lcbench.md").read_text()
    assert "## lcbench, losses-alone: mean regret after … steps, 2 runs of 2 tasks" in page
    assert all(f"| {method} |" in page for method in EXPERIMENTS["losses-alone"])
    again = call(*command)
    assert "6 of 6 runs are already in" in again.output
    assert (tmp_path / "lcbench.jsonl").read_text() == runs


def test_an_unknown_experiment_is_refused() -> None:
    result = call("reproduce", "ranking", "--experiment", "colours")
    assert result.exit_code != 0
    assert "--experiment is one of comparison, other-draws, losses" in result.output.replace("\n", " ")
