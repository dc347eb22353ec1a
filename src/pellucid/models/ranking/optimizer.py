"""Adam for weights that are adjacent in one block of memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pellucid.models.ranking.devices import device
from pellucid.models.ranking.network import Weights

# Adam: how much its two moments keep of the past and take of a new gradient, and the term that keeps steps finite. The
# values of its authors.
_DECAYS, _GAINS, _EPSILON = (0.9, 0.999), (0.1, 0.001), 1e-8


class Adam:
    """Adam with decoupled weight decay.

    Torch's own Adam imports torch's compiler at first use, which takes seconds; a proposal takes a tenth of a second.
    The weights are adjacent in one block of memory (see `leaves`), and so are their moments, so that adjacent weights
    with a gradient are updated in one operation.
    """

    def __init__(self, weights: Weights, rate: float, decay: float = 0.0) -> None:
        self._rate, self._shrinkage, self._step = rate, 1.0 - rate * decay, 0
        self._weights = list(weights.values())
        self._ends = np.cumsum([w.numel() for w in self._weights]).tolist()
        self._all = self._weights[0].detach().as_strided((self._ends[-1],), (1,))
        self._first, self._second = torch.zeros_like(self._all), torch.zeros_like(self._all)

    def step(self) -> None:
        """Update the weights and clear their gradients."""
        with torch.no_grad():
            self._step += 1
            begin, gradients = 0, list[Tensor]()
            for w, end in zip(self._weights, self._ends, strict=True):
                if w.grad is None:  # The context had no support to read.
                    self._move(begin, gradients)
                    begin, gradients = end, []
                else:
                    gradients.append(w.grad.reshape(-1))
                    w.grad = None
            self._move(begin, gradients)

    def _move(self, begin: int, gradients: Sequence[Tensor]) -> None:
        """Update adjacent weights, of which the first is number `begin`."""
        if not gradients:
            return
        g = torch.cat(list(gradients))
        w, first, second = (block[begin : begin + len(g)] for block in (self._all, self._first, self._second))
        rate = self._rate / (1.0 - _DECAYS[0] ** self._step)
        unbias = (1.0 - _DECAYS[1] ** self._step) ** 0.5
        first.lerp_(g, _GAINS[0])
        second.mul_(_DECAYS[1]).addcmul_(g, g, value=_GAINS[1])
        w.mul_(self._shrinkage).addcdiv_(first, second.sqrt().div_(unbias).add_(_EPSILON), value=-rate)


def leaves(weights: Weights) -> Weights:
    """Copies that can be trained, adjacent in one block of memory.

    Always in the same order, because the position of a number decides how sums are rounded: a model that was written to
    a file and read again must learn exactly as before.
    """
    ordered = dict(sorted(weights.items()))
    block = torch.cat([value.detach().reshape(-1) for value in ordered.values()]).to(device())
    slices = block.split([value.numel() for value in ordered.values()])
    return {
        name: part.view(value.shape).detach().requires_grad_()
        for part, (name, value) in zip(slices, ordered.items(), strict=True)
    }


def copied(weights: Weights) -> Weights:
    return {name: value.detach().clone() for name, value in weights.items()}
