"""Searches over tables, and the tables of the transfer benchmark against their published check values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from optuna.distributions import FloatDistribution

from pellucid.cli.errors import Mistake, Unavailable
from pellucid.numerics import Array
from pellucid.study.encoding import Space
from pellucid_lab.papers.ranking.transfer import GaussianProcessEI, Method, RandomOrder, Runs, search
from pellucid_lab.problems import tabular, yahpo
from pellucid_lab.problems.tabular import Indices, Task

SPACE = Space.of({name: FloatDistribution(0.0, 1.0) for name in ("a", "b")})


def has_splits() -> bool:
    root = yahpo.data_folder(None)
    return root is not None and (root / "meta" / "splits.json").is_file()


needs_data = pytest.mark.skipif(
    not has_splits(), reason="no transfer data: set PELLUCID_DATA to a folder with meta/splits.json and yahpo"
)


def table(name: str, size: int, seed: int) -> Task:
    X = np.random.default_rng(seed).random((size, 2))
    return Task(name, X, 1.0 - ((X - 0.4) ** 2).sum(axis=1))


def starts(size: int, seeds: int, n_init: int = 3) -> Indices:
    rng = np.random.default_rng(size)
    return np.stack([rng.choice(size, n_init, replace=False) for _ in range(seeds)])


@dataclass
class Watched:
    """Says of every configuration what `says` says, and keeps what it was shown."""

    says: float = 0.0
    seen: list[tuple[Runs, Indices, Array]] = field(default_factory=list)

    def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
        self.seen.append((runs, chosen.copy(), y.copy()))
        return np.full((len(chosen), runs.X.shape[1]), self.says)


@pytest.mark.parametrize(
    "method", [RandomOrder(), GaussianProcessEI(), Watched(0.0), Watched(-np.inf), Watched(np.inf)], ids=repr
)
def test_no_configuration_is_looked_up_twice(method: Method) -> None:
    tasks = [table("t", 15, 0), table("u", 15, 1)]
    found = search(method, SPACE, tasks, [starts(15, 2), starts(15, 3)], 8)
    assert [one.shape for one in found] == [(2, 11), (3, 11)]
    for one in found:
        assert all(len(set(row)) == 11 for row in one.tolist())


def test_tables_of_different_sizes_come_back_in_their_order_with_their_starts() -> None:
    tasks = [table("large", 30, 0), table("small", 12, 1), table("also large", 30, 2)]
    begin = [starts(30, 2), starts(12, 3), starts(30, 1)]
    found = search(RandomOrder(), SPACE, tasks, begin, 5)
    assert [one.shape for one in found] == [(2, 8), (3, 8), (1, 8)]
    for task, first, chosen in zip(tasks, begin, found, strict=True):
        np.testing.assert_array_equal(chosen[:, :3], first)
        assert chosen.max() < len(task.y)


def test_more_steps_than_configurations_end_with_the_table() -> None:
    tasks = [table("small", 9, 0), table("large", 40, 1)]
    calls = []
    found = search(RandomOrder(), SPACE, tasks, [starts(9, 2), starts(40, 2)], 20, lambda: calls.append(1))
    assert [one.shape for one in found] == [(2, 9), (2, 23)]
    assert all(sorted(row) == list(range(9)) for row in found[0].tolist())
    np.testing.assert_array_equal(tasks[0].regret(found[0][0])[-1], 0.0)
    assert len(calls) == 6 + 20


def test_a_method_sees_what_was_chosen_and_nothing_else() -> None:
    tasks = [table("t", 12, 0), table("u", 12, 1)]
    method = Watched()
    found = search(method, SPACE, tasks, [starts(12, 2), starts(12, 1)], 4)
    owner = [0, 0, 1]
    final = np.concatenate(found)
    assert [chosen.shape[1] for _, chosen, _ in method.seen] == [3, 4, 5, 6]
    for runs, chosen, y in method.seen:
        assert set(vars(runs)) <= {"space", "X", "owner", "seeds"}
        assert runs.owner.tolist() == owner
        assert runs.seeds == (0, 1, 0)
        np.testing.assert_array_equal(chosen, final[:, : chosen.shape[1]])
        for g, row in enumerate(chosen):
            np.testing.assert_array_equal(y[g], tasks[owner[g]].y[row])
            np.testing.assert_array_equal(runs.seen(chosen)[g], tasks[owner[g]].X[row])


def test_the_largest_pending_utility_comes_next() -> None:
    @dataclass(frozen=True)
    class Fixed:
        def __call__(self, runs: Runs, chosen: Indices, y: Array) -> Array:
            return np.tile(np.arange(runs.X.shape[1], dtype=float), (len(chosen), 1))

    (found,) = search(Fixed(), SPACE, [table("t", 8, 0)], [np.array([[7, 5]])], 3)
    assert found.tolist() == [[7, 5, 6, 4, 3]]


def test_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="has to give every configuration a number, but it gave NaN"):
        search(Watched(np.nan), SPACE, [table("t", 8, 0)], [starts(8, 1)], 1)


def test_a_model_beats_a_random_order_and_runs_do_not_depend_on_company() -> None:
    tasks, begin = [table("t", 60, 0), table("u", 60, 1)], [starts(60, 2), starts(60, 2)]
    together = search(GaussianProcessEI(), SPACE, tasks, begin, 8)
    alone = search(GaussianProcessEI(), SPACE, tasks[1:], begin[1:], 8)
    np.testing.assert_array_equal(together[1], alone[0])
    random = search(RandomOrder(), SPACE, tasks, begin, 8)
    ends = [
        np.mean([task.regret(row)[-1] for task, rows in zip(tasks, found, strict=True) for row in rows])
        for found in (together, random)
    ]
    assert ends[0] < ends[1]


def test_every_run_has_a_random_order_of_its_own() -> None:
    (found,) = search(RandomOrder(), SPACE, [table("t", 30, 0)], [np.array([[0, 1], [0, 1]])], 10)
    assert found[0].tolist() != found[1].tolist()
    (other,) = search(RandomOrder(1), SPACE, [table("t", 30, 0)], [np.array([[0, 1], [0, 1]])], 10)
    assert found.tolist() != other.tolist()


def test_regret_is_that_of_a_loop_and_zero_where_all_are_equal() -> None:
    task = table("t", 20, 3)
    chosen = np.array([4, 9, 1, 17])
    top, low = max(task.y), min(task.y)
    expected = [(top - max(task.y[chosen[: k + 1]])) / (top - low) for k in range(4)]
    np.testing.assert_allclose(task.regret(chosen), expected)
    flat = Task("flat", np.zeros((3, 1)), np.full(3, 0.7))
    assert flat.regret(np.array([2, 0])).tolist() == [0.0, 0.0]


# ---------------------------------------------------------------------- the tables of the transfer benchmark


def test_missing_splits_are_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"needs meta/splits.json under .*pass --data DIR"):
        tabular.read_splits(str(tmp_path))


@needs_data
def test_an_unknown_collection_is_refused() -> None:
    with pytest.raises(Mistake, match="There is no collection `cifar`; take one of lcbench"):
        tabular.tabular("cifar", None)


@needs_data
@pytest.mark.parametrize(("name", "parts"), [("lcbench", (22, 5, 7)), ("rbv2_xgboost", (58, 13, 20))])
def test_collections_have_the_published_sizes_and_starts(name: str, parts: tuple[int, int, int]) -> None:
    pytest.importorskip("onnxruntime")
    one, splits = tabular.tabular(name, None), tabular.read_splits(None)
    assert (len(one.train), len(one.validation), len(one.test)) == parts
    names = [task.name for task in (*one.train, *one.validation, *one.test)]
    assert len(set(names)) == sum(parts)
    assert one.steps == splits["steps"] == 50
    for task in (*one.train, *one.validation, *one.test):
        assert task.X.shape == (2000, len(one.space))
        assert 0.0 <= task.X.min() <= task.X.max() <= 1.0
        assert np.isfinite(task.y).all()
    listed = yahpo.load_surrogate(yahpo.SCENARIOS[name], None).tasks
    for task in one.test:
        np.testing.assert_array_equal(one.seeds[task.name], splits[name]["init"][task.name])
        # How the file's starts were drawn says that tasks are counted in the list of all of them.
        streams = [np.random.default_rng([splits["seed"], 1, listed.index(task.name), seed]) for seed in range(5)]
        np.testing.assert_array_equal([rng.choice(2000, 5, replace=False) for rng in streams], one.seeds[task.name])
    for task in one.validation:
        assert one.seeds[task.name].shape == (5, 5)


@needs_data
def test_a_row_of_a_table_is_what_the_surrogate_says_of_that_configuration() -> None:
    """Against the single evaluation, whose check values are tested with the problems."""
    pytest.importorskip("onnxruntime")
    for name in ("lcbench", "rbv2_xgboost"):
        one, scenario = tabular.tabular(name, None), yahpo.SCENARIOS[name]
        surrogate, target = yahpo.load_surrogate(scenario, None), tabular.read_splits(None)[name]["target"]
        task = one.test[0]
        decoded = {d.name: d.decode(task.X[:, j]) for j, d in enumerate(one.space.dimensions)}
        active = one.space.active(task.X)
        for row in range(20):
            params = {scenario.task: task.name, **dict(scenario.fidelity)}
            params |= {d: decoded[d][row] for j, d in enumerate(one.space.names) if active[row, j]}
            assert surrogate.predict(params)[target] == pytest.approx(task.y[row], rel=1e-4)


@needs_data
def test_random_search_has_the_published_regret() -> None:
    """.177 after 10 steps and .109 after 50: another random order over 35 runs comes within 0.04."""
    pytest.importorskip("onnxruntime")
    one = tabular.tabular("lcbench", None)
    found = search(RandomOrder(), one.space, one.test, [one.seeds[task.name] for task in one.test], one.steps)
    regret = np.array([task.regret(row)[5:] for task, rows in zip(one.test, found, strict=True) for row in rows])
    assert regret[:, [9, 49]].mean(axis=0) == pytest.approx([0.177, 0.109], abs=0.04)


@needs_data
@pytest.mark.slow
def test_the_tasks_that_are_left_out_are_those_that_are_saturated_in_these_tables() -> None:
    """splits.json does not say how configurations are drawn. Drawn in this way, the tasks that it leaves out are those
    where at least 1 % of the configurations come within 0.001 of the range of the best."""
    pytest.importorskip("onnxruntime")
    splits = tabular.read_splits(None)
    surrogate = yahpo.load_surrogate(yahpo.RBV2_XGBOOST, None)
    space, saturated = tabular.space_of(surrogate), []
    for index, name in enumerate(surrogate.tasks):
        drawn = tabular.drawn(surrogate, splits["N"], [splits["seed"], index])
        task = tabular.table(surrogate, space, name, "acc", drawn)
        within = (task.y.max() - task.y) / (task.y.max() - task.y.min()) <= 0.001
        if within.mean() >= 0.01:
            saturated.append(name)
    assert saturated == splits["rbv2_xgboost"]["dropped_saturated"]
