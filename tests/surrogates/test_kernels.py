"""The ways of computing correlations agree: at once, in blocks, the lower triangle, and in single precision."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid.models.kernels import KERNELS, Kernel


def _columns(kernel: Kernel, rows: int, l: np.ndarray, seed: int) -> np.ndarray:
    return kernel.columns(np.random.default_rng(seed).random((rows, len(l))), l)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [1, 9, 20])
@pytest.mark.parametrize("smallest", [0.3, 1e-4])
def test_blocks_the_triangle_and_single_precision_agree_with_all_at_once(name: str, d: int, smallest: float) -> None:
    nominal = tuple(3 if j % 4 == 1 else 0 for j in range(d))
    kernel, l = Kernel(name, nominal), np.geomspace(smallest, 3.0, d)
    A, B = _columns(kernel, 230, l, 0), _columns(kernel, 310, l, 1)
    expected = kernel._at_once(kernel._distances(A, B, l), l)
    assert A.shape[1] * B.shape[1] * d > 60_000, "large enough for the block-wise path"
    np.testing.assert_allclose(kernel.cross(A, B, l), expected, rtol=1e-12, atol=1e-300)

    single = kernel.cross(A.astype(np.float32), B.astype(np.float32), l)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-2 if smallest < 0.1 else 1e-4, atol=1e-6)

    itself = kernel._at_once(kernel._distances(A, A, l), l)
    np.testing.assert_allclose(np.tril(kernel.gram(A, l)), np.tril(itself), rtol=1e-12, atol=1e-300)
    assert np.isfinite(kernel.gram(A, l)).all()


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_triangle_of_almost_nothing(rows: int) -> None:
    kernel, l = Kernel("matern32"), np.ones(3)
    assert kernel.gram(_columns(kernel, rows, l, 0), l).shape == (rows, rows)
