"""Searches on tables, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from optuna.distributions import FloatDistribution

from pellucid.numerics import Array
from pellucid.space.encoding import Space
from pellucid_lab.papers.ranking.transfer import GaussianProcessEI, RandomOrder, TableRuns, TransferMethod, search
from pellucid_lab.problems.tabular import Indices, TabularTask

SPACE = Space.of({name: FloatDistribution(0.0, 1.0) for name in ("a", "b")})


def table(name: str, size: int, seed: int) -> TabularTask:
    X = np.random.default_rng(seed).random((size, 2))
    return TabularTask(name, X, 1.0 - ((X - 0.4) ** 2).sum(axis=1))


def starts(size: int, seeds: int, n_init: int = 3) -> Indices:
    rng = np.random.default_rng(size)
    return np.stack([rng.choice(size, n_init, replace=False) for _ in range(seeds)])


@dataclass
class RecordedMethod:
    """Gives every configuration the same utility and records its inputs."""

    utility: float = 0.0
    seen: list[tuple[TableRuns, Indices, Array]] = field(default_factory=list)

    def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
        self.seen.append((runs, chosen.copy(), y.copy()))
        return np.full((len(chosen), runs.X.shape[1]), self.utility)


@pytest.mark.parametrize(
    "method",
    [RandomOrder(), GaussianProcessEI(), RecordedMethod(0.0), RecordedMethod(-np.inf), RecordedMethod(np.inf)],
    ids=repr,
)
def test_no_configuration_is_evaluated_twice(method: TransferMethod) -> None:
    tasks = [table("t", 15, 0), table("u", 15, 1)]
    chosen_by_task = search(method, SPACE, tasks, [starts(15, 2), starts(15, 3)], 8)
    assert [indices.shape for indices in chosen_by_task] == [(2, 11), (3, 11)]
    for indices in chosen_by_task:
        assert all(len(set(row)) == 11 for row in indices.tolist())


def test_tables_of_different_sizes_come_back_in_their_order_with_their_starts() -> None:
    tasks = [table("large", 30, 0), table("small", 12, 1), table("also large", 30, 2)]
    begin = [starts(30, 2), starts(12, 3), starts(30, 1)]
    chosen_by_task = search(RandomOrder(), SPACE, tasks, begin, 5)
    assert [indices.shape for indices in chosen_by_task] == [(2, 8), (3, 8), (1, 8)]
    for task, first, chosen in zip(tasks, begin, chosen_by_task, strict=True):
        np.testing.assert_array_equal(chosen[:, :3], first)
        assert chosen.max() < len(task.y)


def test_more_steps_than_configurations_end_with_the_table() -> None:
    tasks = [table("small", 9, 0), table("large", 40, 1)]
    calls = []
    chosen_by_task = search(RandomOrder(), SPACE, tasks, [starts(9, 2), starts(40, 2)], 20, lambda: calls.append(1))
    assert [indices.shape for indices in chosen_by_task] == [(2, 9), (2, 23)]
    assert all(sorted(row) == list(range(9)) for row in chosen_by_task[0].tolist())
    np.testing.assert_array_equal(tasks[0].regret(chosen_by_task[0][0])[-1], 0.0)
    assert len(calls) == 6 + 20


def test_a_method_sees_only_the_chosen_configurations() -> None:
    tasks = [table("t", 12, 0), table("u", 12, 1)]
    method = RecordedMethod()
    chosen_by_task = search(method, SPACE, tasks, [starts(12, 2), starts(12, 1)], 4)
    owner = [0, 0, 1]
    final = np.concatenate(chosen_by_task)
    assert [chosen.shape[1] for _, chosen, _ in method.seen] == [3, 4, 5, 6]
    for runs, chosen, y in method.seen:
        assert set(vars(runs)) <= {"space", "X", "owner", "seeds"}
        assert runs.owner.tolist() == owner
        assert runs.seeds == (0, 1, 0)
        np.testing.assert_array_equal(chosen, final[:, : chosen.shape[1]])
        for g, row in enumerate(chosen):
            np.testing.assert_array_equal(y[g], tasks[owner[g]].y[row])
            np.testing.assert_array_equal(runs.observed(chosen)[g], tasks[owner[g]].X[row])


def test_the_largest_pending_utility_comes_next() -> None:
    @dataclass(frozen=True)
    class Fixed:
        def __call__(self, runs: TableRuns, chosen: Indices, y: Array) -> Array:
            return np.tile(np.arange(runs.X.shape[1], dtype=float), (len(chosen), 1))

    (chosen_by_task,) = search(Fixed(), SPACE, [table("t", 8, 0)], [np.array([[7, 5]])], 3)
    assert chosen_by_task.tolist() == [[7, 5, 6, 4, 3]]


def test_a_utility_of_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="has to give every configuration a number, but it gave NaN"):
        search(RecordedMethod(np.nan), SPACE, [table("t", 8, 0)], [starts(8, 1)], 1)


def test_a_model_beats_a_random_order_and_runs_are_independent() -> None:
    tasks, begin = [table("t", 60, 0), table("u", 60, 1)], [starts(60, 2), starts(60, 2)]
    together = search(GaussianProcessEI(), SPACE, tasks, begin, 8)
    alone = search(GaussianProcessEI(), SPACE, tasks[1:], begin[1:], 8)
    np.testing.assert_array_equal(together[1], alone[0])
    random = search(RandomOrder(), SPACE, tasks, begin, 8)
    ends = [
        np.mean([task.regret(row)[-1] for task, rows in zip(tasks, chosen_by_task, strict=True) for row in rows])
        for chosen_by_task in (together, random)
    ]
    assert ends[0] < ends[1]


def test_every_run_has_a_random_order_of_its_own() -> None:
    (chosen_by_task,) = search(RandomOrder(), SPACE, [table("t", 30, 0)], [np.array([[0, 1], [0, 1]])], 10)
    assert chosen_by_task[0].tolist() != chosen_by_task[1].tolist()
    (other,) = search(RandomOrder(1), SPACE, [table("t", 30, 0)], [np.array([[0, 1], [0, 1]])], 10)
    assert chosen_by_task.tolist() != other.tolist()


def test_regret_is_that_of_a_loop_and_zero_where_all_are_equal() -> None:
    task = table("t", 20, 3)
    chosen = np.array([4, 9, 1, 17])
    top, low = max(task.y), min(task.y)
    expected = [(top - max(task.y[chosen[: k + 1]])) / (top - low) for k in range(4)]
    np.testing.assert_allclose(task.regret(chosen), expected)
    flat = TabularTask("flat", np.zeros((3, 1)), np.full(3, 0.7))
    assert flat.regret(np.array([2, 0])).tolist() == [0.0, 0.0]
