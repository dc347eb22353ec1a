"""Sobol indices in closed form: against enumeration of discrete spaces, known functions, and the axioms of indices."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.models.averages.averages import Average, Axis, Factors
from pellucid.models.averages.variances import Functions, Variances
from pellucid.models.kernels import Kernel
from pellucid.numerics import Array
from pellucid.space.encoding import Condition, Space

DISCRETE: dict[str, BaseDistribution] = {
    "m": CategoricalDistribution(("p", "q", "r")),
    "a": IntDistribution(1, 4),
    "b": IntDistribution(1, 3),
    "g": CategoricalDistribution(("u", "v")),
    "h": IntDistribution(1, 2),
    "z": IntDistribution(1, 3),
}
FLAT = Space.of(DISCRETE)
TREE = Space(
    FLAT.dimensions,
    {
        "a": Condition("m", codes=(0,)),
        "b": Condition("m", codes=(1, 2)),
        "g": Condition("m", codes=(2,)),
        "h": Condition("g", codes=(1,)),
    },
)
MIXED = Space.of(
    {"x": FloatDistribution(0, 1), "k": CategoricalDistribution(("a", "b", "c")), "y": IntDistribution(1, 5)}
)


def functions(space: Space, kernel: str = "matern32", scale: float = 0.0, n: int = 9) -> tuple[Factors, Functions]:
    rng = np.random.default_rng(0)
    d = len(space)
    T = space.canonical(rng.random((n, d)))
    factors = Factors(Kernel(kernel, space.nominal), np.exp(rng.normal(-0.5, 0.5, d)))
    K = correlations(factors, T, T) + 1e-6 * np.eye(n)
    return factors, Functions(T, rng.standard_normal((n, 2)), np.linalg.inv(K), np.full(2, scale))


def correlations(factors: Factors, A: Array, B: Array) -> Array:
    kernel, l = factors.kernel, factors.lengthscales
    return np.asarray(kernel.cross(kernel.columns(A, l), kernel.columns(B, l), l), dtype=float)


class Enumeration:
    """All configurations of a discrete space as independent inputs: E[f(x) f(x')] by summing over them."""

    def __init__(self, space: Space, factors: Factors, f: Functions, rows: tuple[int, ...] | None = None) -> None:
        sizes = [dimension.cells for dimension in space.dimensions]
        self.codes = np.array(list(product(*(range(size) for size in sizes))))
        if rows is not None:  # Only the configurations with these codes of the first parameter.
            self.codes = self.codes[np.isin(self.codes[:, 0], rows)]
        U = np.column_stack([d.midpoint(self.codes[:, j]) for j, d in enumerate(space.dimensions)])
        self.X = space.canonical(U)
        self.values = correlations(factors, self.X, f.T) @ f.W
        residual = correlations(factors, self.X, self.X)
        cross = correlations(factors, self.X, f.T)
        self.residual = f.scale[0] * (residual - cross @ f.inverse @ cross.T)

    def closed(self, shared: list[int]) -> Array:
        """V_u, from conditional means given the shared codes."""
        _, group = np.unique(self.codes[:, shared], axis=0, return_inverse=True)
        group = group.ravel()
        if not shared:
            group = np.zeros(len(self.codes), dtype=int)
        members = np.zeros((group.max() + 1, len(group)))
        members[group, np.arange(len(group))] = 1.0
        means = members / members.sum(axis=1, keepdims=True)
        weight = members.sum(axis=1) / len(group)
        whole = np.full(len(group), 1.0 / len(group))
        left = weight @ np.einsum("gi,ij,gj->g", means, self.residual, means) - whole @ self.residual @ whole
        return np.asarray(weight @ (means @ self.values) ** 2 - (whole @ self.values) ** 2 + left)


@pytest.mark.parametrize("space", [FLAT, TREE], ids=["flat", "conditional"])
@pytest.mark.parametrize("scale", [0.0, 0.7])
def test_indices_equal_those_of_enumeration(space: Space, scale: float) -> None:
    factors, f = functions(space, scale=scale)
    average = Average(space, {})
    variances, truth = Variances(average, factors, f), Enumeration(space, factors, f)
    shares = variances.shares(average.roots)
    everything = list(range(len(space)))
    V = truth.closed(everything)
    np.testing.assert_allclose(shares.variance, V, rtol=1e-8)
    for i, j in enumerate(average.roots):
        np.testing.assert_allclose(shares.first[i], truth.closed([j]) / V, atol=1e-8)
        others = truth.closed([k for k in everything if k != j])
        np.testing.assert_allclose(shares.total[i], 1.0 - others / V, atol=1e-8)
    a, b = average.roots[0], average.roots[-1]
    together = (truth.closed([a, b]) - truth.closed([a]) - truth.closed([b])) / V
    np.testing.assert_allclose(variances.pair(a, b, shares.variance), together, atol=1e-8)


def test_a_branch_is_a_part_of_the_space() -> None:
    """`b` exists where m is q or r, so the parent still varies there; b and m are in one tree."""
    factors, f = functions(TREE)
    m, b = TREE.index["m"], TREE.index["b"]
    narrowed = Average.of(TREE, {}, {b: Axis.of(TREE.dimensions[b])}).axes
    average = Average(TREE, {}, {m: narrowed[m]})
    variances, truth = Variances(average, factors, f), Enumeration(TREE, factors, f, rows=(1, 2))
    shares = variances.shares([b])
    everything = list(range(len(TREE)))
    V = truth.closed(everything)
    np.testing.assert_allclose(shares.variance, V, rtol=1e-8)
    np.testing.assert_allclose(shares.first[0], truth.closed([b]) / V, atol=1e-8)
    np.testing.assert_allclose(shares.total[0], 1.0 - truth.closed([k for k in everything if k != b]) / V, atol=1e-8)
    together = (truth.closed([m, b]) - truth.closed([m]) - truth.closed([b])) / V
    np.testing.assert_allclose(variances.pair(m, b, shares.variance), together, atol=1e-8)


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "se"])
def test_mixed_parameters_against_draws(kernel: str) -> None:
    factors, f = functions(MIXED, kernel)
    shares = Variances(Average(MIXED, {}), factors, f).shares(range(3))
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 60_000, 3))
    value = {name: correlations(factors, MIXED.canonical(u), f.T) @ f.W for name, u in (("a", first), ("b", second))}
    variance = np.var(np.vstack([value["a"], value["b"]]), axis=0)
    np.testing.assert_allclose(shares.variance, variance, rtol=0.02)  # Three standard errors of the draws.
    for j in range(3):
        swapped = first.copy()
        swapped[:, j] = second[:, j]
        change = value["a"] - correlations(factors, MIXED.canonical(swapped), f.T) @ f.W
        np.testing.assert_allclose(shares.total[j], (change**2).mean(axis=0) / (2 * variance), atol=0.015)


def test_indices_keep_their_order_and_sum() -> None:
    factors, f = functions(MIXED, n=20)
    variances = Variances(Average(MIXED, {}), factors, f)
    shares = variances.shares(range(3))
    pairs = sum(variances.pair(j, k, shares.variance) for j, k in ((0, 1), (0, 2), (1, 2)))
    assert (shares.first <= shares.total + 1e-12).all()
    assert (shares.first.sum(axis=0) + pairs <= 1.0 + 1e-12).all()
    assert (shares.total.sum(axis=0) >= 1.0 - 1e-12).all()


def test_a_function_of_one_parameter_and_a_constant_one() -> None:
    factors, f = functions(MIXED)
    lengthscales = np.array([0.3, 1e9, 1e9])
    alone = Variances(Average(MIXED, {}), Factors(factors.kernel, lengthscales), f).shares(range(3))
    np.testing.assert_allclose(alone.total, [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]], atol=1e-6)
    nothing = Functions(f.T, np.zeros_like(f.W), f.inverse, f.scale)
    flat = Variances(Average(MIXED, {}), factors, nothing).shares(range(3))
    assert not flat.total.any()
    assert not flat.variance.any()
