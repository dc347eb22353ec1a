"""The latent scale of losses: where a chain of regressions is at home.

Notation
    w        log warp: w(y) = log((y - lowest) / reach + 1);  None if losses are too much alike to have a scale
    latent   (w(loss) - shift) / unit, of losses between the two `fences`

A diverged loss of 1e9 is a bad loss and not a scale for all others: losses far outside the others count as the nearest
of two fences. The warp is there because near the best loss curves differ by less than elsewhere: `lowest` is the lowest
loss kept, and `reach` is the way from there to the median value. Without it, chances of beating the best are too high.
Fences and warp move with the losses, so that predictions follow every linear change of their unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.models.curves.forecast import Forecast
from pellucid.models.states import Warp
from pellucid.models.warp import LARGEST_VALUE, forward
from pellucid.numerics import Array

# Fences are as far from the median of all kept losses as this many times the distance of their 10% and 90% quantiles:
# far enough to leave the design tasks as they are. Much farther away, a few diverging trials would raise the chances of
# all others. If a fifth of the losses diverge, the 90% quantile is one of them: it counts as no farther from the median
# than this many times the distance of the 10% quantile.
_TAIL, _FENCE, _SKEW = 0.1, 3.0, 10.0
# The reach of the warp is at least this share of the way from the lowest loss to the 90% quantile of values.
_SMALLEST_REACH = 0.1
# Spread below which losses count as equal, relative to their size.
_SMALLEST_SPREAD = 1e-12
# Degrees of freedom that a forecast has at most. The chain's own rise with the length of a curve, but curves cross more
# often than smooth starts suggest. In simulated studies of the design tasks, which were not kept, eight times as many
# trials with a stated chance below 1% became the best, and 95% intervals held 92% of values; with 4, two and a half
# times as many, and 95%. `pellucid bench forecasts` measures both as they are now.
_MOST_FREEDOM = 4.0


@dataclass(frozen=True)
class Scale:
    fences: tuple[float, float]
    warp: Warp | None
    shift: float
    unit: float

    @staticmethod
    def of(losses: Array, values: Array) -> Scale:
        """The scale of losses, NaN where there is none; their last column has the returned values, and `values` has
        those that are known."""
        fences = _fences(losses, float(values.min()))
        kept = np.clip(losses, *fences)
        warp = _warp(kept, np.clip(values, *fences))
        return Scale(fences, warp, *_shift_and_unit(forward(warp, kept)))

    def latent(self, losses: Array) -> Array:
        return np.asarray((forward(self.warp, np.clip(losses, *self.fences)) - self.shift) / self.unit)

    def forecast(self, mean: Array, sd: Array, freedom: Array) -> Forecast:
        """The forecast that has these latent means and scales."""
        freedom = np.minimum(freedom, _MOST_FREEDOM)
        return Forecast(self.shift + self.unit * mean, self.unit * sd, freedom, self.warp)


def _fences(losses: Array, best: float) -> tuple[float, float]:
    """`best`: the least value that a trial returned. It is never outside: where few trials learn anything, those few
    are far from all others."""
    known = losses[~np.isnan(losses)]
    low, middle, high = np.quantile(0.5 * known, [_TAIL, 0.5, 1.0 - _TAIL])  # Halved, so that differences stay finite.
    if high <= low:
        return -LARGEST_VALUE, LARGEST_VALUE
    if middle > low:
        high = min(high, middle + _SKEW * (middle - low))
    width = min(_FENCE * float(high - low), LARGEST_VALUE / 4.0)
    return min(2.0 * float(middle - width), best), 2.0 * float(middle + width)


def _warp(losses: Array, values: Array) -> Warp | None:
    known = losses[~np.isnan(losses)]
    lowest, highest = float(known.min()), float(known.max())
    middle, upper = np.quantile(values, [0.5, 0.9])
    reach = float(max(middle - lowest, _SMALLEST_REACH * (upper - lowest)))
    if not _SMALLEST_SPREAD * max(abs(lowest), abs(float(middle)), 1e-300) < reach < np.inf:
        return None
    return Warp("log", lowest, reach, 1.0, lowest, highest)


def _shift_and_unit(latent: Array) -> tuple[float, float]:
    """Median of all latent losses and sd of the latent values; if all values are equal, the sd of the losses."""
    known = latent[~np.isnan(latent)]
    shift = float(np.median(known))
    smallest = _SMALLEST_SPREAD * max(float(np.abs(known).max()), 1e-300)
    for losses in (latent[:, -1][~np.isnan(latent[:, -1])], known):
        unit = float(np.std(losses - shift))
        if unit > smallest:
            return shift, unit
    return shift, max(smallest, 1e-300)
