"""Losses that teach an order instead of values: pointwise, pairwise, listwise.

Notation
    scores, targets (batch, list)   what the model says of the items of a list, and what they reached (larger: better)
    j = 1 .. k                      position in the list sorted by target, the best first
    Q_j = log sum_{t >= j} exp s_t  of the scores in that order
Every loss is a scalar, the mean over the lists of the batch. Equal targets are nobody's mistake: listwise losses break
ties at random, anew at every call; the pairwise one expects a draw; the pointwise one their average rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import softplus

Weighting = Literal["inverse_log", "inverse", "linear"]
# Of random order among ties: one for all lists, or one for each entry of the first axis.
TieBreaks: TypeAlias = torch.Generator | Sequence[torch.Generator] | None


def list_mle(
    scores: Tensor,
    targets: Tensor,
    weighting: Weighting | None = "inverse_log",
    *,
    generator: TieBreaks = None,
) -> Tensor:
    """ListMLE: minus the log-probability of the true order when items are drawn one by one, each with chances
    proportional to exp(score) among those that are left; position j counts c(j).

    weighting: 1 / log(j + 1) ("inverse_log"), 1 / j ("inverse"), (k - j + 1) / (1 + ... + k) ("linear"), or None.
    """
    ordered = scores.gather(-1, descending(targets, generator).expand_as(scores))
    return in_order(ordered, position_weights(scores.shape[-1], weighting, scores)).mean()


def list_net(scores: Tensor, targets: Tensor) -> Tensor:
    """ListNet: cross-entropy of the chances to come first, -sum P_y log P_s. (The source swaps the two; then the loss
    would fall without bound as targets spread.)"""
    return -(targets.softmax(-1) * scores.log_softmax(-1)).sum(-1).mean()


def rank_net(scores: Tensor, targets: Tensor) -> Tensor:
    """RankNet: log-loss of who wins each pair, i beating j with probability 1 / (1 + exp(s_j - s_i)); mean of pairs."""
    i, j = torch.triu_indices(scores.shape[-1], scores.shape[-1], 1, device=scores.device)
    margin = scores[..., i] - scores[..., j]
    winner = 0.5 * (1.0 + torch.sign(targets[..., i] - targets[..., j])).to(margin.dtype)
    pairs = softplus(margin) - winner * margin
    return pairs.mean() if pairs.numel() else pairs.sum()


def subset_regression(scores: Tensor, targets: Tensor) -> Tensor:
    """Squared error between the score and the rank within the list, 1 for the best. What is learned *is* the rank, so
    here, and only here, a smaller score is better."""
    return ((scores - ranks(targets).to(scores.dtype)) ** 2).mean()


# ---------------------------------------------------------------------- their parts


def ranks(values: Tensor) -> Tensor:
    """1 for the largest of each list; equal values share the average of their ranks."""
    above = (values[..., None, :] > values[..., :, None]).sum(-1)
    level = (values[..., None, :] == values[..., :, None]).sum(-1)
    return above + 0.5 * (level + 1)


def descending(targets: Tensor, generator: TieBreaks = None) -> Tensor:
    """Indices that sort each list, the best first, with ties in random order."""
    if isinstance(generator, Sequence):
        keys = torch.stack([_keys(targets.shape[1:], targets.device, one) for one in generator])
    else:
        keys = _keys(targets.shape, targets.device, generator)
    shuffled = keys.argsort(-1)
    order = targets.gather(-1, shuffled).argsort(dim=-1, descending=True, stable=True)
    return shuffled.gather(-1, order)


def _keys(shape: torch.Size, where: torch.device, generator: torch.Generator | None) -> Tensor:
    """Single precision: with the user's default, ties would be broken differently."""
    return torch.rand(shape, generator=generator, dtype=torch.float32, device=where)


def position_weights(k: int, weighting: Weighting | None, like: Tensor) -> Tensor:
    j = torch.arange(1, k + 1, dtype=like.dtype, device=like.device)
    if weighting is None:
        return torch.ones_like(j)
    if weighting == "inverse_log":
        return 1.0 / torch.log(j + 1.0)
    if weighting == "inverse":
        return 1.0 / j
    if weighting == "linear":
        return (k - j + 1.0) / j.sum()
    raise ValueError(f"`weighting` is 'inverse_log', 'inverse', 'linear' or None, but got {weighting!r}.")


def in_order(ordered: Tensor, weights: Tensor) -> Tensor:
    """sum_j c(j) (Q_j - s_j) of lists whose scores come in the order of their targets, (...)."""
    Q = ordered.flip(-1).logcumsumexp(-1).flip(-1)
    return (weights * (Q - ordered)).sum(-1)
