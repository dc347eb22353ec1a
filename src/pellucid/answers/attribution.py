"""How the value of a function divides between the players of a game."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Attribution:
    """Shapley values of one output, or of t outputs of one function on the same samples.

    values      (p,) or (p, t), one per player;  intervals (..., 2) low and high at `level`, equal if exact
    payout      function at the explained point minus its average over the background, () or (t,)
    average     that average;  method 'exact', 'sampled' or 'baseline';  n_samples  rows or walks behind the numbers
    """

    values: Array
    intervals: Array
    payout: Array | float
    average: Array | float
    method: str
    n_samples: int
    level: float = 0.95

    @property
    def efficiency_gap(self) -> Array | float:
        """Sum of the values minus the payout, which should be equal: sampling error, or rounding."""
        gap = self.values.sum(axis=0) - self.payout
        return gap if self.values.ndim > 1 else float(gap)

    @property
    def half_widths(self) -> Array:
        return np.asarray(0.5 * (self.intervals[..., 1] - self.intervals[..., 0]))
