"""Properties of every kernel: symmetric, positive semi-definite, one on the diagonal, between zero and one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.models.averages.integrals import factor_double_mean, factor_mean
from pellucid.models.kernels import KERNELS, PRODUCT_KERNELS, Kernel
from pellucid.models.pairs import Pairs
from pellucid.numerics import Array
from pellucid.space.encoding import INACTIVE, Condition, Space


@st.composite
def settings(draw: st.DrawFn) -> tuple[Kernel, Array, Array]:
    """A kernel, rows (spread out, clustered, repeated, inactive) and lengthscales, beyond the fit's bounds too."""
    d = draw(st.integers(1, 20))
    nominal = tuple(draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 5]), min_size=d, max_size=d)))
    kernel = Kernel(draw(st.sampled_from(KERNELS)), nominal if any(nominal) or draw(st.booleans()) else ())
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, 25))
    X = rng.random((n, d))
    if draw(st.booleans()):
        X = 0.5 + 1e-4 * (X - 0.5)
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = INACTIVE
    X = X[rng.integers(n, size=n)] if draw(st.booleans()) else X
    for j, categories in enumerate(kernel.nominal):
        if categories:
            X[:, j] = (np.minimum(X[:, j] * categories, categories - 1) // 1 + 0.5) / categories
    return kernel, X, np.exp(rng.uniform(np.log(draw(st.sampled_from([1e-3, 0.05, 1.0]))), np.log(100.0), size=d))


def gram(kernel: Kernel, X: Array, l: Array) -> Array:
    columns = kernel.columns(X, l)
    return np.asarray(kernel.cross(columns, columns, l))


@given(settings())
def test_gram_matrices_are_symmetric_positive_and_at_most_one(setting: tuple[Kernel, Array, Array]) -> None:
    kernel, X, l = setting
    R = gram(kernel, X, l)
    assert R.shape == (len(X), len(X))
    np.testing.assert_array_equal(np.diagonal(R), 1.0)
    np.testing.assert_allclose(R, R.T, rtol=1e-13, atol=0)
    assert R.min() >= 0.0
    assert R.max() <= 1.0
    assert np.linalg.eigvalsh(0.5 * (R + R.T)).min() > -1e-9


@given(settings())
def test_packed_gram_matrices_are_the_same(setting: tuple[Kernel, Array, Array]) -> None:
    kernel, X, l = setting
    pairs = Pairs(kernel, X)
    packed = pairs.correlations(l)
    assert packed.shape == (len(X) * (len(X) - 1) // 2,)
    square = pairs.square(packed, 1.0)
    np.testing.assert_allclose(square, np.tril(gram(kernel, X, l)), rtol=1e-9, atol=1e-100)
    np.testing.assert_array_equal(pairs.pack(square), packed)


@given(settings())
def test_equal_rows_correlate_one_and_moving_away_never_correlates_more(setting: tuple[Kernel, Array, Array]) -> None:
    kernel, X, l = setting
    ordered = [j for j in range(X.shape[1]) if not kernel.is_nominal(j)]
    if not ordered:
        return
    j = ordered[0]
    line = np.repeat(X[:1], 11, axis=0)
    line[:, j] = np.linspace(0.0, 1.0, 11)
    start = line[:1]
    R = kernel.cross(kernel.columns(start, l), kernel.columns(line, l), l)[0]
    assert R[0] == 1.0
    assert (np.diff(R) <= 0).all()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [8, 120])
def test_conditional_spaces_with_categories_have_positive_gram_matrices(name: str, n: int) -> None:
    """Inactive parameters sit at 1/2: a pullback of a positive kernel, hence positive. (A free correlation between
    active and inactive would not be.)"""
    space = Space.of(
        {
            "kind": CategoricalDistribution(["a", "b", "c"]),
            "x": FloatDistribution(0, 1),
            "y": FloatDistribution(0, 1),
            "inner": CategoricalDistribution(["u", "v"]),
            "depth": IntDistribution(1, 6),
        },
        {"x": Condition("kind", (0,)), "y": Condition("kind", (1, 2)), "inner": Condition("kind", (1,))},
    )
    X = space.canonical(np.random.default_rng(n).random((n, len(space))))
    assert not space.active(X).all()
    kernel = Kernel(name, space.nominal)
    for scale in (0.02, 0.3, 1.0, 30.0):
        R = gram(kernel, X, np.full(len(space), scale))
        np.testing.assert_allclose(R, R.T, rtol=1e-13)
        assert np.linalg.eigvalsh(R).min() > -1e-9


@given(st.sampled_from(KERNELS), st.integers(1, 8), st.floats(5e-3, 100.0))
def test_categories_correlate_by_their_hamming_length(name: str, categories: int, l: float) -> None:
    kernel = Kernel(name, (categories,))
    R = gram(kernel, (np.arange(categories)[:, None] + 0.5) / categories, np.array([l]))
    expected = np.where(np.eye(categories, dtype=bool), 1.0, np.exp(-1.0 / l))
    np.testing.assert_allclose(R, expected, rtol=1e-14)


@given(st.sampled_from(KERNELS), st.integers(2, 6), st.integers(0, 1000))
def test_where_a_category_is_within_its_cell_makes_no_difference(name: str, categories: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, l = Kernel(name, (categories, 0)), np.array([0.7, 0.4])
    codes = rng.integers(categories, size=10)
    rest = rng.random(10)
    X, Z = (np.column_stack([(codes + rng.uniform(0.01, 0.99, 10)) / categories, rest]) for _ in range(2))
    np.testing.assert_array_equal(gram(kernel, X, l), gram(kernel, Z, l))


@given(
    st.sampled_from(PRODUCT_KERNELS), st.floats(5e-3, 100.0), st.integers(0, 40), st.lists(st.floats(0, 1), min_size=1)
)
def test_averages_of_a_factor_lie_between_zero_and_one(name: str, l: float, cells: int, points: list[float]) -> None:
    means = factor_mean(name, np.array(points), l, cells=cells)
    assert (means >= 0).all()
    assert (means <= 1 + 1e-12).all()
    # A double mean is the prior variance of an average: positive, and no more than that of one point.
    assert 0 < factor_double_mean(name, l, cells=cells) <= 1 + 1e-12


@given(st.integers(1, 12), st.floats(5e-3, 100.0))
def test_averages_over_categories_do_not_depend_on_the_category(categories: int, l: float) -> None:
    means = factor_mean("matern32", np.linspace(0, 1, 7), l, cells=categories, nominal=True)
    assert np.ptp(means) == 0.0
    assert 1 / categories <= means[0] * (1 + 1e-12)
    assert means[0] <= 1 + 1e-12


def test_an_unknown_kernel_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"matern32.*rbf-radial.*'cubic'"):
        Kernel("cubic")
