"""Stationary kernels on the unit cube: tensor products (integrals in closed form) and radial ones (for comparison).

Notation
    X        (n, d)   encoded configurations
    l        (d,)     lengthscales; for a nominal column the Hamming length, correlation exp(-1/l) between categories
    a_j      (n,)     column j of X scaled by c / l_j, c = sqrt(3), sqrt(5) or 1; category codes where nominal
    r_j               |a_j - b_j|
    R        (m, n)   correlations, R(x, x) = 1; the surrogate multiplies them by its variance

Every product kernel is `R = P * exp(-S)`: S is the sum of r_j (r_j^2/2 for se, 1/l_j where categories differ), P the
product of polynomials of r_j. One exponential serves a group of columns. Groups are small enough to keep P finite in
any dimension (r is clipped to 700, where the factor is zero anyway), and 0 * finite = 0 when exp underflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pellucid.numerics import Array
from pellucid.threads import cached_property

KERNELS = ("matern32", "matern52", "se", "matern52-radial", "rbf-radial")
PRODUCT_KERNELS = KERNELS[:3]
RATE = {
    "matern32": np.sqrt(3.0),
    "matern52": np.sqrt(5.0),
    "se": 1.0,
    "matern52-radial": np.sqrt(5.0),
    "rbf-radial": 1.0,
}
# Scaled distances are clipped here: exp(-700) is still a normal float, and practically zero.
LARGEST_R = 700.0
# Columns whose polynomials can be multiplied without overflow, in double and single precision: with r = 700, the 16th
# power of 1 + r + r^2/3 is below 1e308 and the 7th below 3e38.
_GROUP, _SINGLE_PRECISION_GROUP = 16, 7
# Up to this many distances (d m n), one expression over all columns is faster than a loop over columns.
_SMALL = 60_000
# Size of a block of rows: large enough that the loop over blocks costs little, small enough to stay in the cache.
_BLOCK_BYTES = 98_304
# Arrays in single or double precision.
Floats = npt.NDArray[np.floating]


def _group(kind: np.dtype[Any]) -> int:
    return _GROUP if kind == np.float64 else _SINGLE_PRECISION_GROUP


@dataclass(frozen=True)
class Kernel:
    """A kernel family, and which columns are nominal (`nominal[j]`: number of categories, 0 for ordered columns)."""

    name: str
    nominal: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise ValueError(f"`kernel` must be one of {', '.join(KERNELS)}, but got {self.name!r}.")

    @property
    def radial(self) -> bool:
        return self.name not in PRODUCT_KERNELS

    def is_nominal(self, j: int) -> bool:
        return bool(self.nominal) and self.nominal[j] > 0

    def codes(self, x: Array, j: int) -> Array:
        """Category codes 0, 1, ... of encoded values in nominal column j."""
        return np.asarray(np.clip(np.floor(x * self.nominal[j]), 0, self.nominal[j] - 1))

    def columns(self, X: Array, l: Array) -> Array:
        """Scaled columns a_j as the rows of a (d, n) array; category codes (0, 1, ...) where nominal."""
        out = X.T * (RATE[self.name] / l)[:, None]
        for j in range(len(out) if self.nominal else 0):
            if self.is_nominal(j):
                out[j] = self.codes(X[:, j], j)
        return np.ascontiguousarray(out)

    def cross(self, A: Floats, B: Floats, l: Array) -> Floats:
        """Correlations (m, n) between scaled columns A (d, m) and B (d, n), in the precision of the columns."""
        (d, m), n = A.shape, B.shape[1]
        if m * n * d <= _SMALL:
            return self._at_once(self._distances(A, B, l), l)
        out = np.empty((m, n), dtype=A.dtype)
        self._fill(A, B, l, out, triangle=B is A)
        return np.tril(out) + np.tril(out, -1).T if B is A else out

    def gram(self, A: Array, l: Array) -> Array:
        """Correlations (n, n) of scaled columns with themselves. Only the lower triangle is filled in; the rest is
        finite."""
        out = np.zeros((A.shape[1], A.shape[1]))
        self._fill(A, A, l, out, triangle=True)
        return out

    def _fill(self, A: Floats, B: Floats, l: Array, out: Floats, triangle: bool) -> None:
        """Fill `out` in blocks of rows, so that the work on a block stays in the cache; blocks share scratch space."""
        m, n = out.shape
        rows = max(1, min(m, _BLOCK_BYTES // (max(n, 1) * out.itemsize)))
        scratch = np.empty((2, rows * n), dtype=out.dtype)
        clip = not self.radial and self._reaches_far(A, B)
        for start in range(0, m, rows):
            stop = min(start + rows, m)
            right = stop if triangle else n
            a, b, block = A[:, start:stop], B[:, :right], out[start:stop, :right]
            if self.radial:
                block[:] = self._at_once(self._distances(a, b, l), l)
            else:
                r, S = (part[: block.size].reshape(block.shape) for part in scratch)
                self._product_block(a, b, l, block, r, S, clip)

    def _reaches_far(self, A: Floats, B: Floats) -> bool:
        """Whether any scaled distance can exceed `LARGEST_R`."""
        if A.shape[1] == 0 or B.shape[1] == 0:
            return False
        high, low = np.maximum(A.max(axis=1), B.max(axis=1)), np.minimum(A.min(axis=1), B.min(axis=1))
        return not bool((high - low).max() <= LARGEST_R)

    def _distances(self, A: Floats, B: Floats, l: Array) -> Floats:
        """Signed a_j - b_j, (d, m, n); 1 / l_j where categories differ."""
        delta = A[:, :, None] - B[:, None, :]
        for j in range(len(A) if self.nominal else 0):
            if self.is_nominal(j):
                delta[j] = np.where(delta[j] != 0.0, 1.0 / l[j], 0.0)
        return np.asarray(delta)

    @cached_property
    def _ordered(self) -> Any:
        """Index of the ordered columns; a slice if all are ordered, so that nothing is copied."""
        return [j for j, k in enumerate(self.nominal) if k == 0] if self.nominal else slice(None)

    @cached_property
    def _unordered(self) -> Any:
        return [j for j, k in enumerate(self.nominal) if k > 0]

    def _at_once(self, delta: Floats, l: Array) -> Floats:
        """Correlations from signed distances (d, m, n), all columns in one expression: faster for few points."""
        hamming = delta[self._unordered].sum(axis=0) if self._unordered else 0.0
        ordered = delta[self._ordered]
        if self.name in ("se", "rbf-radial"):
            return np.asarray(np.exp(-0.5 * np.einsum("dmn,dmn->mn", ordered, ordered) - hamming))
        if self.name == "matern52-radial":
            S = np.einsum("dmn,dmn->mn", ordered, ordered)
            R = np.sqrt(S)
            return np.asarray((1.0 + R + S / 3.0) * np.exp(-R - hamming))
        r = np.minimum(np.abs(ordered), LARGEST_R)
        out = np.exp(-hamming) if self._unordered else None
        size = _group(delta.dtype)
        for first in range(0, len(r), size):
            group = r[first : first + size]
            polynomial = 1.0 + group if self.name == "matern32" else 1.0 + group * (1.0 + group / 3.0)
            part = np.multiply.reduce(polynomial, axis=0) * np.exp(-group.sum(axis=0))
            out = part if out is None else out * part
        return np.asarray(np.ones(delta.shape[1:]) if out is None else out)

    def _product_block(self, A: Floats, B: Floats, l: Array, out: Floats, r: Floats, S: Floats, clip: bool) -> None:
        """The same column by column and in place: faster for many points. `r` (distances) and `S` (minus their sum) are
        scratch space of the shape of `out`."""
        size = _group(out.dtype)
        P = out if len(A) <= size else np.empty_like(r)
        for first in range(0, len(A), size):
            S[:] = 0.0
            P[:] = 1.0
            for j in range(first, min(first + size, len(A))):
                if self.is_nominal(j):
                    S -= np.not_equal.outer(A[j], B[j]) * out.dtype.type(1.0 / l[j])
                    continue
                np.subtract(A[j][:, None], B[j], out=r)
                if self.name == "se":
                    r *= r
                    r *= 0.5
                    S -= r
                    continue
                np.abs(r, out=r)
                if clip:
                    np.minimum(r, LARGEST_R, out=r)
                S -= r
                if self.name == "matern52":
                    P *= 1.0 + r * (1.0 + r * (1.0 / 3.0))
                else:
                    r += 1.0
                    P *= r
            np.exp(S, out=S)
            if P is out:
                P *= S
            elif first:
                S *= P
                out *= S
            else:
                np.multiply(P, S, out=out)

    def cross_with_slopes(self, A: Array, B: Array, l: Array) -> tuple[Array, Array]:
        """Correlations R (m, n) and d log R / dx (d, m, n) for x in the first argument; 0 for nominal columns."""
        delta = np.asarray(self._distances(A, B, l), dtype=float)
        R = np.asarray(self._at_once(delta, l), dtype=float)
        if self.name == "matern32":
            slopes = delta / (1.0 + np.abs(delta))
        elif self.name == "matern52":
            r = np.abs(delta)
            slopes = delta * (1.0 + r) / (3.0 + 3.0 * r + r * r)
        elif self.name == "matern52-radial":
            S = np.einsum("dmn,dmn->mn", delta[self._ordered], delta[self._ordered])
            r = np.sqrt(S)
            slopes = delta * ((1.0 + r) / (3.0 + 3.0 * r + S))
        else:
            slopes = delta
        slopes *= (-RATE[self.name] / l)[:, None, None]
        if self._unordered:
            slopes[self._unordered] = 0.0
        return R, slopes
