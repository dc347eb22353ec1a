"""Numerical basics: array types, the normal distribution, a Cholesky factorisation that never raises, random streams.

Notation
    z       (n,)     standardised improvement (best - mean) / sd, no unit
    C       (n, n)   symmetric positive (semi-)definite matrix; only its lower triangle is read
    L       (n, n)   lower triangular, C = L L'
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from threading import Lock, get_ident
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack
from scipy.special import erfcx, log_ndtr, ndtr
from threadpoolctl import ThreadpoolController

from pellucid.threads import cached_property, no_fork

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SQRT_HALF_PI = np.sqrt(np.pi / 2.0)
_INV_SQRT_2 = 1.0 / np.sqrt(2.0)
# |z| beyond which phi(z) is zero anyway; its square must not overflow.
_LARGEST_Z = 1e10
# Ends of the regimes of `log_improvement`: above the first, the definition loses no digits; below the second, the
# leading term of the expansion is exact in double precision.
_NEAR, _FAR = -1.0, -1e5
# Added to the diagonal in turn, relative to its mean, until the factorisation succeeds: the smallest that works
# distorts the matrix least.
JITTERS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def normal_pdf(z: Array) -> Array:
    """phi(z); zero for very large |z|, without an overflow warning."""
    bounded = np.clip(z, -_LARGEST_Z, _LARGEST_Z)
    return np.asarray(np.exp(-0.5 * bounded * bounded - LOG_SQRT_2PI))


def normal_cdf(z: Array) -> Array:
    return np.asarray(ndtr(z))


def log_normal_cdf(z: Array) -> Array:
    return np.asarray(log_ndtr(z))


def log_improvement(z: Array) -> Array:
    """log(phi(z) + z Phi(z)), finite and increasing for |z| up to 1e99.

    Three regimes, because the two summands cancel for z << 0: the definition above z = -1; the scaled complementary
    error function down to -1e5; the leading term phi(z)/z^2 below that.
    """
    z = np.asarray(z, dtype=float)
    up, down = np.maximum(z, _NEAR), np.minimum(np.maximum(z, _FAR), _NEAR)
    near = np.log(np.exp(-0.5 * np.minimum(up, _LARGEST_Z) ** 2 - LOG_SQRT_2PI) + up * ndtr(up))
    middle = -0.5 * down * down - LOG_SQRT_2PI + np.log1p(down * _SQRT_HALF_PI * erfcx(-down * _INV_SQRT_2))
    out = np.where(z > _NEAR, near, middle)
    if z.size and float(z.min()) < _FAR:
        far = np.minimum(z, _FAR)
        out = np.where(z < _FAR, -0.5 * far * far - LOG_SQRT_2PI - 2.0 * np.log(-far), out)
    return np.asarray(out)


@dataclass(frozen=True)
class Cholesky:
    """Lower factor L of C + jitter * I; `jitter` is usually 0."""

    L: Array
    jitter: float

    @property
    def log_determinant(self) -> float:
        return 2.0 * float(np.log(np.diagonal(self.L)).sum())

    @cached_property
    def parts(self) -> tuple[Cholesky, Array, Cholesky]:
        """L in blocks, [[head, 0], [below, tail]]: the head is the factor of the first quarter of C, the tail that of
        what the first quarter leaves unexplained."""
        k = len(self.L) // 4
        head, tail = (np.ascontiguousarray(self.L[part, part]) for part in (slice(k), slice(k, None)))
        return Cholesky(head, self.jitter), self.L[k:, :k], Cholesky(tail, self.jitter)

    @cached_property
    def inverse_diagonal(self) -> Array:
        """The diagonal (n,) of C^-1."""
        return np.array(np.diagonal(self.solve(np.eye(len(self.L)))))

    def solve(self, B: Array) -> Array:
        """C^-1 B for (n,) or (n, k)."""
        if len(B) == 0:
            return np.array(B, dtype=float)
        x, _ = lapack.dpotrs(self.L.T, B, lower=0)
        return np.asarray(x)

    def half_solve(self, B: Array) -> Array:
        """L^-1 B for (n, k)."""
        if len(B) == 0:
            return np.array(B, dtype=float)
        x, _ = lapack.dtrtrs(self.L.T, B, lower=0, trans=1)
        return np.asarray(x)

    def half_solve_overwriting(self, B: Array) -> Array:
        """L^-1 B for (n, k) with contiguous rows, in the memory of B: faster than `half_solve` if k is large."""
        if B.size == 0:
            return B
        return np.asarray(blas.dtrsm(1.0, self.L.T, B.T, side=1, lower=0, overwrite_b=1).T)

    def half_solve_transposed(self, B: Array) -> Array:
        """L^-T B for (n, k)."""
        if len(B) == 0:
            return np.array(B, dtype=float)
        x, _ = lapack.dtrtrs(self.L.T, B, lower=0, trans=0)
        return np.asarray(x)


def cholesky(C: Array) -> Cholesky:
    """Factor a symmetric matrix, with the smallest of `JITTERS` that works added to its diagonal.

    Never raises for a finite matrix: if all of them fail, a diagonal matrix that dominates C takes its place.
    """
    return cholesky_of(lambda: np.array(C, dtype=float, order="C"))


def cholesky_of(matrix: Callable[[], Array]) -> Cholesky:
    """`cholesky` of a large matrix, whose copy would take long: `matrix` returns a new one for every attempt, with
    contiguous rows, which becomes the factor."""
    C = matrix()
    if len(C) == 0:
        return Cholesky(np.empty((0, 0)), 0.0)
    scale = max(float(np.mean(np.diagonal(C))), 1e-300)
    for jitter in JITTERS:
        factor, failed = _potrf(matrix() if jitter else C, jitter * scale)
        if not failed:
            return Cholesky(factor, jitter * scale)
    dominant = np.diag(np.abs(matrix()).sum(axis=1) + scale)
    factor, _ = _potrf(dominant, 0.0)
    return Cholesky(factor, scale)


def _potrf(work: Array, jitter: float) -> tuple[Array, bool]:
    """The factor in the memory of `work`, and whether there is none."""
    if jitter:
        work[np.diag_indices_from(work)] += jitter
    # LAPACK reads columns first, so the upper triangle of the transposed view is our lower triangle.
    factor, info = lapack.dpotrf(work.T, lower=0, overwrite_a=1, clean=1)
    return np.asarray(factor).T, info != 0 or not bool(np.isfinite(factor[-1:, -1:]).all())


def extend_cholesky(factor: Cholesky, cross: Array, corner: Array) -> Cholesky:
    """Factor of [[C, cross], [cross', corner]] in O(n^2 k) from the factor of C. cross: (n, k), corner: (k, k)."""
    n, k = cross.shape
    V = factor.half_solve(cross)
    tail = cholesky(corner - V.T @ V)
    L = np.zeros((n + k, n + k))
    L[:n, :n] = factor.L
    L[n:, :n] = V.T
    L[n:, n:] = tail.L
    return Cholesky(L, max(factor.jitter, tail.jitter))


def single_precision_half_solve(L32: npt.NDArray[np.float32], B: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """B L^-T row-wise: L^-1 applied to every row of B (m, n), in single precision, overwriting B."""
    return np.asarray(blas.strsm(1.0, L32.T, B.T, lower=0, trans_a=1, overwrite_b=1).T)


class _OneThread:
    """Limits BLAS to one thread while at least one caller is inside; the last to leave restores the user's setting.

    Matrices of a few hundred rows are slower on many threads than on one, by an order of magnitude on a busy machine.

    A process that is forked while other threads are inside starts with the user's setting.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside: list[int] = []  # The thread of every caller.
        self._libraries: list[Any] | None = None
        self._users_setting: list[int | None] = []
        if hasattr(os, "register_at_fork"):  # Not on Windows, which cannot fork.
            os.register_at_fork(after_in_child=self._forget_other_threads)

    def __enter__(self) -> None:
        with no_fork, self._lock:
            if not self._inside:
                if self._libraries is None:
                    self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                self._users_setting = [library.get_num_threads() for library in self._libraries]
                self._set([1] * len(self._libraries))
            self._inside.append(get_ident())

    def __exit__(self, *_: object) -> None:
        with no_fork, self._lock:
            self._inside.remove(get_ident())
            if not self._inside:
                self._set(self._users_setting)

    def _set(self, numbers: Sequence[int | None]) -> None:
        for library, number in zip(self._libraries or (), numbers, strict=True):
            # From version 3.8 on, threadpoolctl ignores all threads but the first one that has set something in
            # OpenBLAS, and the last to leave may be another.
            let_anyone = getattr(library, "clear_controlling_thread", lambda force: None)
            let_anyone(force=True)
            if number is not None:
                library.set_num_threads(number)
            let_anyone(force=True)

    def _forget_other_threads(self) -> None:
        """In a forked process only the thread that forked is left, which may be inside, too."""
        limited, self._inside = bool(self._inside), [thread for thread in self._inside if thread == get_ident()]
        if limited and not self._inside:
            self._set(self._users_setting)


one_thread = _OneThread()


def stream(seed: int, *labels: int | str) -> np.random.Generator:
    """A random generator that depends only on its arguments, not on the machine or the process."""
    text = repr((int(seed), *labels)).encode()
    return np.random.default_rng(int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big"))


@lru_cache(maxsize=16)
def _square_roots_of_primes(d: int) -> Array:
    limit = max(15, int(d * (np.log(d + 1) + np.log(np.log(d + 3)) + 2)))
    sieve = np.ones(limit, dtype=bool)
    sieve[:2] = False
    for k in range(2, int(limit**0.5) + 1):
        sieve[k * k :: k] = False
    return np.asarray(np.sqrt(np.flatnonzero(sieve)[:d].astype(float)) % 1.0)


def low_discrepancy(first: int, count: int, shift: Array) -> Array:
    """Points `first`, ..., `first + count - 1` of the Richtmyer sequence in len(shift) dimensions, shifted modulo 1.

    The sequence covers the cube evenly and needs no tables, no state and (unlike SciPy's Sobol) no slow import.
    """
    steps = np.arange(first, first + count, dtype=float)[:, None]
    return np.asarray((steps * _square_roots_of_primes(len(shift)) + shift) % 1.0)


def check_level(level: float) -> None:
    """Raise ValueError if this is no level of an interval."""
    if not (is_number(level) and 0.0 < level < 1.0):
        raise ValueError(f"`level` must be between 0 and 1, but got {level!r}.")


def is_whole_number(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object, low: float = -np.inf, high: float = np.inf) -> TypeGuard[float]:
    """Whether a value is a number of Python or NumPy from `low` to `high`, and neither a bool nor NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: Any = value  # No float: a whole number may be too large for one.
    return bool(low <= number <= high)


def compress_integers(numbers: Sequence[int]) -> str:
    """Sorted integers as text like '0-24,26', the short form that receipts store."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


_MOST_LISTED = 20


def first_integers(numbers: Sequence[int]) -> str:
    """Numbers in a message: all of a few, otherwise the first ones."""
    if len(numbers) <= _MOST_LISTED:
        return str(list(numbers))
    return f"{list(numbers[:_MOST_LISTED])} and {len(numbers) - _MOST_LISTED} more"


def expand_integers(text: str) -> list[int]:
    """Inverse of `compress_integers`."""
    numbers: list[int] = []
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers
