"""The posterior of a process at many points, with sds only where they are needed.

Notation
    r (n, m)  correlations of n data with m points;  C = L L', v = L^-1 r;  s outputscale
    mean      r' alpha;  sd^2 = s (1 - |v|^2)
    k         the first data, a quarter of all: the first k rows of v need no others, so that
              sd^2 <= s (1 - |v[:k]|^2) costs a sixteenth, and the rest can be added where it matters
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.numerics import Array, Cholesky, Mask


class Posterior:
    """Latent mean (m,) and sds at m points, from their correlations (n, m) with the data, which are overwritten.

    Ask once: for `sd`, or for `sd_at_most` and then for `sd_where`.
    """

    def __init__(self, factor: Cholesky, alpha: Array, outputscale: float, smallest: float, r: Array) -> None:
        self.mean: Array = alpha @ r
        self._factor, self._outputscale, self._smallest, self._r = factor, outputscale, smallest, r
        self._v = self._explained = np.empty(0)

    def sd(self) -> Array:
        """(m,)"""
        return self._sd(_squares(self._factor.half_solve_overwriting(self._r)))

    def sd_at_most(self) -> Array:
        """(m,), an upper bound."""
        head, _, _ = self._factor.parts
        self._v = head.half_solve_overwriting(self._r[: len(head.L)])
        self._explained = _squares(self._v)
        return self._sd(self._explained)

    def sd_where(self, points: Mask) -> Array:
        """The sds of these points."""
        head, below, tail = self._factor.parts
        columns = np.flatnonzero(points)
        rest = self._r[len(head.L) :].take(columns, axis=1)
        rest -= below @ self._v.take(columns, axis=1)
        return self._sd(self._explained[points] + _squares(tail.half_solve_overwriting(rest)))

    def _sd(self, explained: Array) -> Array:
        return np.asarray(np.sqrt(self._outputscale * np.maximum(1.0 - explained, self._smallest)))


def _squares(v: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", v, v))


Posteriors = Sequence[Posterior]
