"""Which lists rankers learn from, and the units of their losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare, rankdata

from pellucid.models.ranking.training import Lists, PastTask, Recipe, shifted, standardised

# ----------------------------------------------------------------------------------------------- lists


def labelled(sizes: list[int]) -> list[PastTask]:
    """Tasks whose features are (1 + task, 1 + configuration), and whose y follow from both: all can be recognised."""
    tasks = []
    for t, n in enumerate(sizes):
        ids = np.arange(1.0, n + 1.0)
        tasks.append(PastTask(f"{t}", np.stack([np.full(n, t + 1.0), ids], axis=1), np.sin(ids + t)))
    return tasks


SIZES = [4, 5, 6, 9, 20, 21, 24, 150, 151, 400]


@pytest.mark.parametrize("context", [True, False])
def test_lists_are_drawn_from_one_task_without_replacement_and_support_is_no_query(context: bool) -> None:
    tasks = labelled(SIZES)
    lists = Lists(tasks, Recipe(list_size=60), context, np.random.default_rng(0))
    supports = set()
    for _ in range(150):
        batch = lists.draw(8)
        assert (batch.support is not None) == context
        shown = batch.query[:, :, :0] if batch.support is None else batch.support[..., :2]
        supports.add(shown.shape[2])
        assert batch.query.shape[2] <= 60
        for query, support, y in zip(batch.query[0], shown[0], batch.y[0], strict=True):
            rows = torch.cat([query, support]).numpy()
            assert len(set(rows[:, 0])) == 1
            task = tasks[round(float(rows[0, 0])) - 1]
            chosen = rows[:, 1].round().astype(int) - 1
            assert len(set(chosen.tolist())) == len(chosen)
            # Padding is not a configuration: all are of the task, with their own y, in its order.
            assert chosen.min() >= 0
            assert chosen.max() < len(task.y)
            expected = shifted(task.y)[chosen[: len(query)]]
            assert y.numpy() == pytest.approx(expected, abs=1e-6)
    assert (supports == {0}) != context
    # Half of a list at most.
    assert max(supports) <= 30


def test_losses_shown_to_the_deep_set_are_standardised_within_the_support() -> None:
    (task,) = labelled([30])
    lists = Lists([task], Recipe(list_size=30), True, np.random.default_rng(0))
    for _ in range(20):
        support = lists.draw(1).support
        assert support is not None
        shown = support[0, 0].numpy()
        if len(shown) > 1:
            y = task.y[shown[:, 1].round().astype(int) - 1]
            assert shown[:, 2] == pytest.approx((y - y.mean()) / y.std(), abs=1e-4)
        else:
            assert (shown[:, 2:] == 0.0).all()


def test_tasks_of_any_size_are_equally_likely() -> None:
    lists = Lists(labelled(SIZES), Recipe(list_size=60), False, np.random.default_rng(1))
    counts = np.zeros(len(SIZES))
    for _ in range(3000):
        counts[round(float(lists.draw(1).query[0, 0, 0, 0])) - 1] += 1
    assert chisquare(counts).pvalue > 1e-4


def test_configurations_of_a_task_are_equally_likely() -> None:
    lists = Lists(labelled([24, 30]), Recipe(list_size=24), False, np.random.default_rng(2))
    counts = np.zeros(30)
    for _ in range(300):
        drawn = lists.draw(8).query[0].reshape(-1, 2).numpy()
        counts += np.bincount(drawn[drawn[:, 0] == 2.0, 1].round().astype(int) - 1, minlength=30)
    assert chisquare(counts).pvalue > 1e-4


def test_the_same_stream_draws_the_same_lists() -> None:
    first, again = (Lists(labelled(SIZES), Recipe(), True, np.random.default_rng(3)) for _ in range(2))
    for _ in range(5):
        assert torch.equal(first.draw(4).query, again.draw(4).query)


# ----------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_standardised(dtype: torch.dtype) -> None:
    y = torch.tensor([[1.0, 2.0, 4.0, 9.0]], dtype=dtype)
    expected = (y - y.mean()) / y.std(unbiased=False)
    assert torch.allclose(standardised(y), expected)
    assert torch.allclose(standardised(1000.0 * y + 5.0), expected, atol=1e-5)
    assert torch.allclose(standardised(y + 1000.0), expected, atol=1e-4)
    for constant in (0.0, 7.1, -1e6, 1e20, 1e-20):
        assert torch.equal(standardised(torch.full((2, 5), constant, dtype=dtype)), torch.zeros(2, 5, dtype=dtype))
    assert torch.equal(standardised(torch.tensor([[3.0]], dtype=dtype)), torch.zeros(1, 1, dtype=dtype))
    assert standardised(torch.empty(2, 0, dtype=dtype)).shape == (2, 0)
    # If an offset leaves no digits for the differences, rounding noise is not scaled up to differences.
    assert torch.isfinite(standardised(y + 1e9)).all()


def test_lists_are_standardised_one_by_one() -> None:
    y = torch.tensor([[1.0, 2.0, 3.0], [10.0, 10.0, 10.0], [1e6, 0.0, -1e6]])
    rows = standardised(y)
    for row, values in zip(rows, y, strict=True):
        assert torch.allclose(row, standardised(values[None])[0])


@pytest.mark.parametrize(
    "y",
    [
        [1.0, 2.0, 3.0],
        [1e12, 1e12 + 1.0, 1e12 + 3.0],
        [1e306] * 300 + [-1e306],
        [1.7e308, -1.7e308, 0.0],
        [1e300, 1e-300, -1e-300],
        [0.0, 5e-324, 1e-323],
        [4.0, 4.0],
        [0.0, 0.0],
        [1e308],
    ],
    ids=str,
)
def test_shifted_keeps_differences(y: list[float]) -> None:
    moved = shifted(np.array(y))
    assert np.isfinite(moved).all()
    assert np.abs(moved).max() <= 1.0
    assert moved.max() - moved.min() == pytest.approx(float(len(set(y)) > 1))
    assert rankdata(moved, method="max")[np.argsort(y)[-1]] == len(y)
    assert moved.mean() == pytest.approx(0.0, abs=1e-12)


def test_shifted_does_not_round_differences_that_an_offset_hides() -> None:
    assert shifted(np.array([1e12, 1e12 + 1, 1e12 + 4])) == pytest.approx(shifted(np.array([0.0, 1.0, 4.0])), abs=1e-12)
