"""The gradients that are written out, against those that autograd derives; memory that is used again; Adam."""

from __future__ import annotations

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from pellucid.models.ranking import optimizer  # noqa: E402
from pellucid.models.ranking.layers import Arena, apply_layers, nearest  # noqa: E402


def drawn(*shape: int, learns: bool = True) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_(learns)


def maps(sizes: list[int], G: int, M: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(drawn(G, M, rows, columns), drawn(G, M, 1, columns)) for rows, columns in pairwise(sizes)]


def plainly(x: torch.Tensor, context: torch.Tensor | None, layers: list) -> torch.Tensor:
    h = (x if context is None else torch.cat([x, context], -1))[:, None]
    for k, (W, b) in enumerate(layers):
        h = (torch.relu(h) if k else h) @ W + b
    return h


@pytest.mark.parametrize("outputs", [1, 2, 5])
@pytest.mark.parametrize(("G", "M"), [(1, 1), (1, 4), (3, 2)])
@pytest.mark.parametrize("hidden", [[], [6], [6, 4]])
def test_values_and_slopes_are_those_of_autograd(outputs: int, G: int, M: int, hidden: list[int]) -> None:
    x, context, layers = drawn(G, 7, 3), drawn(G, 7, 2), maps([5, *hidden, outputs], G, M)
    leaves = [x, context, *(weight for pair in layers for weight in pair)]
    actual, expected = apply_layers(x, context, layers, None), plainly(x, context, layers)
    torch.testing.assert_close(actual, expected)
    slope = torch.cos(expected.detach())
    for actual_slope, expected_slope in zip(
        torch.autograd.grad(actual, leaves, slope), torch.autograd.grad(expected, leaves, slope), strict=True
    ):
        torch.testing.assert_close(actual_slope, expected_slope)


def test_inputs_that_do_not_learn_get_no_slope() -> None:
    layers = maps([3, 4, 1], 1, 2)
    x = drawn(1, 5, 3, learns=False)
    apply_layers(x, None, layers, None).sum().backward()
    assert x.grad is None
    assert all(weight.grad is not None for pair in layers for weight in pair)


def test_an_arena_changes_nothing_and_grows_where_it_has_to() -> None:
    layers, arena = maps([3, 8, 8, 1], 1, 4), Arena()
    for n in (5, 9, 2, 9):
        arena.free()
        x = drawn(1, n, 3)
        outputs = apply_layers(x, None, layers, arena)
        torch.testing.assert_close(outputs, plainly(x, None, layers))
        (slope,) = torch.autograd.grad(outputs.sum(), [x])
        (expected,) = torch.autograd.grad(plainly(x, None, layers).sum(), [x])
        torch.testing.assert_close(slope, expected)


def test_memory_that_is_freed_too_early_is_noticed() -> None:
    layers, arena = maps([3, 8, 1], 1, 2), Arena()
    first = apply_layers(drawn(1, 5, 3), None, layers, arena)
    arena.free()
    apply_layers(drawn(1, 5, 3), None, layers, arena)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        first.sum().backward()


def test_averages_by_nearness_and_their_slopes_are_those_of_autograd() -> None:
    leaves = [drawn(3, 7, 4), drawn(3, 5, 4), drawn(3, 5, 2)]
    queries, places, values = leaves
    average, total = nearest(queries, places, values)
    near = -torch.cdist(queries, places, compute_mode="donot_use_mm_for_euclid_dist").square()
    expected = (near.softmax(-1) @ values, near.logsumexp(-1, keepdim=True))
    torch.testing.assert_close((average, total), expected)
    actual, reference = (torch.cat(parts, -1) for parts in ((average, total), expected))
    slope = torch.cos(reference.detach())
    for actual_slope, expected_slope in zip(
        torch.autograd.grad(actual, leaves, slope), torch.autograd.grad(reference, leaves, slope), strict=True
    ):
        torch.testing.assert_close(actual_slope, expected_slope)


def test_the_same_place_is_nearest_and_has_a_finite_slope() -> None:
    queries = drawn(1, 3, 4)
    average, total = nearest(queries, 100.0 * queries, drawn(1, 3, 1))
    at_itself = nearest(queries, queries.detach(), drawn(1, 3, 1))
    (average.sum() + total.sum() + at_itself[0].sum() + at_itself[1].sum()).backward()
    assert (at_itself[1] >= 0.0).all()
    assert torch.isfinite(queries.grad).all()


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_is_that_of_torch_even_if_some_weights_have_no_gradient(decay: float) -> None:
    start = {"a": drawn(1, 2, 3, 2), "b": drawn(1, 2, 1, 4), "c": drawn(1, 1, 5, 1)}
    actual = optimizer.leaves(start)
    expected = {name: value.detach().clone().requires_grad_() for name, value in actual.items()}
    adam = optimizer.Adam(actual, 0.01, decay)
    reference = torch.optim.AdamW(expected.values(), 0.01, weight_decay=decay)
    for step in range(12):
        for weights in (actual, expected):
            # As with an empty context; at first all learn, so that both count the same steps.
            silent = "b" if step == 11 else ""
            sum(value.sin().sum() for name, value in weights.items() if name != silent).backward()
        adam.step()
        reference.step()
        reference.zero_grad()
        assert all(value.grad is None for value in actual.values())
    for name, before in start.items():
        torch.testing.assert_close(actual[name], expected[name])
        assert not torch.equal(actual[name], before.detach())
