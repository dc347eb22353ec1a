"""Ensembles of scorers as one batched network, with a Deep Set that reads what has been observed.

Notation
    G                 independent ensembles that are trained side by side (one for one study)
    M                 members of an ensemble
    L, n, s           lists, configurations per list, observations ("support") per list
    F                 features of a configuration
    x (G, L, n, F)    configurations to be scored;  support (G, L, s, F + 1) observed ones with what they reached
    weights           name -> tensor; (G, M, in, out) in the scorers, (G, 1, in, out) in a Deep Set that members share
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Architecture:
    """Sizes of the network. `outputs`: 1 for a score, 2 for a mean and a variance; `context`: has a Deep Set."""

    features: int
    members: int = 10
    width: int = 32
    layers: int = 2
    context: bool = True
    context_width: int = 32
    context_size: int = 16
    shared: bool = True
    outputs: int = 1

    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """name -> (members, in, out) of every linear map, in the order they are applied."""
        found: dict[str, tuple[int, int, int]] = {}
        if self.context:
            w, owners = self.context_width, 1 if self.shared else self.members
            found |= {"each.0": (owners, self.features + 1, w), "each.1": (owners, w, w), "each.2": (owners, w, w)}
            found |= {"all.0": (owners, w, w), "all.1": (owners, w, w), "all.2": (owners, w, self.context_size)}
            found |= {"scorer.context": (self.members, self.context_size, self.width)}
        sizes = [self.features, *[self.width] * self.layers, self.outputs]
        for k, (rows, columns) in enumerate(pairwise(sizes)):
            found[f"scorer.{k}"] = (self.members, rows, columns)
        return found


def initial(architecture: Architecture, generators: Sequence[torch.Generator]) -> Weights:
    """Uniform in ±1 / sqrt(inputs), member by member; one generator per ensemble."""
    weights: Weights = {}
    for name, (members, rows, columns) in architecture.shapes().items():
        extra = architecture.context_size if name == "scorer.0" and architecture.context else 0
        bound = (rows + extra) ** -0.5
        draws = [torch.rand((members, rows + 1, columns), generator=g) for g in generators]
        both = bound * (2.0 * torch.stack(draws) - 1.0)
        weights[f"{name}.weight"] = both[:, :, :rows].contiguous()
        if name != "scorer.context":
            weights[f"{name}.bias"] = both[:, :, rows:].contiguous()
    return weights


def layers_of(weights: Weights, part: str) -> list[tuple[Tensor, Tensor]]:
    count = sum(name.startswith(f"{part}.") and name.endswith(".bias") for name in weights)
    return [(weights[f"{part}.{k}.weight"], weights[f"{part}.{k}.bias"]) for k in range(count)]


def context_of(weights: Weights, support: Tensor) -> Tensor:
    """What the Deep Set makes of the observations, also of none, (G, 1 or M, L, C)."""
    G, L, s, _ = support.shape
    h = support.reshape(G, 1, L * s, support.shape[-1])
    for W, b in layers_of(weights, "each"):
        h = torch.relu(h @ W + b)
    h = h.reshape(G, h.shape[1], L, s, h.shape[-1]).sum(-2) / max(s, 1)
    parts = layers_of(weights, "all")
    for W, b in parts[:-1]:
        h = torch.relu(h @ W + b)
    W, b = parts[-1]
    return h @ W + b


def outputs(weights: Weights, x: Tensor, context: Tensor | None) -> Tensor:
    """(G, M, L, n, outputs)"""
    G, L, n, F = x.shape
    (W, b), *rest = layers_of(weights, "scorer")
    M = W.shape[1]
    h = (x.reshape(G, 1, L * n, F) @ W).reshape(G, M, L, n, W.shape[-1]) + b[:, :, None]
    if context is not None:
        h = h + (context @ weights["scorer.context.weight"])[:, :, :, None]
    h = h.reshape(G, M, L * n, h.shape[-1])
    for W, b in rest:
        h = torch.relu(h) @ W + b
    return h.reshape(G, M, L, n, h.shape[-1])


def scores(weights: Weights, x: Tensor, support: Tensor | None = None) -> Tensor:
    """(G, M, L, n)"""
    context = None if support is None else context_of(weights, support)
    return outputs(weights, x, context)[..., 0]
