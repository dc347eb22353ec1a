"""Every ranking loss against its definition, at its limits, and with ties."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import rankdata
from torch import Tensor

from pellucid.models.ranking.losses import descending, list_mle, list_net, rank_net, ranks, subset_regression

WEIGHTINGS = ["inverse_log", "inverse", "linear", None]
Loss = Callable[[Tensor, Tensor], Tensor]
LIST_LOSSES: dict[str, Loss] = {
    **{
        f"list_mle, {weighting}": lambda s, t, w=weighting: list_mle(s, t, w, generator=seeded(0))
        for weighting in WEIGHTINGS
    },
    "list_net": list_net,
    "rank_net": rank_net,
}
LOSSES = {**LIST_LOSSES, "subset_regression": subset_regression}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def lists(seed: int, *shape: int) -> tuple[Tensor, Tensor]:
    """Scores, and targets without ties."""
    rng = np.random.default_rng(seed)
    return torch.tensor(2.0 * rng.standard_normal(shape)), torch.tensor(rng.standard_normal(shape))


# ---------------------------------------------------------------------- definitions


def log_chance(scores: list[float], order: tuple[int, ...], weights: list[float]) -> float:
    """Of drawing items in this order, one by one, with chances proportional to exp(score); position j counts c(j)."""
    left, total = list(order), 0.0
    for item, weight in zip(order, weights, strict=True):
        total += weight * math.log(math.exp(scores[item]) / sum(math.exp(scores[other]) for other in left))
        left.remove(item)
    return total


def weights_of(k: int, weighting: str | None) -> list[float]:
    return {
        "inverse_log": [1.0 / math.log(j + 1) for j in range(1, k + 1)],
        "inverse": [1.0 / j for j in range(1, k + 1)],
        "linear": [(k - j + 1) / sum(range(1, k + 1)) for j in range(1, k + 1)],
        None: [1.0] * k,
    }[weighting]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_list_mle_is_the_probability_of_the_true_order(k: int) -> None:
    scores, targets = lists(k, 1, k)
    plain = scores[0].tolist()
    chances = {order: math.exp(log_chance(plain, order, [1.0] * k)) for order in permutations(range(k))}
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-12)
    truth = tuple(np.argsort(-targets[0].numpy()).tolist())
    assert float(list_mle(scores, targets, None)) == pytest.approx(-math.log(chances[truth]), abs=1e-9)
    # Every order gets its own probability when it is the true one.
    for order, chance in chances.items():
        aims = torch.empty(1, k, dtype=torch.float64)
        aims[0, list(order)] = torch.arange(k, 0, -1, dtype=torch.float64)
        assert math.exp(-float(list_mle(scores, aims, None))) == pytest.approx(chance, abs=1e-9)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_positions_count_according_to_the_weighting(k: int, weighting: Any) -> None:
    scores, targets = lists(k, 3, k)
    expected = [
        -log_chance(s.tolist(), tuple(np.argsort(-t.numpy()).tolist()), weights_of(k, weighting))
        for s, t in zip(scores, targets, strict=True)
    ]
    assert float(list_mle(scores, targets, weighting)) == pytest.approx(np.mean(expected), abs=1e-6)
    if weighting == "inverse_log":
        assert float(list_mle(scores, targets)) == pytest.approx(np.mean(expected), abs=1e-6)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_list_net_is_the_cross_entropy_of_the_first_item(k: int) -> None:
    scores, targets = (values.numpy() for values in lists(k, 4, k))
    expected = []
    for s, y in zip(scores, targets, strict=True):
        p, q = np.exp(y) / np.exp(y).sum(), np.exp(s) / np.exp(s).sum()
        expected.append(-(p * np.log(q)).sum())
    assert float(list_net(torch.tensor(scores), torch.tensor(targets))) == pytest.approx(np.mean(expected), abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_rank_net_is_the_mean_over_pairs_and_a_tie_is_a_draw(k: int) -> None:
    scores, targets = lists(k, 4, k)
    targets[:, 0] = targets[:, 1]
    losses = []
    for s, y in zip(scores.tolist(), targets.tolist(), strict=True):
        for i in range(k):
            for j in range(i + 1, k):
                p = 1.0 / (1.0 + math.exp(s[j] - s[i]))
                won = 0.5 if y[i] == y[j] else float(y[i] > y[j])
                losses.append(-won * math.log(p) - (1.0 - won) * math.log(1.0 - p))
    assert float(rank_net(scores, targets)) == pytest.approx(np.mean(losses), abs=1e-6)


def test_subset_regression_is_the_squared_distance_to_the_average_rank() -> None:
    scores, targets = lists(0, 5, 9)
    targets = targets.mul(1.5).round()  # Many ties.
    expected = np.stack([rankdata(-y, method="average") for y in targets.numpy()])
    assert ranks(targets).numpy() == pytest.approx(expected)
    loss = ((scores.numpy() - expected) ** 2).mean()
    assert float(subset_regression(scores, targets)) == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize("loss", LIST_LOSSES.values(), ids=LIST_LOSSES)
def test_larger_is_better(loss: Loss) -> None:
    targets = torch.linspace(-1.0, 1.0, 6, dtype=torch.float64)[None]
    assert loss(targets, targets) < loss(torch.zeros_like(targets), targets) < loss(-targets, targets)


def test_subset_regression_learns_the_rank_itself() -> None:
    targets = torch.tensor([[0.3, -2.0, 9.0]])
    assert float(subset_regression(torch.tensor([[2.0, 3.0, 1.0]]), targets)) == 0.0


# ---------------------------------------------------------------------- limits


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [0.0, 1.0, 50.0, 1e3, 1e4])
def test_losses_and_gradients_are_finite_for_any_scores(loss: Loss, dtype: torch.dtype, size: float) -> None:
    rng = np.random.default_rng(0)
    scores = torch.tensor(np.sign(rng.standard_normal((3, 20))) * rng.choice([0.0, 0.5, 1.0], (3, 20)) * size)
    for targets in (torch.tensor(rng.standard_normal((3, 20))), torch.zeros(3, 20), scores, -scores):
        leaf = scores.to(dtype).requires_grad_()
        value = loss(leaf, targets.detach().to(dtype))
        (gradient,) = torch.autograd.grad(value, leaf)
        assert value.dtype == dtype
        assert torch.isfinite(value)
        assert torch.isfinite(gradient).all()


@every_loss
def test_gradients_are_those_of_finite_differences(loss: Loss) -> None:
    scores, targets = lists(3, 2, 6)
    targets[0, :3] = 0.25
    assert torch.autograd.gradcheck(lambda s: loss(s, targets), (scores.requires_grad_(),))


@every_loss
def test_a_list_of_one(loss: Loss) -> None:
    scores = torch.tensor([[0.7], [-2.0]], requires_grad=True)
    value = loss(scores, torch.tensor([[3.0], [4.0]]))
    assert torch.isfinite(value)
    assert torch.isfinite(torch.autograd.grad(value, scores)[0]).all()
    if loss is not subset_regression:
        assert float(value.detach()) == 0.0


@every_loss
def test_the_order_of_the_items_does_not_matter(loss: Loss) -> None:
    scores, targets = lists(4, 3, 8)
    expected = float(loss(scores, targets))
    for seed in range(5):
        order = torch.randperm(8, generator=seeded(seed))
        assert float(loss(scores[:, order], targets[:, order])) == pytest.approx(expected, abs=1e-9)


@every_loss
def test_lists_of_a_batch_do_not_affect_each_other(loss: Loss) -> None:
    scores, targets = lists(5, 4, 6)
    alone = [float(loss(s[None], t[None])) for s, t in zip(scores, targets, strict=True)]
    assert float(loss(scores, targets)) == pytest.approx(np.mean(alone), abs=1e-9)
    assert float(loss(scores.reshape(2, 2, 6), targets.reshape(2, 2, 6))) == pytest.approx(np.mean(alone), abs=1e-9)


def test_an_unknown_weighting_is_refused_in_a_sentence() -> None:
    wrong: Any = "quadratic"
    with pytest.raises(ValueError, match=r"^`weighting` must be 'inverse_log', .* but got 'quadratic'\.$"):
        list_mle(torch.zeros(1, 3), torch.zeros(1, 3), wrong)


# ---------------------------------------------------------------------- ties


def test_the_same_generator_gives_the_same_loss_and_another_does_not() -> None:
    scores, _ = lists(6, 2, 10)
    targets = torch.zeros(2, 10)
    first, again, other = (float(list_mle(scores, targets, generator=seeded(seed))) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_ties_are_broken_evenly_and_only_ties() -> None:
    targets = torch.tensor([1.0, 5.0, 1.0, 1.0, 9.0]).expand(6000, 5)
    order = descending(targets, seeded(0)).numpy()
    assert (order[:, 0] == 4).all()
    assert (order[:, 1] == 1).all()
    counts = [(order[:, 2:] == permutation).all(axis=1).sum() for permutation in permutations([0, 2, 3])]
    assert sum(counts) == 6000
    assert min(counts) > 850  # Expected: 1000, with a standard deviation of 29.


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_expected_list_mle_is_the_mean_over_the_orders_that_ties_allow(weighting: Any) -> None:
    scores, targets = torch.tensor([0.4, -1.0, 2.0, 0.1], dtype=torch.float64), torch.tensor([0.0, 3.0, 0.0, 0.0])
    allowed = [order for order in permutations(range(4)) if order[0] == 1]
    expected = np.mean([-log_chance(scores.tolist(), order, weights_of(4, weighting)) for order in allowed])
    n = 20_000
    many = list_mle(scores.expand(n, 4), targets.expand(n, 4), weighting, generator=seeded(0))
    assert float(many) == pytest.approx(float(expected), rel=0.02)
    swapped = list_mle(scores[[2, 1, 0, 3]].expand(n, 4), targets.expand(n, 4), weighting, generator=seeded(1))
    assert float(swapped) == pytest.approx(float(expected), rel=0.02)


@every_loss
def test_tied_items_with_equal_scores_have_equal_gradients(loss: Loss) -> None:
    n = 20_000
    scores = torch.tensor([0.5, -1.0, 0.5, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([1.0, 0.0, 1.0, 1.0, 3.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(loss(scores.expand(n, 5), targets.expand(n, 5)), scores)
    tied = gradient[[0, 2, 3]]
    assert float(tied.max() - tied.min()) < 0.02
