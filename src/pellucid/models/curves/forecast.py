"""Where curves may end: Student t distributions behind a monotone warp.

Notation
    w          increasing warp from loss to latent loss
    t_f        Student t distribution with f degrees of freedom;  w(end) ~ mean + scale * t_f
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from pellucid.models.states import Warp
from pellucid.models.warp import forward, inverse
from pellucid.numerics import Array, check_level
from pellucid.threads import cached_property

# Quantiles whose average gives mean and sd. Those of the outermost 0.1% are left out: behind a warp, the moments of a
# Student t distribution need not exist.
_LEVELS = (np.arange(40) + 0.5) / 40
_OUTERMOST = 0.001


@dataclass(frozen=True, eq=False)
class Forecast:
    """The returned values of m trials, as losses. All arrays (m,).

    centre, scale   of the latent losses;  freedom  degrees of freedom
    """

    centre: Array
    scale: Array
    freedom: Array
    warp: Warp | None

    def __len__(self) -> int:
        return len(self.centre)

    def quantile(self, level: float | Array) -> Array:
        """The loss that is not exceeded with this probability (m,), or (m, k) for k levels."""
        levels = np.asarray(level, dtype=float)
        shape = (-1,) + (1,) * levels.ndim
        freedoms, which = np.unique(self.freedom, return_inverse=True)  # Few, and the inverse is slow.
        t = stdtrit(freedoms.reshape(shape), levels)[which]
        return inverse(self.warp, self.centre.reshape(shape) + self.scale.reshape(shape) * t)

    @property
    def median(self) -> Array:
        return inverse(self.warp, self.centre)

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """The central interval of this probability."""
        check_level(level)
        return self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level)

    def better_than(self, loss: float | Array) -> Array:
        """Probability that a trial returns less than this loss (m,)."""
        gap = forward(self.warp, np.broadcast_to(np.asarray(loss, dtype=float), (len(self),))) - self.centre
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = np.where(self.scale > 0.0, gap / self.scale, np.where(gap > 0.0, np.inf, -np.inf))
        return np.asarray(stdtr(self.freedom, z))

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Mean and sd of the loss between its 0.1% and its 99.9% quantile, by the mid-points of 40 equal shares."""
        levels = _OUTERMOST + (1.0 - 2.0 * _OUTERMOST) * _LEVELS
        values = self.quantile(levels)
        # Scaled, because losses near 1e300 are allowed and their squares overflow.
        size = np.maximum(np.abs(values).max(axis=1, initial=0.0), 1e-300)
        scaled = values / size[:, None]
        return scaled.mean(axis=1) * size, scaled.std(axis=1) * size

    @property
    def mean(self) -> Array:
        return self.moments[0]

    @property
    def sd(self) -> Array:
        return self.moments[1]
