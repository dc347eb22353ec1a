"""Losses for learning an order instead of values: pointwise, pairwise, listwise.

Notation
    scores, targets (batch, list)   predictions for the items of a list, and their true values (larger is better)
    j = 1 .. k                      position in the list sorted by target, the best first
    Q_j = log sum_{t >= j} exp s_t  of the scores in that order
Every loss is a scalar, the mean over the lists of the batch. Equal targets have no order: listwise losses break ties at
random, anew at every call; the pairwise loss counts them as a draw; the pointwise loss gives them their average rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import softplus

from pellucid.models.ranking.devices import PRECISION

Weighting = Literal["inverse_log", "inverse", "linear"]
# Generators of the random order of ties: one for all lists, or one for each entry of the first axis.
TieBreaks: TypeAlias = torch.Generator | Sequence[torch.Generator] | None


def list_mle(
    scores: Tensor,
    targets: Tensor,
    weighting: Weighting | None = "inverse_log",
    *,
    generator: TieBreaks = None,
) -> Tensor:
    """ListMLE: minus the log-probability of the true order when items are drawn one by one, each with a probability
    proportional to exp(score) among those that are left; position j has weight c(j).

    `weighting`: c(j) = 1 / log(j + 1) ("inverse_log"), 1 / j ("inverse"), (k - j + 1) / (1 + ... + k) ("linear") or 1
    (None).
    """
    ordered = scores.gather(-1, descending(targets, generator).expand_as(scores))
    return in_order(ordered, position_weights(scores.shape[-1], weighting, scores)).mean()


def list_net(scores: Tensor, targets: Tensor) -> Tensor:
    """ListNet: cross-entropy of the probabilities of being first, -sum P_y log P_s. (The paper swaps the two; the loss
    would then fall without bound as the targets spread.)"""
    return -(targets.softmax(-1) * scores.log_softmax(-1)).sum(-1).mean()


def rank_net(scores: Tensor, targets: Tensor) -> Tensor:
    """RankNet: log-loss of the winner of each pair, i with probability 1 / (1 + exp(s_j - s_i)); mean over pairs."""
    i, j = torch.triu_indices(scores.shape[-1], scores.shape[-1], 1, device=scores.device)
    margin = scores[..., i] - scores[..., j]
    winner = 0.5 * (1.0 + torch.sign(targets[..., i] - targets[..., j])).to(margin.dtype)
    pairs = softplus(margin) - winner * margin
    return pairs.mean() if pairs.numel() else pairs.sum()


def subset_regression(scores: Tensor, targets: Tensor) -> Tensor:
    """Squared error between the score and the rank within the list, 1 for the best. The score predicts the rank, so
    for this loss alone a smaller score is better."""
    return ((scores - ranks(targets).to(scores.dtype)) ** 2).mean()


# ---------------------------------------------------------------------- parts of the losses


def ranks(values: Tensor) -> Tensor:
    """1 for the largest of each list; equal values share the average of their ranks."""
    above = (values[..., None, :] > values[..., :, None]).sum(-1)
    level = (values[..., None, :] == values[..., :, None]).sum(-1)
    return above + 0.5 * (level + 1)


def descending(targets: Tensor, generator: TieBreaks = None) -> Tensor:
    """Indices that sort each list, the best first, with ties in random order."""
    if isinstance(generator, Sequence):
        keys = torch.stack([_keys(targets.shape[1:], targets.device, g) for g in generator])
    else:
        keys = _keys(targets.shape, targets.device, generator)
    shuffled = keys.argsort(-1)
    order = targets.gather(-1, shuffled).argsort(dim=-1, descending=True, stable=True)
    return shuffled.gather(-1, order)


def _keys(shape: torch.Size, where: torch.device, generator: torch.Generator | None) -> Tensor:
    """Random keys. The user's default precision must not change how ties are broken, and no two keys may be equal:
    each processor sorts equal ones in its own order."""
    return torch.rand(shape, generator=generator, dtype=PRECISION, device=where)


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
    raise ValueError(f"`weighting` must be 'inverse_log', 'inverse', 'linear' or None, but got {weighting!r}.")


def in_order(ordered: Tensor, weights: Tensor) -> Tensor:
    """sum_j c(j) (Q_j - s_j) of lists whose scores are in the order of their targets, (...)."""
    Q = ordered.flip(-1).logcumsumexp(-1).flip(-1)
    return (weights * (Q - ordered)).sum(-1)
