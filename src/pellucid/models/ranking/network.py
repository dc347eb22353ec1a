"""Ensembles of scorers as one batched network, with a context that reads the observations.

Notation
    G                 independent ensembles that are trained side by side (one for one study)
    M                 members of an ensemble
    L, n, s           lists, configurations per list, observations ("support") per list
    F, C              features of a configuration, numbers that the context returns
    x (G, L, n, F)    configurations to be scored;  support (G, L, s, F + 1) observed ones with their values
    weights           name -> tensor; (G, M, in, out) in the scorers, (G, 1, in, out) in a context that members share

Two contexts. "mean" is a Deep Set: the average over all observations, the same for every configuration. "near" weights
the average by nearness in a learned embedding, so that similar observations count most for a configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor

from pellucid.models.ranking.devices import PRECISION
from pellucid.models.ranking.layers import Arena, apply_layers, nearest

Weights = dict[str, Tensor]
Context = Literal["near", "mean", "none"]
# Bound of the log nearness, and the divisor that brings it to the range of the other inputs: beyond the bound, all
# observations are equally irrelevant.
_FARTHEST, _NEARNESS_SCALE = 20.0, 5.0


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
            raise ValueError(f"`context` must be 'near', 'mean' or 'none', but got {self.context!r}.")

    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """name -> (members, in, out) of every linear map, in the order they are applied."""
        w, size = self.context_width, self.context_size
        shapes: dict[str, tuple[int, int, int]] = {}
        if self.context == "mean":
            shapes |= {"each.0": (1, self.features + 1, w), "each.1": (1, w, w), "each.2": (1, w, w)}
            shapes |= {"all.0": (1, w, w), "all.1": (1, w, w), "all.2": (1, w, size)}
        elif self.context == "near":
            shapes |= {"place.0": (1, self.features, w), "place.1": (1, w, size)}
            shapes |= {"each.0": (1, self.features + 1, w), "each.1": (1, w, size)}
        if self.context != "none":
            shapes["scorer.context"] = (self.members, self.context_outputs, self.width)
        for k, (rows, columns) in enumerate(pairwise([self.features, *[self.width] * self.layers, self.outputs])):
            shapes[f"scorer.{k}"] = (self.members, rows, columns)
        return shapes

    @property
    def context_outputs(self) -> int:
        """Numbers that a scorer gets from the context: "near" adds the average value nearby and the log nearness."""
        return {"near": self.context_size + 2, "mean": self.context_size, "none": 0}[self.context]


def initial(architecture: Architecture, generators: Sequence[torch.Generator]) -> Weights:
    """Uniform in ±1 / sqrt(inputs), member by member; one generator per ensemble."""
    weights: Weights = {}
    for name, (members, rows, columns) in architecture.shapes().items():
        # The first layer sums over features and context.
        first = name in ("scorer.0", "scorer.context")
        inputs = architecture.features + architecture.context_outputs if first else rows
        bound = inputs**-0.5
        size = (members, rows + 1, columns)
        draws = [torch.rand(size, generator=g, dtype=PRECISION, device=g.device) for g in generators]
        uniform = bound * (2.0 * torch.stack(draws) - 1.0)
        weights[f"{name}.weight"] = uniform[:, :, :rows].contiguous()
        if name != "scorer.context":
            weights[f"{name}.bias"] = uniform[:, :, rows:].contiguous()
    return weights


def layers_of(weights: Weights, part: str) -> list[tuple[Tensor, Tensor]]:
    count = sum(name.startswith(f"{part}.") and name.endswith(".bias") for name in weights)
    return [(weights[f"{part}.{k}.weight"], weights[f"{part}.{k}.bias"]) for k in range(count)]


def _apply(weights: Weights, part: str, h: Tensor, arena: Arena | None) -> Tensor:
    """(G, N, in) -> (G, N, out)"""
    return apply_layers(h, None, layers_of(weights, part), arena)[:, 0]


def has_context(weights: Weights) -> bool:
    return "scorer.context.weight" in weights


def deep_set(weights: Weights, support: Tensor, arena: Arena | None = None) -> Tensor:
    """The "mean" context: average over the observations, of which there may be none, (G, L, 1, C)."""
    G, L, s, F = support.shape
    each = torch.relu(_apply(weights, "each", support.reshape(G, L * s, F), arena))
    together = each.reshape(G, L, s, each.shape[-1]).sum(-2) / max(s, 1)
    return _apply(weights, "all", together, arena)[:, :, None]


def nearby(weights: Weights, x: Tensor, support: Tensor, arena: Arena | None = None) -> Tensor:
    """The "near" context of each configuration: weighted average over the observations, that of their values, and the
    log of the sum of their weights, (G, L, n, C + 2)."""
    G, L, n, F = x.shape
    s, size = support.shape[2], weights["each.1.weight"].shape[-1]
    if s == 0:
        zeros = x.new_zeros((G, L, n, size + 1))
        return torch.cat([zeros, zeros[..., :1] - _FARTHEST / _NEARNESS_SCALE], -1)
    each = _apply(weights, "each", support.reshape(G, L * s, F + 1), arena).reshape(G * L, s, size)
    stacked = torch.cat([x, support[..., :F]], 2).reshape(G, L * (n + s), F)
    here, there = _apply(weights, "place", stacked, arena).reshape(G * L, n + s, size).split([n, s], 1)
    average, nearness = nearest(here, there, torch.cat([each, support[..., F:].reshape(G * L, s, 1)], -1))
    return torch.cat([average, nearness.clamp(min=-_FARTHEST) / _NEARNESS_SCALE], -1).reshape(G, L, n, size + 2)


def outputs(weights: Weights, x: Tensor, context: Tensor | None, arena: Arena | None = None) -> Tensor:
    """(G, M, L, n, outputs); context (G, L, 1 or n, C)."""
    G, L, n, F = x.shape
    (W, b), *rest = layers_of(weights, "scorer")
    per_row = None
    if context is not None:
        per_row = context.expand(-1, -1, n, -1).reshape(G, L * n, context.shape[-1])
        W = torch.cat([W, weights["scorer.context.weight"]], 2)
    out = apply_layers(x.reshape(G, L * n, F), per_row, [(W, b), *rest], arena)
    return out.reshape(G, W.shape[1], L, n, out.shape[-1])


def scores(weights: Weights, x: Tensor, support: Tensor | None = None, arena: Arena | None = None) -> Tensor:
    """(G, M, L, n); `support` is needed if the network has a context."""
    context = None
    if has_context(weights):
        assert support is not None
        near = "place.0.weight" in weights
        context = nearby(weights, x, support, arena) if near else deep_set(weights, support, arena)
    return outputs(weights, x, context, arena)[..., 0]
