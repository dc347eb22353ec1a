"""Cholesky factors: extended row by row, and with jitter where a matrix needs it."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.numerics import cholesky, extend_cholesky


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 1), (40, 3), (40, 40)])
def test_extended_cholesky_is_the_cholesky_of_the_whole(n: int, k: int) -> None:
    rng = np.random.default_rng(n + k)
    A = rng.standard_normal((n + k, n + k + 5))
    C = A @ A.T / (n + k)
    extended = extend_cholesky(cholesky(C[:n, :n]), C[:n, n:], C[n:, n:])
    assert extended.jitter == 0.0
    np.testing.assert_allclose(extended.L, np.linalg.cholesky(C), rtol=1e-9, atol=1e-10)


def test_cholesky_solves_linear_systems() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 20))
    C, B = A @ A.T, rng.standard_normal((12, 3))
    factor = cholesky(np.tril(C))  # Only the lower triangle is read.
    np.testing.assert_allclose(factor.L @ factor.L.T, C, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(C, B), rtol=1e-9)
    np.testing.assert_allclose(factor.solve(B[:, 0]), np.linalg.solve(C, B[:, 0]), rtol=1e-9)
    np.testing.assert_allclose(factor.half_solve(B), np.linalg.solve(factor.L, B), rtol=1e-9)
    np.testing.assert_allclose(factor.half_solve_transposed(B), np.linalg.solve(factor.L.T, B), rtol=1e-9)
    np.testing.assert_allclose(factor.half_solve_overwriting(B.copy()), factor.half_solve(B), rtol=1e-12)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(C)[1], rel=1e-12)


MATRICES = {
    "singular": np.ones((4, 4)),
    "zero": np.zeros((3, 3)),
    "negative": -np.eye(3),
    "indefinite": np.array([[1.0, 2.0], [2.0, 1.0]]),
    "subnormal": np.array([[1e-320]]),
    "huge": 1e300 * np.ones((3, 3)),
    "nearly singular": np.diag([1.0, 0.0, 1e-30]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_cholesky_adds_jitter_instead_of_raising(name: str) -> None:
    factor = cholesky(MATRICES[name])
    assert np.isfinite(factor.L).all()
    assert (np.diagonal(factor.L) > 0).all()
    assert np.array_equal(factor.L, np.tril(factor.L))


@pytest.mark.parametrize("name", ["singular", "negative", "indefinite", "nearly singular"])
def test_a_matrix_that_needed_jitter_says_so_and_can_be_solved(name: str) -> None:
    factor = cholesky(MATRICES[name])
    assert factor.jitter > 0
    assert np.isfinite(factor.solve(np.ones(len(MATRICES[name])))).all()


def test_a_matrix_that_needs_no_jitter_gets_none() -> None:
    factor = cholesky(np.array([[2.0, 0.5], [0.5, 1.0]]))
    assert factor.jitter == 0.0
    np.testing.assert_allclose(factor.L @ factor.L.T, [[2.0, 0.5], [0.5, 1.0]], rtol=1e-15)
