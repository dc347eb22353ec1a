"""Partial dependence of a posterior: closed forms against quadrature, enumeration, Monte Carlo and refits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Axis
from pellucid.models.averages.effects import JACKKNIFE_SHARE, Effects, _Trees
from pellucid.models.averages.functionals import average, partial_dependence
from pellucid.models.averages.integrals import factor, rectangle_mean, second_antiderivative
from pellucid.models.kernels import KERNELS, PRODUCT_KERNELS
from pellucid.numerics import Array
from pellucid.space.encoding import Condition, Space

GRID = np.array([0.0, 0.13, 0.5, 0.77, 1.0])

# Every kind of parameter: log and linear integers, steps, categories, ordered categories, children of children.
DISCRETE = {
    "units": IntDistribution(1, 5, log=True),
    "depth": IntDistribution(2, 6, step=2),
    "booster": CategoricalDistribution(("tree", "dart", "linear")),
    "batch": CategoricalDistribution((16, 32, 64)),
    "drop": FloatDistribution(0.0, 1.0, step=0.5),
    "skip": IntDistribution(0, 1),
}
CONDITIONS = {
    "drop": Condition("booster", (1, 2)),
    "skip": Condition("drop", None, 0.3, 1.0),
    "batch": Condition("units", None, 0.0, 0.5),
}
MIXED = {
    "lr": FloatDistribution(1e-4, 1.0, log=True),
    "units": IntDistribution(1, 9, log=True),
    "booster": CategoricalDistribution(("tree", "dart", "linear")),
    "drop": FloatDistribution(0.0, 1.0),
    "decay": FloatDistribution(0.0, 1.0),
    "skip": IntDistribution(0, 5),
}
MIXED_CONDITIONS = {
    "drop": Condition("booster", (1,)),
    "skip": Condition("drop", None, 0.4, 1.0),
    "decay": Condition("lr", None, 0.0, 0.35),
}


def fitted(kernel: str, space: Space, n: int = 25, seed: int = 0) -> GaussianProcess:
    """A process with made-up hyperparameters (short, long, in between) that is fitted to bumpy, noisy data."""
    rng = np.random.default_rng(seed)
    X = space.canonical(rng.random((n, len(space))))
    y = 3.0 + np.sin(5 * X[:, 0]) + 2.0 * X[:, -1] * X[:, 1] + 0.1 * rng.standard_normal(n)
    gp = GaussianProcess(kernel, nominal=space.nominal)
    gp.fit(X, y)
    return gp


def continuous(d: int) -> Space:
    return Space.of({f"x{j}": FloatDistribution(0.0, 1.0) for j in range(d)})


def enumerated(space: Space) -> tuple[Array, Array]:
    """All configurations of a discrete space, canonical, and the probability of each."""
    axes = [Axis.of(dimension) for dimension in space.dimensions]
    points = np.array(list(itertools.product(*(axis.points for axis in axes))))
    weights = np.array([np.prod(w) for w in itertools.product(*(axis.point_weights for axis in axes))])
    return points, weights


def by_enumeration(
    gp: GaussianProcess, space: Space, columns: list[int], grid: Array, keep: Array | None = None
) -> tuple[Array, Array]:
    """Mean and covariance of weighted averages of the joint posterior over all configurations of the rest."""
    points, weights = enumerated(space)
    rows = []
    averages = []
    for g in grid:
        chosen = np.isclose(points[:, columns], g).all(axis=1)
        on = space.active(space.canonical(points))[:, columns].all(axis=1)
        chosen &= on if len(columns) == 1 else True
        if keep is not None:
            chosen &= keep
        rows.append(space.canonical(points[chosen]))
        averages.append(weights[chosen] / weights[chosen].sum())
    # Many configurations are equal once inactive parameters are canonical.
    distinct, inverse = np.unique(np.vstack(rows), axis=0, return_inverse=True)
    A = np.zeros((len(grid), len(distinct)))
    sizes = np.cumsum([0, *map(len, rows)])
    for i, w in enumerate(averages):
        np.add.at(A[i], inverse.ravel()[sizes[i] : sizes[i + 1]], w)
    mean, covariance = gp.joint(distinct)
    h = gp.hyperparameters
    return h.y_mean + h.y_scale * (A @ mean), h.y_scale**2 * (A @ covariance @ A.T)


# ---------------------------------------------------------------------- integrals of one factor


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
@pytest.mark.parametrize("l", [0.02, 0.3, 1.0, 40.0])
@pytest.mark.parametrize(("first", "second"), [((0, 1), (0, 1)), ((0.2, 0.5), (0.6, 0.9)), ((0.1, 0.7), (0.4, 0.5))])
def test_average_over_a_rectangle_is_that_of_quadrature(
    name: str, l: float, first: tuple[float, float], second: tuple[float, float]
) -> None:
    nodes, weights = leggauss(40)

    def pieces(low: float, high: float, cuts: Array) -> tuple[Array, Array]:
        ends = np.unique(np.clip(np.r_[low, cuts, high], low, high))
        fine = np.unique(np.concatenate([np.linspace(a, b, 5) for a, b in itertools.pairwise(ends)]))
        x = [0.5 * (b - a) * nodes + 0.5 * (a + b) for a, b in itertools.pairwise(fine)]
        w = [0.5 * (b - a) * weights for a, b in itertools.pairwise(fine)]
        return np.concatenate(x), np.concatenate(w)

    outer, outer_weights = pieces(*first, np.array(second))
    total = 0.0
    for x, w in zip(outer, outer_weights, strict=True):
        near = x + np.outer([1.0, -1.0], l * np.array([0.0, 0.3, 1.0, 3.0, 10.0])).ravel()
        inner, inner_weights = pieces(*second, near)
        total += w * float(inner_weights @ factor(name, np.array(x), inner, l))
    expected = total / ((first[1] - first[0]) * (second[1] - second[0]))
    assert rectangle_mean(name, first, second, l) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", PRODUCT_KERNELS)
def test_series_and_closed_form_meet(name: str) -> None:
    around = np.array([1.0 - 1e-9, 1.0 + 1e-9]) * {"matern32": 3**-0.5, "matern52": 5**-0.5, "se": 1.0}[name]
    below, above = second_antiderivative(name, around, 1.0)
    assert below == pytest.approx(above, rel=1e-8)


# ---------------------------------------------------------------------- partial dependence


@pytest.mark.parametrize("kernel", PRODUCT_KERNELS)
@pytest.mark.parametrize("columns", [[0], [2], [0, 2]])
def test_continuous_parameters_agree_with_quadrature(kernel: str, columns: list[int]) -> None:
    space = continuous(3)
    gp = fitted(kernel, space, n=9)
    grid = np.array(list(itertools.product(GRID, repeat=len(columns))))
    effect = partial_dependence(gp, columns, grid)

    h, l = gp.hyperparameters, gp.hyperparameters.lengthscales
    nodes, weights = leggauss(30)
    rest = [j for j in range(3) if j not in columns]
    cross = np.ones((len(grid), 9))
    prior = np.ones((len(grid), len(grid)))
    for i, j in enumerate(columns):
        cross *= factor(kernel, grid[:, i][:, None], gp.data.X[:, j], l[j])
        prior *= factor(kernel, grid[:, i][:, None], grid[:, i], l[j])
    for j in rest:
        # Composite Gauss-Legendre, cut where an observation puts a kink.
        ends = np.unique(np.r_[np.linspace(0, 1, 9), gp.data.X[:, j]])
        x = np.concatenate([0.5 * (b - a) * nodes + 0.5 * (a + b) for a, b in itertools.pairwise(ends)])
        w = np.concatenate([0.5 * (b - a) * weights for a, b in itertools.pairwise(ends)])
        cross *= w @ factor(kernel, x[:, None], gp.data.X[:, j], l[j])
        inner = np.array([sum(
            0.5 * (b - a) * weights @ factor(kernel, np.array(u), 0.5 * (b - a) * nodes + 0.5 * (a + b), l[j])
            for a, b in itertools.pairwise(np.unique(np.r_[np.linspace(0, 1, 9), u]))
        ) for u in x])  # fmt: skip
        prior *= w @ inner
    C = np.array([[np.prod([factor(kernel, np.array(a[j]), np.array(b[j]), l[j]) for j in range(3)])
                   for b in gp.data.X] for a in gp.data.X]) + h.noise / h.outputscale * np.eye(9)  # fmt: skip
    expected_mean = h.y_mean + h.y_scale * cross @ np.linalg.solve(C, gp.data.z)
    expected = h.y_scale**2 * h.outputscale * (prior - cross @ np.linalg.solve(C, cross.T))
    np.testing.assert_allclose(effect.mean, expected_mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(effect.covariance, expected, rtol=0, atol=1e-9 * h.y_scale**2 * h.outputscale)


@pytest.mark.parametrize("kernel", PRODUCT_KERNELS)
@pytest.mark.parametrize("conditions", [{}, CONDITIONS])
@pytest.mark.parametrize("names", [["units"], ["depth"], ["booster"], ["batch"], ["drop"], ["skip"],
                                   ["booster", "drop"], ["units", "depth"], ["skip", "batch"]])  # fmt: skip
def test_discrete_and_conditional_parameters_agree_with_enumeration(
    kernel: str, conditions: dict[str, Condition], names: list[str]
) -> None:
    space = Space.of(DISCRETE, conditions)
    gp = fitted(kernel, space)
    columns = [space.index[name] for name in names]
    axes = [space.dimensions[j].midpoint(np.arange(space.dimensions[j].cells)) for j in columns]
    grid = np.array(list(itertools.product(*axes)))
    keep = None
    if names == ["skip", "batch"] and conditions:
        # Of a pair whose parents are averaged over, both are on.
        points, _ = enumerated(space)
        keep = space.active(space.canonical(points))[:, columns].all(axis=1)
    if names == ["booster", "drop"] and conditions:
        # Where the held parent switches the other one off, only one of its values is a configuration.
        off = ~np.isin(space.dimensions[columns[0]].code(grid[:, 0]), (1, 2))
        grid = grid[~off]
    mean, covariance = by_enumeration(gp, space, columns, grid, keep)
    effect = partial_dependence(gp, columns, grid, space=space)
    np.testing.assert_allclose(effect.mean, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(effect.covariance, covariance, rtol=0, atol=1e-9)


def test_switched_off_by_a_held_parent_nothing_changes_along_the_child() -> None:
    space = Space.of(DISCRETE, CONDITIONS)
    gp = fitted("matern32", space)
    columns = [space.index["booster"], space.index["drop"]]
    grid = np.array([[1 / 6, 0.1], [1 / 6, 0.9], [0.5, 0.1], [0.5, 0.9]])
    effect = partial_dependence(gp, columns, grid, space=space)
    assert effect.mean[0] == pytest.approx(effect.mean[1], abs=1e-12)
    assert effect.covariance[0, 1] == pytest.approx(effect.covariance[0, 0], abs=1e-12)
    assert abs(effect.mean[2] - effect.mean[3]) > 1e-6


@pytest.mark.parametrize("kernel", PRODUCT_KERNELS)
@pytest.mark.parametrize("name", ["lr", "units", "booster", "drop", "decay", "skip"])
def test_mixed_conditional_parameters_agree_with_monte_carlo(kernel: str, name: str) -> None:
    """A continuous parent with a threshold, a child of a child: averaged over 4000 random configurations."""
    space = Space.of(MIXED, MIXED_CONDITIONS)
    gp = fitted(kernel, space)
    column = space.index[name]
    grid = np.unique(space.dimensions[column].snap(np.array([0.1, 0.6])))
    effect = partial_dependence(gp, column, grid, space=space)
    rng = np.random.default_rng(1)
    for i, g in enumerate(grid):
        X = rng.random((4000, len(space)))
        X[:, column] = g
        X = space.canonical(X)
        X = X[space.active(X)[:, column]]
        mean, _ = gp.predict(X)
        error = mean.std() / np.sqrt(len(X))
        assert abs(effect.mean[i] - mean.mean()) < 4.5 * error + 1e-9
        # Two independent samples: the average of their cross-covariances estimates the variance without bias.
        first, second = X[: len(X) // 2][:700], X[len(X) // 2 :][:700]
        _, joint = gp.joint(np.vstack([first, second]))
        block = joint[: len(first), len(first) :] * gp.hyperparameters.y_scale**2
        spread = block.mean(axis=0).std() / np.sqrt(len(second)) + block.mean(axis=1).std() / np.sqrt(len(first))
        assert abs(effect.covariance[i, i] - block.mean()) < 4.5 * spread + 1e-9


def test_very_many_integers_and_wide_first_cells() -> None:
    """Beyond 2048 values the tail is averaged as if it were continuous; on a log scale the first cells are wide."""
    for distribution in (IntDistribution(1, 100_000, log=True), IntDistribution(0, 5000)):
        space = Space.of({"n": distribution, "x": FloatDistribution(0.0, 1.0)})
        gp = fitted("matern32", space)
        dimension = space.dimensions[0]
        codes = np.arange(dimension.cells)
        points = dimension.midpoint(codes)
        if distribution.log:
            edges = np.log(np.arange(0.5, 100_001.0))
        else:
            edges = np.arange(-0.5, 5001.0)
        weights = np.diff(edges) / (edges[-1] - edges[0])
        means = np.zeros(1)
        for part in np.array_split(np.arange(len(points)), 20):
            X = np.column_stack([points[part], np.full(len(part), 0.3)])
            means += weights[part] @ gp.predict(X)[0]
        effect = partial_dependence(gp, 1, np.array([0.3]), space=space)
        assert effect.mean[0] == pytest.approx(means[0], rel=1e-7)


def test_one_choice_given_is_the_average_over_its_configurations() -> None:
    space = Space.of(DISCRETE, CONDITIONS)
    gp = fitted("matern52", space)
    booster = space.index["booster"]
    grid = space.dimensions[0].midpoint(np.arange(5))[:, None]
    points, _ = enumerated(space)
    keep = space.dimensions[booster].code(points[:, booster]) == 2
    mean, covariance = by_enumeration(gp, space, [0], grid, keep)
    effect = partial_dependence(gp, 0, grid, space=space, axes={booster: Axis.at(5 / 6)})
    np.testing.assert_allclose(effect.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(effect.covariance, covariance, atol=1e-9)
    with pytest.raises(ValueError, match="`drop` does not exist for the requested values of `booster`"):
        partial_dependence(gp, space.index["drop"], np.array([0.5]), space=space, axes={booster: Axis.at(1 / 6)})


@pytest.mark.parametrize("kernel", KERNELS)
def test_monte_carlo_works_with_every_kernel(kernel: str) -> None:
    space = continuous(3)
    gp = fitted(kernel, space)
    rough = partial_dependence(gp, [1], GRID, method="mc", n_samples=400)
    assert not rough.exact
    scale = gp.hyperparameters.y_scale
    if kernel in PRODUCT_KERNELS:
        exact = partial_dependence(gp, [1], GRID)
        np.testing.assert_allclose(rough.mean, exact.mean, atol=0.02 * scale)
        np.testing.assert_allclose(rough.sd, exact.sd, atol=0.02 * scale)
    else:
        X = np.random.default_rng(0).random((4000, 3))
        X[:, 1] = 0.5
        mean, _ = gp.predict(X)
        assert rough.mean[2] == pytest.approx(mean.mean(), abs=4.5 * mean.std() / np.sqrt(4000) + 0.01 * scale)
        with pytest.raises(ValueError, match="product kernel"):
            partial_dependence(gp, [1], GRID)
    assert np.linalg.eigvalsh(rough.covariance).min() > -1e-8 * scale**2


@pytest.mark.parametrize(
    ("dims", "grid", "message"),
    [
        ([3], GRID, "between 0 and 2"),
        ([0, 0], np.ones((3, 2)), "different columns"),
        ([], GRID, "different columns"),
        ([0, 1], GRID, "one column per entry"),
        ([0], np.array([1.2]), "between 0 and 1"),
        ([0], np.array([np.nan]), "between 0 and 1"),
    ],
)
def test_invalid_arguments_are_refused(dims: list[int], grid: Array, message: str) -> None:
    gp = fitted("matern32", continuous(3))
    with pytest.raises(ValueError, match=message):
        partial_dependence(gp, dims, grid)
    with pytest.raises(ValueError, match="'exact' or 'mc'"):
        partial_dependence(gp, [0], GRID, method="fast")


# ---------------------------------------------------------------------- stacked effects


@pytest.mark.parametrize("kernel", PRODUCT_KERNELS)
@pytest.mark.parametrize("conditions", [{}, MIXED_CONDITIONS])
def test_stacked_effects_and_their_slopes(kernel: str, conditions: dict[str, Condition]) -> None:
    space = Space.of(MIXED, conditions)
    gp = fitted(kernel, space)
    grids = [np.unique(dimension.snap(np.linspace(0, 1, 6))) for dimension in space.dimensions]
    averages = [average(gp, j, grid, space) for j, grid in enumerate(grids)]
    phi, general = Effects(gp, averages), _Trees(Effects(gp, averages).factors, averages)
    T = space.canonical(np.random.default_rng(3).random((7, len(space))))
    cross, gradient = phi.cross_with_gradient(T)
    np.testing.assert_allclose(cross, np.vstack([effect.cross(phi.factors, T) for effect in averages]), rtol=1e-12)
    np.testing.assert_allclose(phi.cross(np.repeat(T, 20, axis=0)), np.repeat(cross, 20, axis=1), rtol=1e-12)
    weights = np.random.default_rng(4).standard_normal(cross.shape)
    climbed = [j for j, dimension in enumerate(space.dimensions) if dimension.cells == 0]
    again = general.cross_with_gradient(T)[1](weights)
    np.testing.assert_allclose(gradient(weights)[:, climbed], again[:, climbed], atol=1e-11)
    for j in climbed:
        step = np.zeros(T.shape)
        step[:, j] = 1e-6
        numeric = (weights * (phi.cross(T + step) - phi.cross(T - step))).sum(axis=0) / 2e-6
        np.testing.assert_allclose(gradient(weights)[:, j], numeric, atol=2e-8 * np.abs(weights).sum())
    np.testing.assert_allclose(phi.variance, np.diagonal(phi.covariance), atol=1e-11)


def test_calibration_is_a_constant_mean_and_half_the_jackknife() -> None:
    """Against refits: a constant kernel of huge variance, and every observation left out once."""
    space = continuous(2)
    gp = fitted("matern32", space, n=12)
    phi = Effects(gp, [average(gp, 0, GRID, space)])
    band, data, h = phi.band, gp.data, gp.hyperparameters
    K = h.outputscale * np.asarray(gp.kernel.cross(data.columns, data.columns, np.array(h.lengthscales)))
    K += h.noise * np.eye(12)
    cross = h.outputscale * phi.cross_observed

    def with_constant(keep: Array) -> tuple[Array, Array]:
        """Ordinary kriging by its bordered system."""
        n = len(keep)
        system = np.block([[K[np.ix_(keep, keep)], np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        right = np.vstack([cross[:, keep].T, np.ones((1, len(GRID)))])
        solved = np.linalg.solve(system, right)
        variance = h.outputscale * np.diagonal(phi.prior) - (solved * right).sum(axis=0)
        return solved[:n].T @ data.z[keep], variance

    mean, variance = with_constant(np.arange(12))
    np.testing.assert_allclose(band.mean, mean, atol=1e-9)
    np.testing.assert_allclose(band.raw_sd**2, variance, atol=1e-9)
    moves = np.array([mean - with_constant(np.delete(np.arange(12), i))[0] for i in range(12)])
    np.testing.assert_allclose(band.jackknife_sd**2, (moves**2).sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(band.sd**2, variance + JACKKNIFE_SHARE * (moves**2).sum(axis=0), rtol=1e-7)
    np.testing.assert_allclose(np.diagonal(phi.joint_covariance), variance, atol=1e-9)
    np.testing.assert_allclose(phi.jackknife_covariance, moves.T @ moves, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_observations_are_enough(n: int) -> None:
    gp = GaussianProcess().fit(np.full((n, 2), 0.3), np.linspace(1.0, 2.0, n))
    band = Effects(gp, [average(gp, 0, GRID)]).band
    assert np.isfinite([band.mean, band.sd, band.raw_sd, band.jackknife_sd]).all()


@pytest.mark.parametrize("parent", [IntDistribution(0, 2999), CategoricalDistribution(tuple(map(str, range(2500))))])
def test_parents_with_thousands_of_values_can_list_those_that_matter(parent: BaseDistribution) -> None:
    space = Space.of({"n": parent, "x": FloatDistribution(0.0, 1.0)}, {"x": Condition("n", (0, 7, 2400))})
    gp = fitted("matern32", space)
    points = space.dimensions[0].midpoint(np.array([0, 7, 2400]))
    effect = partial_dependence(gp, 1, np.array([0.3]), space=space)
    expected = gp.predict(np.column_stack([points, np.full(3, 0.3)]))[0].mean()
    assert effect.mean[0] == pytest.approx(expected, rel=1e-9)
    midpoints = space.dimensions[0].midpoint(np.arange(space.dimensions[0].cells))
    parent_effect = partial_dependence(gp, 0, midpoints[[7, 9]], space=space)
    assert parent_effect.mean[1] == pytest.approx(gp.predict(np.array([[midpoints[9], 0.5]]))[0][0], rel=1e-9)
