"""Many small networks of linear maps at once, with hand-written gradients.

Notation (and that of network.py)
    x (G, N, K)        input of all M members of an ensemble
    h (G M, width, N)  hidden values of every member, after the activation max(0, .)
    g                  gradient of the loss with respect to the output of a map, of the same shape as the output

Allocating large blocks of memory takes about as long as the arithmetic in them, because the system provides it page by
page. So all operations work in place, in an arena that every step reuses. All maps are one node of autograd, because
eight nodes would need several times the bookkeeping. Hidden values have the configurations last: in double precision,
products with matrices this small take two thirds of the time that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Arena:
    """Memory of one step of training. Blocks that are taken in the same order in every step are reused."""

    def __init__(self) -> None:
        self._blocks: list[Tensor] = []
        self._taken = 0

    def free(self) -> None:
        """Release all blocks. Call it between a backward pass and the next forward pass."""
        self._taken = 0

    def take(self, shape: Sequence[int], like: Tensor) -> Tensor:
        size = torch.Size(shape).numel()
        if self._taken == len(self._blocks):
            self._blocks.append(like.new_empty(size))
        elif self._blocks[self._taken].numel() < size:
            self._blocks[self._taken] = like.new_empty(size)
        self._taken += 1
        return self._blocks[self._taken - 1][:size].view(*shape)


def apply_layers(
    x: Tensor, context: Tensor | None, maps: Sequence[tuple[Tensor, Tensor]], arena: Arena | None
) -> Tensor:
    """Output (G, M, N, out) of linear maps W (G, M, in, out), b (G, M, 1, out) with activations between them.

    `context` (G, N, C) is appended to x. Gradients flow to the context, and to x if it requires them.
    """
    out: Tensor = _Layers.apply(arena or Arena(), x, context, *(tensor for pair in maps for tensor in pair))
    return out


class _Layers(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, arena: Arena, x: Tensor, context: Tensor | None, *maps: Tensor) -> Tensor:
        G, M = maps[0].shape[:2]
        inputs = x if context is None else torch.cat([x, context], -1)
        hidden, N, last = [inputs], inputs.shape[1], len(maps) // 2 - 1
        h, rows = inputs.mT, [_rows(maps[0]), *(W.reshape(G * M, *W.shape[2:]).mT for W in maps[2::2])]
        for k, (W, b) in enumerate(zip(rows, maps[1::2], strict=True)):
            shape = (len(W), W.shape[1], N)
            out = h.new_empty(shape) if k == last else arena.take(shape, h)
            torch.baddbmm(b.reshape(len(W), -1, 1), W, h, out=out)
            h = out.view(G * M, b.shape[-1], N)
            if k < last:
                hidden.append(h.relu_())
        ctx.save_for_backward(*rows, *hidden)
        ctx.arena, ctx.sizes, ctx.own = arena, (G, M), x.shape[-1]
        return h.mT.reshape(G, M, N, h.shape[1])

    @staticmethod
    def backward(ctx: Any, g_out: Tensor) -> tuple[Tensor | None, ...]:
        (G, M), saved = ctx.sizes, ctx.saved_tensors
        rows, hidden = saved[: len(saved) // 2], saved[len(saved) // 2 :]
        g = g_out.mT.reshape(G * M, *g_out.mT.shape[2:])
        g_maps: list[Tensor] = []
        for W, h in zip(rows[:0:-1], hidden[:0:-1], strict=True):
            g_maps += [g.sum(-1).reshape(G, M, 1, -1), torch.bmm(h, g.mT).reshape(G, M, h.shape[1], -1)]
            out = ctx.arena.take(h.shape, h)
            g = torch.mul(W.mT, g, out=out) if g.shape[1] == 1 else torch.bmm(W.mT, g, out=out)
            torch.ops.aten.threshold_backward.grad_input(g, h, 0.0, grad_input=g)
        W, inputs = rows[0], hidden[0]
        g = g.reshape(G, W.shape[1], g.shape[-1])
        g_first = torch.bmm(inputs.mT, g.mT).reshape(G, inputs.shape[-1], M, -1).transpose(1, 2)
        g_maps += [g.sum(-1).reshape(G, M, 1, -1), g_first]
        g_x = torch.bmm(W[..., : ctx.own].mT, g).mT if ctx.needs_input_grad[1] else None
        g_context = torch.bmm(W[..., ctx.own :].mT, g).mT if ctx.needs_input_grad[2] else None
        return None, g_x, g_context, *reversed(g_maps)


def _rows(W: Tensor) -> Tensor:
    """(G, M, in, out) -> (G, M out, in): all members as one map, because they share their input."""
    return W.mT.reshape(len(W), -1, W.shape[2])


def nearest(here: Tensor, there: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted average (B, n, V) at `here` (B, n, C) of values (B, s, V) at `there` (B, s, C), and the log of the sum
    of its weights exp(-distance^2), (B, n, 1)."""
    result: tuple[Tensor, Tensor] = _Nearest.apply(here, there, values)
    return result


class _Nearest(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, here: Tensor, there: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        here_squared, there_squared = here.square().sum(-1, keepdim=True), there.square().sum(-1)[:, None]
        # Rounding can make a squared distance of zero negative; its gradient is zero either way.
        near = torch.baddbmm(there_squared, here, there.mT, beta=-1.0, alpha=2.0).sub_(here_squared).clamp_(max=0.0)
        total = near.logsumexp(-1, keepdim=True)
        share = near.sub_(total).exp_()
        average = torch.bmm(share, values)
        ctx.save_for_backward(here, there, values, share, average)
        return average, total

    @staticmethod
    def backward(ctx: Any, g_average: Tensor, g_total: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        here, there, values, share, average = ctx.saved_tensors
        common = (g_average * average).sum(-1, keepdim=True) - g_total
        g = torch.bmm(g_average, values.mT).sub_(common).mul_(share)
        g_here = torch.bmm(g, there).sub_(g.sum(-1, keepdim=True) * here).mul_(2.0)
        g_there = torch.bmm(g.mT, here).sub_(g.sum(-2)[..., None] * there).mul_(2.0)
        return g_here, g_there, torch.bmm(share.mT, g_average)
