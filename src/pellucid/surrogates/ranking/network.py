"""Ensembles of scorers as one batched network, with a context that reads what has been observed.

Notation
    G                 independent ensembles that are trained side by side (one for one study)
    M                 members of an ensemble
    L, n, s           lists, configurations per list, observations ("support") per list
    F, C              features of a configuration, numbers that the context has
    x (G, L, n, F)    configurations to be scored;  support (G, L, s, F + 1) observed ones with what they reached
    weights           name -> tensor; (G, M, in, out) in the scorers, (G, 1, in, out) in a context that members share

Two contexts. "mean" is a Deep Set: what each observation says, averaged, is the same for all configurations. "near"
averages by nearness in a learned embedding, so that a configuration hears most of the observations like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor

from pellucid.surrogates.ranking.layers import Arena, nearest, through

Weights = dict[str, Tensor]
Context = Literal["near", "mean", "none"]
_FARTHEST = 20.0


@dataclass(frozen=True)
class Architecture:
    """Sizes of the network. `outputs`: 1 for a score, 2 for a mean and a variance."""

    features: int
    members: int = 10
    width: int = 32
    layers: int = 2
    context: Context = "near"
    context_width: int = 32
    context_size: int = 16
    outputs: int = 1

    def __post_init__(self) -> None:
        if self.context not in get_args(Context):
            raise ValueError(f"`context` is 'near', 'mean' or 'none', but got {self.context!r}.")

    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """name -> (members, in, out) of every linear map, in the order they are applied."""
        w, size = self.context_width, self.context_size
        found: dict[str, tuple[int, int, int]] = {}
        if self.context == "mean":
            found |= {"each.0": (1, self.features + 1, w), "each.1": (1, w, w), "each.2": (1, w, w)}
            found |= {"all.0": (1, w, w), "all.1": (1, w, w), "all.2": (1, w, size)}
        elif self.context == "near":
            found |= {"place.0": (1, self.features, w), "place.1": (1, w, size)}
            found |= {"each.0": (1, self.features + 1, w), "each.1": (1, w, size)}
        if self.context != "none":
            found["scorer.context"] = (self.members, self.heard, self.width)
        for k, (rows, columns) in enumerate(pairwise([self.features, *[self.width] * self.layers, self.outputs])):
            found[f"scorer.{k}"] = (self.members, rows, columns)
        return found

    @property
    def heard(self) -> int:
        """What a scorer is told by the context: "near" adds the average value nearby, and how near it is."""
        return {"near": self.context_size + 2, "mean": self.context_size, "none": 0}[self.context]


def initial(architecture: Architecture, generators: Sequence[torch.Generator]) -> Weights:
    """Uniform in ±1 / sqrt(inputs), member by member; one generator per ensemble."""
    weights: Weights = {}
    for name, (members, rows, columns) in architecture.shapes().items():
        # The first layer sums over features and context alike.
        inputs = architecture.features + architecture.heard if name in ("scorer.0", "scorer.context") else rows
        bound = inputs**-0.5
        size = (members, rows + 1, columns)
        draws = [torch.rand(size, generator=g, dtype=torch.float32, device=g.device) for g in generators]
        both = bound * (2.0 * torch.stack(draws) - 1.0)
        weights[f"{name}.weight"] = both[:, :, :rows].contiguous()
        if name != "scorer.context":
            weights[f"{name}.bias"] = both[:, :, rows:].contiguous()
    return weights


def layers_of(weights: Weights, part: str) -> list[tuple[Tensor, Tensor]]:
    count = sum(name.startswith(f"{part}.") and name.endswith(".bias") for name in weights)
    return [(weights[f"{part}.{k}.weight"], weights[f"{part}.{k}.bias"]) for k in range(count)]


def _through(weights: Weights, part: str, h: Tensor, arena: Arena | None) -> Tensor:
    """(G, N, in) -> (G, N, out)"""
    return through(h, None, layers_of(weights, part), arena)[:, 0]


def has_context(weights: Weights) -> bool:
    return "scorer.context.weight" in weights


def deep_set(weights: Weights, support: Tensor, arena: Arena | None = None) -> Tensor:
    """What the observations say on average, also none of them, (G, L, 1, C)."""
    G, L, s, F = support.shape
    each = torch.relu(_through(weights, "each", support.reshape(G, L * s, F), arena))
    together = each.reshape(G, L, s, each.shape[-1]).sum(-2) / max(s, 1)
    return _through(weights, "all", together, arena)[:, :, None]


def nearby(weights: Weights, x: Tensor, support: Tensor, arena: Arena | None = None) -> Tensor:
    """What the observations near each configuration say, how good they are and how near, (G, L, n, C + 2)."""
    G, L, n, F = x.shape
    s, size = support.shape[2], weights["each.1.weight"].shape[-1]
    if s == 0:
        nothing = x.new_zeros((G, L, n, size + 1))
        return torch.cat([nothing, nothing[..., :1] - _FARTHEST / 5.0], -1)
    each = _through(weights, "each", support.reshape(G, L * s, F + 1), arena).reshape(G * L, s, size)
    both = torch.cat([x, support[..., :F]], 2).reshape(G, L * (n + s), F)
    here, there = _through(weights, "place", both, arena).reshape(G * L, n + s, size).split([n, s], 1)
    said, near = nearest(here, there, torch.cat([each, support[..., F:].reshape(G * L, s, 1)], -1))
    return torch.cat([said, near.clamp(min=-_FARTHEST) / 5.0], -1).reshape(G, L, n, size + 2)


def outputs(weights: Weights, x: Tensor, context: Tensor | None, arena: Arena | None = None) -> Tensor:
    """(G, M, L, n, outputs); context (G, L, 1 or n, C)."""
    G, L, n, F = x.shape
    (W, b), *rest = layers_of(weights, "scorer")
    heard = None
    if context is not None:
        heard = context.expand(-1, -1, n, -1).reshape(G, L * n, context.shape[-1])
        W = torch.cat([W, weights["scorer.context.weight"]], 2)
    found = through(x.reshape(G, L * n, F), heard, [(W, b), *rest], arena)
    return found.reshape(G, W.shape[1], L, n, found.shape[-1])


def scores(weights: Weights, x: Tensor, support: Tensor | None = None, arena: Arena | None = None) -> Tensor:
    """(G, M, L, n); `support` where the network has a context."""
    context = None
    if has_context(weights):
        assert support is not None
        near = "place.0.weight" in weights
        context = nearby(weights, x, support, arena) if near else deep_set(weights, support, arena)
    return outputs(weights, x, context, arena)[..., 0]
