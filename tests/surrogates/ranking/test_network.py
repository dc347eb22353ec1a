"""A batched ensemble equals members trained alone, and its contexts are functions of a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pellucid.models.ranking.network import Architecture, Weights, deep_set, initial, nearby, outputs, scores
from pellucid.models.ranking.training import Recipe, fine_tune, objective, support_of

ARCHITECTURES = {
    "scorer": Architecture(3, members=4, width=8, layers=2, context="none"),
    "deep": Architecture(3, members=3, width=6, layers=4, context="none"),
    "linear": Architecture(3, members=3, layers=0, context="none"),
    "deep set": Architecture(3, members=4, width=8, context="mean", context_width=7, context_size=5),
    "near": Architecture(3, members=4, width=8, context="near", context_width=7, context_size=5),
    "two outputs": Architecture(3, members=2, width=8, outputs=2),
}
every_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)


def drawn(architecture: Architecture, *seeds: int) -> Weights:
    return initial(architecture, [torch.Generator().manual_seed(seed) for seed in seeds])


def data(seed: int, *shape: int) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=torch.float64)


def member_of(weights: Weights, g: int, m: int) -> dict[str, Tensor]:
    """Matrices and vectors of one member of one ensemble."""
    return {name: value[g, m if value.shape[1] > 1 else 0] for name, value in weights.items()}


def alone(member: dict[str, Tensor], layers: int, x: Tensor, support: Tensor | None) -> Tensor:
    """(n, F) and (s, F + 1) -> (n, outputs), with the context joined to every configuration as the source has it."""
    h, first = x, member["scorer.0.weight"]
    if support is not None:
        context = near_alone(member, x, support) if "place.0.weight" in member else mean_alone(member, x, support)
        h = torch.cat([x, context], 1)
        first = torch.cat([first, member["scorer.context.weight"]])
    h = h @ first + member["scorer.0.bias"]
    for k in range(1, layers + 1):
        h = torch.relu(h) @ member[f"scorer.{k}.weight"] + member[f"scorer.{k}.bias"]
    return h


def mean_alone(member: dict[str, Tensor], x: Tensor, support: Tensor) -> Tensor:
    z = support
    for k in range(3):
        z = torch.relu(z @ member[f"each.{k}.weight"] + member[f"each.{k}.bias"])
    z = z.sum(0) / max(len(support), 1)
    for k in range(3):
        z = z @ member[f"all.{k}.weight"] + member[f"all.{k}.bias"][0]
        z = torch.relu(z) if k < 2 else z
    return z.expand(len(x), -1)


def near_alone(member: dict[str, Tensor], x: Tensor, support: Tensor) -> Tensor:
    """One configuration after the other: shares fall with the squared distance in the embedding."""

    def through(part: str, z: Tensor) -> Tensor:
        z = torch.relu(z @ member[f"{part}.0.weight"] + member[f"{part}.0.bias"])
        return z @ member[f"{part}.1.weight"] + member[f"{part}.1.bias"]

    embedded, rows = through("each", support), []
    for row in x:
        if len(support) == 0:
            rows.append(torch.tensor([0.0] * (embedded.shape[1] + 1) + [-4.0], dtype=x.dtype))
            continue
        distance = ((through("place", row[None]) - through("place", support[:, :-1])) ** 2).sum(1)
        share = torch.exp(-distance) / torch.exp(-distance).sum()
        near = torch.log(torch.exp(-distance).sum()).clamp(min=-20.0) / 5.0
        rows.append(torch.cat([share @ embedded, share[None] @ support[:, -1:][:, 0], near[None]]))
    return torch.stack(rows)


def context_of(architecture: Architecture, weights: Weights, x: Tensor, support: Tensor) -> Tensor | None:
    if architecture.context == "none":
        return None
    return nearby(weights, x, support) if architecture.context == "near" else deep_set(weights, support)


@every_architecture
@pytest.mark.parametrize("s", [0, 1, 6])
def test_a_batch_is_a_loop_over_members(architecture: Architecture, s: int) -> None:
    weights = drawn(architecture, 0, 1)
    x, support = data(0, 2, 3, 5, 3), data(1, 2, 3, s, 4)
    actual = outputs(weights, x, context_of(architecture, weights, x, support))
    assert actual.shape == (2, architecture.members, 3, 5, architecture.outputs)
    for g in range(2):
        for m in range(architecture.members):
            for i in range(3):
                shown = support[g, i] if architecture.context_outputs else None
                expected = alone(member_of(weights, g, m), architecture.layers, x[g, i], shown)
                assert torch.allclose(actual[g, m, i], expected, atol=1e-10)
    assert torch.equal(scores(weights, x, support if architecture.context_outputs else None), actual[..., 0])


@every_architecture
def test_weights_have_the_shapes_of_the_architecture(architecture: Architecture) -> None:
    weights = drawn(architecture, 0, 1, 2)
    for name, (members, rows, columns) in architecture.shapes().items():
        assert weights[f"{name}.weight"].shape == (3, members, rows, columns)
        assert (f"{name}.bias" in weights) == (name != "scorer.context")
    assert all(value.abs().max() <= 1.0 for value in weights.values())
    # The context that is joined to the configurations counts among the inputs of the first layer.
    inputs = architecture.features + architecture.context_outputs
    assert float(weights["scorer.0.weight"].abs().max()) <= inputs**-0.5


def test_members_and_ensembles_start_differently_and_a_seed_repeats() -> None:
    architecture = replace(ARCHITECTURES["near"], features=4)
    weights, again = drawn(architecture, 5, 6), drawn(architecture, 5, 6)
    for name, value in weights.items():
        assert torch.equal(value, again[name])
        rows = value.reshape(-1, *value.shape[2:])
        assert all(not torch.equal(rows[a], rows[b]) for a in range(len(rows)) for b in range(a))
    assert all(torch.equal(value[1:], drawn(architecture, 6)[name]) for name, value in weights.items())


def test_initial_weights_are_uniform_up_to_their_bound() -> None:
    wide = drawn(Architecture(10, members=5, width=200, context="none"), 0)["scorer.1.weight"].flatten() * 200**0.5
    assert float(wide.min()) == pytest.approx(-1.0, abs=1e-3)
    assert float(wide.max()) == pytest.approx(1.0, abs=1e-3)
    assert float(wide.mean()) == pytest.approx(0.0, abs=0.01)
    assert float(wide.std()) == pytest.approx(3**-0.5, abs=0.01)


@pytest.mark.parametrize("name", ["deep set", "near"])
def test_a_context_does_not_see_an_order(name: str) -> None:
    weights, x, support = drawn(ARCHITECTURES[name], 0), data(0, 1, 2, 5, 3), data(1, 1, 2, 9, 4)
    expected = scores(weights, x, support)
    for seed in range(4):
        order = torch.randperm(9, generator=torch.Generator().manual_seed(seed))
        assert torch.allclose(scores(weights, x, support[:, :, order]), expected, atol=1e-10)
    twice = scores(weights, x, torch.cat([support, support], 2))
    # Repeated observations change nothing, except that "near" also receives how many there are.
    assert torch.allclose(twice, expected, atol=1e-10) == (name == "deep set")
    assert not torch.allclose(scores(weights, x, support + 10.0), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["deep set", "near"])
def test_lists_and_items_are_scored_one_by_one(name: str) -> None:
    weights, x, support = drawn(ARCHITECTURES[name], 0), data(0, 1, 4, 6, 3), data(1, 1, 4, 5, 4)
    whole = scores(weights, x, support)
    for i in range(4):
        assert torch.allclose(
            scores(weights, x[:, i : i + 1, 2:4], support[:, i : i + 1]), whole[:, :, i : i + 1, 2:4], atol=1e-10
        )


@pytest.mark.parametrize("name", ["scorer", "deep set", "near"])
def test_nothing_to_score_gives_no_scores(name: str) -> None:
    architecture = ARCHITECTURES[name]
    support = data(1, 1, 1, 5, 4) if architecture.context_outputs else None
    assert scores(drawn(architecture, 0), data(0, 1, 1, 0, 3), support).shape == (1, architecture.members, 1, 0)


# ---------------------------------------------------------------------- training


@pytest.mark.parametrize("loss", ["list_net", "list_mle", "rank_net", "subset_regression"])
def test_members_that_are_trained_together_are_those_trained_alone(loss: Any) -> None:
    recipe, architecture = Recipe(loss=loss, weighting=None), ARCHITECTURES["scorer"]
    weights, x, y = drawn(architecture, 0), data(0, 1, 12, 3), data(1, 1, 12)
    together = fine_tune(weights, recipe, x, y, 8, 1e-2, [np.random.default_rng(0)])
    for m in range(architecture.members):
        member = {name: value[0, m].clone().requires_grad_() for name, value in weights.items()}
        optimizer = torch.optim.Adam(member.values(), lr=1e-2)
        for _ in range(8):
            optimizer.zero_grad()
            objective(recipe, alone(member, 2, x[0], None)[None, :, 0], y).backward()
            optimizer.step()
        for name, value in member.items():
            assert torch.allclose(together[name][0, m], value, atol=1e-10), (m, name)
        assert not torch.allclose(weights["scorer.0.weight"][0, m], member["scorer.0.weight"], atol=1e-2)


@pytest.mark.parametrize("name", ["deep set", "near"])
def test_a_shared_context_learns_from_the_sum_of_the_losses(name: str) -> None:
    recipe, architecture = Recipe(), ARCHITECTURES[name]
    weights, x, y = drawn(architecture, 0), data(0, 1, 5, 3), data(1, 1, 5)
    together = fine_tune(weights, recipe, x, y, 1, 1e-2, [np.random.default_rng(0)])
    # The first epoch shows one of five.
    rng = np.random.default_rng(0)
    rng.integers(2**62)
    shown = [int(rng.random((1, 5)).argsort(axis=-1)[0, 0])]
    leaves = {name: value.clone().requires_grad_() for name, value in weights.items()}
    optimizer = torch.optim.Adam(leaves.values(), lr=1e-2)
    support = support_of(x[0, shown], y[0, shown])
    total = sum(
        objective(recipe, alone(member_of(leaves, 0, m), 2, x[0], support)[None, :, 0], y)
        for m in range(architecture.members)
    )
    assert isinstance(total, Tensor)
    total.backward()
    optimizer.step()
    for name, value in leaves.items():
        assert torch.allclose(together[name], value, atol=1e-10), name


def streams(seeds: Sequence[int]) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


@pytest.mark.parametrize("name", ["scorer", "deep set", "near"])
@pytest.mark.parametrize("loss", ["list_net", "list_mle"])
@pytest.mark.parametrize("ties", [False, True], ids=["no ties", "ties"])
def test_studies_side_by_side_are_each_alone(name: str, loss: Any, ties: bool) -> None:
    recipe, architecture = Recipe(loss=loss), ARCHITECTURES[name]
    weights, x, y = drawn(architecture, 0, 1, 2), data(0, 3, 10, 3), data(1, 3, 10)
    y = y.round() if ties else y
    together = fine_tune(weights, recipe, x, y, 12, 1e-2, streams([7, 8, 9]))
    for g in range(3):
        start = {key: value[g : g + 1] for key, value in weights.items()}
        single = fine_tune(start, recipe, x[g : g + 1], y[g : g + 1], 12, 1e-2, streams([7 + g]))
        for key, value in single.items():
            assert torch.allclose(together[key][g], value[0], atol=1e-10), (g, key)


def test_fine_tuning_leaves_the_initial_weights_unchanged() -> None:
    weights = drawn(ARCHITECTURES["near"], 0)
    before = {name: value.clone() for name, value in weights.items()}
    tuned = fine_tune(weights, Recipe(), data(0, 1, 9, 3), data(1, 1, 9), 5, 1e-2, streams([0]))
    assert all(torch.equal(value, before[name]) and not value.requires_grad for name, value in weights.items())
    assert all(not torch.equal(value, before[name]) and not value.requires_grad for name, value in tuned.items())
    none = fine_tune(weights, Recipe(), data(0, 1, 9, 3), data(1, 1, 9), 0, 1e-2, streams([0]))
    assert all(torch.equal(value, before[name]) for name, value in none.items())
