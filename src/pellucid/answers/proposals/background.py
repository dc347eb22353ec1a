"""What a proposal is compared with: the whole space, its neighbourhood, or both, as axes and as evenly spread rows.

Notation: a background is a mixture of parts with equal weights. A part gives every column its own independent
distribution (an `Axis`), so that closed forms exist; {} draws every parameter from its own sampling distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from optuna.distributions import IntDistribution

from pellucid.models.averages.averages import Axis
from pellucid.numerics import Array, Integers, stream
from pellucid.space.encoding import Dimension, Space
from pellucid.threads import no_fork

Background = Literal["global", "local", "hybrid"]
Part = Mapping[int, Axis]
# Half-width of a proposal's neighbourhood, as a share of every range.
NEIGHBOURHOOD = 0.1
# Binary digits of the Sobol' sequence.
_BITS = 30
# A neighbourhood with this many discrete values is treated as continuous.
_MANY_VALUES = 2048


def parts_of(background: Background, space: Space, x: Array, players: Sequence[int]) -> list[Part]:
    """The parts of a background for the proposal x (d,).

    A parameter that the proposal lacks although nothing switches it off keeps the value that the model has for it, so
    it gets no credit.
    """
    active = space.active(x[None])[0]
    lacking = {j: Axis.at(float(x[j])) for j in range(len(space)) if active[j] and j not in players}
    switches = {rule.parent for rule in space.conditions.values() if rule.codes is not None}
    local = {j: _near(space.dimensions[j], float(x[j]), space.names[j] in switches) for j in players}
    everywhere: Part = lacking
    nearby: Part = {**lacking, **local}
    return {"global": [everywhere], "local": [nearby], "hybrid": [everywhere, nearby]}[background]


def _near(dimension: Dimension, u: float, value_by_value: bool) -> Axis:
    """Values within a tenth of the range, and at least one step to each side of a discrete value; any choice, because
    choices have no neighbours. `value_by_value`: keep single values however many there are, because they switch other
    parameters on and off."""
    if dimension.nominal:
        return Axis.of(dimension)
    low, high = max(0.0, u - NEIGHBOURHOOD), min(1.0, u + NEIGHBOURHOOD)
    if not dimension.cells:
        return Axis.between(low, high)
    here, first, last = (int(code) for code in dimension.code(np.array([u, low, high])))
    first, last = max(0, min(first, here - 1)), min(dimension.cells - 1, max(last, here + 1))
    if last - first >= _MANY_VALUES and not value_by_value:
        return Axis.between(low, high)
    codes = np.arange(first, last + 1)
    widths = np.ones(len(codes))
    kind = dimension.distribution
    if isinstance(kind, IntDistribution) and kind.log:
        # With the probabilities of the sampling distribution.
        widths = np.log((codes + kind.low + 0.5) / (codes + kind.low - 0.5))
    return Axis(dimension.midpoint(codes), widths / widths.sum())


def rows_of(part: Part, space: Space, first: int, count: int, replicate: int) -> Array:
    """Rows `first` to `first + count` of an evenly spread sample of a part: a Sobol' sequence with a random digital
    shift, independent for every replicate. Counts that are powers of two are spread best.

    Every parameter has a drawn value even if the row's other values switch it off: a coalition may switch it on.
    """
    shift = stream(0, "background", replicate).integers(0, 2**_BITS, len(space))
    u = ((_digits(len(space), first, count) ^ shift) + 0.5) / 2**_BITS
    for j, axis in part.items():
        u[:, j] = axis.quantiles(u[:, j])
    for j, dimension in enumerate(space.dimensions):
        u[:, j] = dimension.snap(u[:, j])
    return np.asarray(u)


@lru_cache(maxsize=8)
def _digits(d: int, first: int, count: int) -> Integers:
    """Rows of the Sobol' sequence in d dimensions as binary digits; the same for every replicate."""
    with no_fork:
        from scipy.stats import qmc  # Slow to import, and used only here.

    sequence = qmc.Sobol(d, scramble=False, bits=_BITS)
    if first:
        sequence.fast_forward(first)
    return np.asarray((sequence.random(count) * 2**_BITS).astype(np.int64))
