"""The device and the precision that networks are trained with, and the conversion of arrays to and from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from pellucid.numerics import Array

# Each processor rounds sums in its own order, and training makes the differences larger: after 300 epochs, losses of
# one network differ by 3e-3 between two instruction sets in single precision, and by 1e-14 in double precision. That
# makes a proposal a seventh slower and meta-training less than twice as slow.
PRECISION = torch.float64


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def own_mode() -> Iterator[None]:
    """Use gradients and full precision, regardless of the mode that the user's process has set in torch."""
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast(device().type, enabled=False):
        yield


def tensor(values: Array) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=PRECISION, device=device())


def array(values: Tensor) -> Array:
    return np.asarray(values.detach().cpu().numpy(), dtype=float)


def generators(seeds: Sequence[int]) -> list[torch.Generator]:
    """One generator per seed, on the CPU, so that the numbers do not depend on the device."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]
