"""What a proposal is compared with: the whole space, its neighbourhood, or both; as axes, and as evenly spread rows.

Notation: a background is a mixture of parts with equal weights; a part gives every column its own independent
distribution (an `Axis`), so that closed forms exist. {} is the space as a sampler without preferences would draw it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from pellucid.numerics import Array, stream
from pellucid.space.encoding import Condition, Dimension, Space
from pellucid.surrogates.averages import Axis

Background = Literal["global", "local", "hybrid"]
Part = Mapping[int, Axis]
NEIGHBOURHOOD = 0.1
_BITS = 30
_ROUNDING = 1e-9


def parts_of(background: Background, space: Space, x: Array, players: Sequence[int]) -> list[Part]:
    """The parts of a background for the proposal x (d,)."""
    if background not in get_args(Background):
        raise ValueError(f"`background` is one of {', '.join(get_args(Background))}, but got {background!r}.")
    everywhere: Part = {}
    local: Part = {j: _near(space.dimensions[j], float(x[j])) for j in players}
    return {"global": [everywhere], "local": [local], "hybrid": [everywhere, local]}[background]


def _near(dimension: Dimension, u: float) -> Axis:
    """Values within a tenth of the range; at least one step to each side of a discrete value; any choice, because
    choices have no neighbours."""
    if dimension.nominal:
        return Axis.of(dimension)
    if not dimension.cells:
        return Axis.between(max(0.0, u - NEIGHBOURHOOD), min(1.0, u + NEIGHBOURHOOD))
    code = int(dimension.code(np.array([u]))[0])
    steps = dimension.midpoint(np.clip(np.array([code - 1, code + 1]), 0, dimension.cells - 1))
    low, high = min(u - NEIGHBOURHOOD, float(steps[0])), max(u + NEIGHBOURHOOD, float(steps[1]))
    nearby = Condition(dimension.name, None, low - _ROUNDING, high + _ROUNDING)
    return Axis.of(dimension, every_value=True).where(dimension, nearby).normalised()


def rows_of(part: Part, space: Space, first: int, count: int, replicate: int) -> Array:
    """Rows `first` to `first + count` of an endless evenly spread sample of a part: a Sobol' sequence, its digits
    shifted at random, independently for every replicate. Counts that are powers of two are spread best."""
    from scipy.stats import qmc  # Slow to import, and nothing else needs it.

    sequence = qmc.Sobol(len(space), scramble=False, bits=_BITS)
    if first:
        sequence.fast_forward(first)
    digits = (sequence.random(count) * 2**_BITS).astype(np.int64)
    shift = stream(0, "background", replicate).integers(0, 2**_BITS, len(space))
    u = ((digits ^ shift) + 0.5) / 2**_BITS
    for j, axis in part.items():
        u[:, j] = axis.quantiles(u[:, j])
    return space.canonical(u)
