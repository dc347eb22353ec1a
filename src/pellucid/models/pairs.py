"""Correlations of a data set with itself and their gradients in the lengthscales: the inner loop of every fit.

Distances of all pairs are computed once; each evaluation then reads them as few times as possible.

Notation
    p = n(n-1)/2 pairs, packed row by row below the diagonal
    D (d, p)   |x_ij - x_kj| (squared for se and radial kernels; 0 or 1 for nominal columns)
    c (d,)     multipliers of D: rate / l, rate^2 / l^2 (squared distances) or 1 / l (nominal)
    u = c D    so that log R is  -sum u + sum log(1 + u)              matern32
                                 -sum u + sum log(1 + u + u^2/3)      matern52
                                 -sum u / 2                           se, rbf-radial
    d log R / d log l_j =        u - 1 + 1/(1 + u)                    matern32
                                 u - 2 + (2 + u)/(1 + u + u^2/3)      matern52
                                 u                                    se, rbf-radial, nominal
The parts linear in u are matrix-vector products; only the rational parts need elementwise work.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pellucid.models.kernels import RATE, Kernel
from pellucid.numerics import Array, Indices

# Pairs that are processed together: scratch space of this length stays in the cache.
_CHUNK = 8192
# Columns that share one exponential, small enough that the product of their polynomials stays finite (see `kernels`).
_GROUP = 16
# Exponents are clipped here, where the correlation is zero anyway; it keeps 0 * inf from happening.
_SMALLEST_EXPONENT = -700.0


@lru_cache(maxsize=4)
def _below_diagonal(n: int) -> tuple[Indices, Indices]:
    """Columns of the pairs, and their places in an (n, n) matrix."""
    rows, columns = np.tril_indices(n, -1)
    return columns, rows * n + columns


class Pairs:
    """All pairs of the rows of X under one kernel."""

    def __init__(self, kernel: Kernel, X: Array) -> None:
        self.kernel, self.n, self.d = kernel, *X.shape
        columns, self._flat = _below_diagonal(self.n)
        self._squared = kernel.radial or kernel.name == "se"
        self.D = np.empty((self.d, len(columns)))
        for j in range(self.d):
            x = kernel.codes(X[:, j], j) if kernel.is_nominal(j) else np.ascontiguousarray(X[:, j])
            delta = np.subtract(np.repeat(x, np.arange(self.n)), x[columns], out=self.D[j])
            if kernel.is_nominal(j):
                np.not_equal(delta, 0.0, out=delta)
            elif self._squared:
                delta *= delta
            else:
                np.abs(delta, out=delta)
        self._nominal = frozenset(j for j in range(self.d) if kernel.is_nominal(j))
        self._cache: dict[bytes, Array] = {}
        self._ordered = [j for j in range(self.d) if not kernel.is_nominal(j)]

    def _multipliers(self, l: Array) -> Array:
        rate = RATE[self.kernel.name]
        c = np.asarray((rate / l) ** 2 if self._squared else rate / l)
        for j in self._nominal:
            c[j] = 1.0 / l[j]
        return c

    def correlations(self, l: Array) -> Array:
        """Packed correlations (p,); do not write to them. The last two are cached, because the choice of a warp and the
        first step of a fit need the same ones."""
        key = l.tobytes()
        if key not in self._cache:
            if len(self._cache) > 1:
                self._cache.pop(next(iter(self._cache)))
            self._cache[key] = self._correlations(l)
        return self._cache[key]

    def _correlations(self, l: Array) -> Array:
        c = self._multipliers(l)
        if self._squared:
            return self._from_squares(c)
        out = np.empty(self.D.shape[1])
        u = np.empty(min(_CHUNK, len(out)))
        t = np.empty_like(u)
        for start in range(0, len(out), _CHUNK):
            D = self.D[:, start : start + _CHUNK]
            part = out[start : start + _CHUNK]
            self._product_chunk(D, c, part, u[: len(part)], t[: len(part)])
        return out

    def _product_chunk(self, D: Array, c: Array, out: Array, u: Array, t: Array) -> None:
        cubic = self.kernel.name == "matern52"
        for first in range(0, self.d, _GROUP):
            last = min(first + _GROUP, self.d)
            part = np.exp(np.maximum(-(c[first:last] @ D[first:last]), _SMALLEST_EXPONENT))
            for j in range(first, last):
                if j in self._nominal:
                    continue
                np.multiply(D[j], c[j], out=u)
                if cubic:
                    np.multiply(u, 1.0 / 3.0, out=t)
                    t += 1.0
                    u *= t
                u += 1.0
                part *= u
            if first:
                out *= part
            else:
                out[:] = part

    def _from_squares(self, c: Array) -> Array:
        ordered = np.array([0.0 if self.kernel.is_nominal(j) else 1.0 for j in range(self.d)])
        S = (c * ordered) @ self.D
        H = (c * (1.0 - ordered)) @ self.D
        if self.kernel.name == "matern52-radial":
            R = np.sqrt(S)
            return np.asarray((1.0 + R + S / 3.0) * np.exp(-R - H))
        return np.asarray(np.exp(-0.5 * S - H))

    def square(self, packed: Array, diagonal: float | Array) -> Array:
        """Lower triangle of an (n, n) matrix from packed values; the upper triangle is zero."""
        out = np.zeros((self.n, self.n))
        out.reshape(-1)[self._flat] = packed
        out.flat[:: self.n + 1] = diagonal
        return out

    def pack(self, matrix: Array) -> Array:
        """Strict lower triangle of an (n, n) C-ordered matrix, packed."""
        return np.asarray(matrix.reshape(-1)[self._flat])

    def lengthscale_gradient(self, l: Array, weighted: Array) -> Array:
        """Sum over pairs of G dR/d(log l_j), (d,), for packed `weighted` = G * R."""
        c = self._multipliers(l)
        if self.kernel.name == "matern52-radial":
            return self._radial_gradient(c, weighted)
        gradient = c * (self.D @ weighted)
        if self._squared:
            return gradient
        total = float(weighted.sum())
        u = np.empty(min(_CHUNK, len(weighted)))
        t = np.empty_like(u)
        for start in range(0, len(weighted), _CHUNK):
            W = weighted[start : start + _CHUNK]
            for j in self._ordered:
                gradient[j] += self._rational_part(self.D[j, start : start + _CHUNK], c[j], W, u[: len(W)], t[: len(W)])
        gradient[self._ordered] -= (1.0 if self.kernel.name == "matern32" else 2.0) * total
        return gradient

    def _rational_part(self, D: Array, c: float, W: Array, u: Array, t: Array) -> float:
        np.multiply(D, c, out=u)
        if self.kernel.name == "matern32":
            u += 1.0
            np.divide(W, u, out=t)
            return float(np.add.reduce(t))
        np.multiply(u, 1.0 / 3.0, out=t)
        t += 1.0
        t *= u
        t += 1.0
        u += 2.0
        u /= t
        return float(u @ W)

    def _radial_gradient(self, c: Array, weighted: Array) -> Array:
        ordered = np.array([0.0 if self.kernel.is_nominal(j) else 1.0 for j in range(self.d)])
        S = (c * ordered) @ self.D
        R = np.sqrt(S)
        shaped = weighted * ((1.0 + R) / (3.0 + 3.0 * R + S))
        return np.asarray(c * (ordered * (self.D @ shaped) + (1.0 - ordered) * (self.D @ weighted)))
