"""The device that networks are trained on, and the conversion of arrays to and from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from pellucid.numerics import Array


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def own_mode() -> Iterator[None]:
    """Use gradients and full precision, regardless of the mode that the user's process has set in torch."""
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast(device().type, enabled=False):
        yield


def tensor(values: Array, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=dtype, device=device())


def array(values: Tensor) -> Array:
    return np.asarray(values.detach().cpu().numpy(), dtype=float)


def generators(seeds: Sequence[int]) -> list[torch.Generator]:
    """One generator per seed, on the CPU, so that the numbers do not depend on the device."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]
