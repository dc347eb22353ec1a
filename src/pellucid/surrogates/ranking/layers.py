"""Many small networks of linear maps at once, with their gradients written out.

Notation (and that of network.py)
    x (G, N, K)        what all M members of an ensemble see
    h (G M, N, width)  of every member between two maps, after its reaction max(0, .)
    g                  slope of the loss in what a map returned, as large as that

Large pieces of fresh memory cost about as much as the arithmetic in them, because the system hands them out page by
page. Hence everything happens in place, in an arena that is used again in every step. And what autograd knows as one
node has a fraction of the bookkeeping of what it knows as eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Arena:
    """Memory of one step of training: what is taken in the same order every time is the same piece."""

    def __init__(self) -> None:
        self._pieces: list[Tensor] = []
        self._taken = 0

    def free(self) -> None:
        """Everything that was taken is used up: call it between a backward pass and the next forward pass."""
        self._taken = 0

    def take(self, shape: Sequence[int], like: Tensor) -> Tensor:
        size = torch.Size(shape).numel()
        if self._taken == len(self._pieces):
            self._pieces.append(like.new_empty(size))
        elif self._pieces[self._taken].numel() < size:
            self._pieces[self._taken] = like.new_empty(size)
        self._taken += 1
        return self._pieces[self._taken - 1][:size].view(*shape)


def through(x: Tensor, heard: Tensor | None, maps: Sequence[tuple[Tensor, Tensor]], arena: Arena | None) -> Tensor:
    """What linear maps W (G, M, in, out), b (G, M, 1, out) with a reaction between them make of x, (G, M, N, out).

    `heard` (G, N, C) is more of x; slopes go back into it, and into x where x wants them.
    """
    found: Tensor = _Layers.apply(arena or Arena(), x, heard, *(one for pair in maps for one in pair))
    return found


class _Layers(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, arena: Arena, x: Tensor, heard: Tensor | None, *maps: Tensor) -> Tensor:
        G, M = maps[0].shape[:2]
        flat = [one.reshape(G * M, *one.shape[2:]) for one in maps]
        seen = x if heard is None else torch.cat([x, heard], -1)
        h = seen[:, None].expand(-1, M, -1, -1).reshape(G * M, *seen.shape[1:])
        kept = [h]
        for W, b in zip(flat[:-2:2], flat[1:-2:2], strict=True):
            h = torch.baddbmm(b, h, W, out=arena.take((*h.shape[:2], W.shape[-1]), h)).relu_()
            kept.append(h)
        W, b = flat[-2:]
        # With one output the transposed product is several times as fast.
        out = torch.baddbmm(b.mT, W.mT, h.mT).mT if W.shape[-1] == 1 else torch.baddbmm(b, h, W)
        ctx.save_for_backward(*flat[::2], *kept)
        ctx.arena, ctx.sizes, ctx.own = arena, (G, M), x.shape[-1]
        return out.reshape(G, M, *out.shape[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        (G, M), saved = ctx.sizes, ctx.saved_tensors
        weights, kept = saved[: len(saved) // 2], saved[len(saved) // 2 :]
        g = slope.reshape(G * M, *slope.shape[2:])
        back: list[Tensor] = []
        for k in range(len(weights) - 1, -1, -1):
            W, h = weights[k], kept[k]
            # The same product either way round, but not as fast: see above.
            back += [g.sum(-2, keepdim=True), torch.bmm(g.mT, h).mT if g.shape[-1] == 1 else torch.bmm(h.mT, g)]
            if k == 0:
                break
            g = _before(g, W, ctx.arena.take(h.shape, h))
            torch.ops.aten.threshold_backward.grad_input(g, h, 0.0, grad_input=g)
        of_x = of_heard = None
        if ctx.needs_input_grad[1]:
            of_x = _summed(g, weights[0][:, : ctx.own], ctx.arena, (G, M))
        if ctx.needs_input_grad[2]:
            of_heard = _summed(g, weights[0][:, ctx.own :], ctx.arena, (G, M))
        return None, of_x, of_heard, *(one.reshape(G, M, *one.shape[1:]) for one in reversed(back))


def _before(g: Tensor, W: Tensor, out: Tensor) -> Tensor:
    """The slope in what a map was given."""
    found: Tensor = torch.mul(g, W.mT, out=out) if g.shape[-1] == 1 else torch.bmm(g, W.mT, out=out)
    return found


def _summed(g: Tensor, W: Tensor, arena: Arena, sizes: tuple[int, int]) -> Tensor:
    """The slope in what all members were given, (G, N, K)."""
    found = _before(g, W, arena.take((*g.shape[:2], W.shape[1]), g))
    return found.view(*sizes, *found.shape[1:]).sum(1)


def nearest(here: Tensor, there: Tensor, said: Tensor) -> tuple[Tensor, Tensor]:
    """What is said (B, s, V) at places `there` (B, s, C), averaged by nearness to places `here` (B, n, C): (B, n, V).
    And the log of the sum of the weights exp(-distance^2), which says how near they are: (B, n, 1)."""
    found: tuple[Tensor, Tensor] = _Nearest.apply(here, there, said)
    return found


class _Nearest(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, here: Tensor, there: Tensor, said: Tensor) -> tuple[Tensor, Tensor]:
        ours, theirs = here.square().sum(-1, keepdim=True), there.square().sum(-1)[:, None]
        # Rounding can make a distance of nothing negative; its slope is nothing either way.
        near = torch.baddbmm(theirs, here, there.mT, beta=-1.0, alpha=2.0).sub_(ours).clamp_(max=0.0)
        total = near.logsumexp(-1, keepdim=True)
        share = near.sub_(total).exp_()
        average = torch.bmm(share, said)
        ctx.save_for_backward(here, there, said, share, average)
        return average, total

    @staticmethod
    def backward(ctx: Any, of_average: Tensor, of_total: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        here, there, said, share, average = ctx.saved_tensors
        common = (of_average * average).sum(-1, keepdim=True) - of_total
        g = torch.bmm(of_average, said.mT).sub_(common).mul_(share)
        of_here = torch.bmm(g, there).sub_(g.sum(-1, keepdim=True) * here).mul_(2.0)
        of_there = torch.bmm(g.mT, here).sub_(g.sum(-2)[..., None] * there).mul_(2.0)
        return of_here, of_there, torch.bmm(share.mT, of_average)
