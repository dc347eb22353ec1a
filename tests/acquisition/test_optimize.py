"""Maximising an acquisition: the maximum is found, nothing is proposed twice, and equal seeds propose alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from pellucid.models import GaussianProcess
from pellucid.numerics import Array
from pellucid.search.acquisition import EI, LCB, PI, WEI, Acquisition, PosteriorVariance
from pellucid.search.acquisition.base import Effort, PointwiseFunction, Situation
from pellucid.search.acquisition.optimize import climb, propose
from pellucid.space.encoding import Condition, Space

SEEDS = range(9)


@dataclass(frozen=True)
class Fitted:
    """A space, a process fitted to a few configurations of it, and what `propose` needs of both."""

    space: Space
    function: PointwiseFunction
    seen: Array
    incumbents: Array

    def propose(self, seed: int) -> Array:
        return propose(self.function, self.space, self.incumbents, self.seen, np.random.default_rng(seed))


def fitted(
    distributions: dict[str, BaseDistribution],
    conditions: dict[str, Condition] | None = None,
    n: int = 18,
    acquisition: Acquisition | None = None,
    kernel: str = "matern52",
) -> Fitted:
    """A wavy function of the encoded values, with a preference for some categories."""
    space = Space.of(distributions, conditions)
    rng = np.random.default_rng(4)
    X = np.unique(space.canonical(rng.random((n, len(space)))), axis=0)
    weights = np.cos(np.arange(len(space)))
    y = np.sin(5.0 * X @ weights) + ((X - 0.6) ** 2).sum(axis=1) + 0.5 * np.sin(9.0 * X[:, 0])
    gp = GaussianProcess(kernel, nominal=space.nominal, deterministic=True).fit(X, y)
    latent = gp.latent_at_observed()
    situation = Situation(float(latent.min()), len(X), len(space))
    function = PointwiseFunction(acquisition or EI(), gp, situation)
    return Fitted(space, function, X, X[np.argsort(latent)[:5]])


def rows_in(X: Array, seen: Array) -> Array:
    keys = {row.tobytes() for row in np.round(seen, 9)}
    return np.array([row.tobytes() in keys for row in np.round(X, 9)], dtype=bool)


def enumerated(space: Space, per_axis: int = 61) -> Array:
    """Every configuration of the discrete parameters times a grid of the continuous ones, canonical: parents before
    children, and children only where they are active."""
    unconditional = [j for j, name in enumerate(space.names) if name not in space.conditions]
    rows = np.full((1, len(space)), 0.5)
    for j in (*unconditional, *space.order):
        dimension = space.dimensions[j]
        axis = dimension.midpoint(np.arange(dimension.cells)) if dimension.cells else np.linspace(0, 1, per_axis)
        active = space.active(rows)[:, j]
        branched = np.repeat(rows[active], len(axis), axis=0)
        branched[:, j] = np.tile(axis, int(active.sum()))
        rows = np.vstack([rows[~active], branched])
    return space.canonical(rows)


def best_enumerated(problem: Fitted, per_axis: int = 61) -> float:
    """The largest score among configurations that have not been seen."""
    grid = enumerated(problem.space, per_axis)
    grid = grid[~rows_in(grid, problem.seen)]
    return max(float(problem.function.score(part).max()) for part in np.array_split(grid, len(grid) // 5000 + 1))


PROBLEMS: dict[str, tuple[dict[str, BaseDistribution], dict[str, Condition], int]] = {
    "continuous": ({"x": FloatDistribution(-1, 1), "y": FloatDistribution(1e-3, 1, log=True)}, {}, 301),
    "integer grid": ({"a": IntDistribution(0, 24), "b": IntDistribution(1, 40, log=True)}, {}, 1),
    "wide integers": ({"a": IntDistribution(0, 200), "b": IntDistribution(0, 300)}, {}, 1),
    "nominal": (
        {
            "a": CategoricalDistribution(list("pqrst")),
            "b": CategoricalDistribution(list("uvwxyz")),
            "c": CategoricalDistribution([None, True, "x", "y"]),
            "d": CategoricalDistribution([1, 2, 4, 8]),
        },
        {},
        1,
    ),
    "mixed": (
        {
            "x": FloatDistribution(0, 1),
            "y": FloatDistribution(0, 1),
            "n": IntDistribution(1, 6),
            "k": CategoricalDistribution(list("abc")),
        },
        {},
        61,
    ),
    "conditional": (
        {
            "model": CategoricalDistribution(["svm", "forest", "net"]),
            "C": FloatDistribution(1e-3, 1e3, log=True),
            "gamma": FloatDistribution(1e-3, 1e3, log=True),
            "depth": IntDistribution(1, 12),
            "layers": IntDistribution(1, 3),
            "width": FloatDistribution(0, 1),
        },
        {
            "C": Condition("model", (0,)),
            "gamma": Condition("model", (0,)),
            "depth": Condition("model", (1,)),
            "layers": Condition("model", (2,)),
            "width": Condition("layers", None, 1 / 3, 1.0),
        },
        31,
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("acquisition", [EI(), LCB(lam=1.0), PI(xi=0.01)], ids=repr)
def test_the_best_configuration_is_found(name: str, acquisition: Acquisition) -> None:
    """Median over seeds: at least 99% of the best value that enumeration finds (of the score's range for LCB)."""
    distributions, conditions, per_axis = PROBLEMS[name]
    problem = fitted(distributions, conditions, acquisition=acquisition)
    best = best_enumerated(problem, per_axis)
    scores = [float(problem.function.score(problem.propose(seed)[None])[0]) for seed in SEEDS]
    assert all(math.isfinite(score) for score in scores)
    if isinstance(acquisition, LCB):
        grid_scores = problem.function.score(enumerated(problem.space, min(per_axis, 31)))
        tolerance = 0.01 * (best - float(np.median(grid_scores)))
    else:
        tolerance = -math.log(0.99)
    assert float(np.median(scores)) >= best - tolerance


@pytest.mark.parametrize("acquisition", [WEI(0.2), WEI(0.8), PosteriorVariance()], ids=repr)
def test_every_acquisition_can_be_maximised(acquisition: Acquisition) -> None:
    distributions, conditions, per_axis = PROBLEMS["continuous"]
    problem = fitted(distributions, conditions, acquisition=acquisition)
    grid = enumerated(problem.space, per_axis)
    values = problem.function(np.array([problem.propose(seed) for seed in SEEDS]))
    assert float(np.median(values)) >= 0.99 * float(problem.function(grid).max())


@pytest.mark.parametrize("name", PROBLEMS)
def test_proposals_are_canonical_new_and_inside(name: str) -> None:
    distributions, conditions, _ = PROBLEMS[name]
    problem = fitted(distributions, conditions)
    for seed in SEEDS:
        x = problem.propose(seed)
        assert x.shape == (len(problem.space),)
        assert ((x >= 0) & (x <= 1)).all()
        np.testing.assert_array_equal(problem.space.canonical(x[None])[0], x)
        assert np.abs(problem.seen - x).max(axis=1).min() > 1e-9
        (configuration,) = problem.space.decode(x[None])
        for parameter, value in configuration.items():
            distribution = distributions[parameter]
            assert distribution._contains(distribution.to_internal_repr(value))


@pytest.mark.parametrize("name", PROBLEMS)
def test_equal_generators_propose_alike(name: str) -> None:
    distributions, conditions, _ = PROBLEMS[name]
    problem = fitted(distributions, conditions)
    for seed in (0, 1):
        np.testing.assert_array_equal(problem.propose(seed), problem.propose(seed))


def test_different_generators_search_differently() -> None:
    distributions, conditions, _ = PROBLEMS["continuous"]
    problem = fitted(distributions, conditions)
    assert len({problem.propose(seed).tobytes() for seed in SEEDS}) > 1


def test_proposing_leaves_its_arguments_unchanged() -> None:
    distributions, conditions, _ = PROBLEMS["mixed"]
    problem = fitted(distributions, conditions)
    seen, incumbents = problem.seen.copy(), problem.incumbents.copy()
    before = problem.function.score(seen)
    problem.propose(0)
    np.testing.assert_array_equal(problem.seen, seen)
    np.testing.assert_array_equal(problem.incumbents, incumbents)
    np.testing.assert_array_equal(problem.function.score(seen), before)


# ------------------------------------------------------------------------------------ nothing proposed twice

FINITE: dict[str, tuple[dict[str, BaseDistribution], dict[str, Condition]]] = {
    "grid": ({"a": IntDistribution(0, 4), "b": IntDistribution(1, 5, log=True)}, {}),
    "categories": ({"a": CategoricalDistribution(list("abc")), "b": CategoricalDistribution([True, False])}, {}),
    "steps": ({"a": FloatDistribution(0, 1, step=0.25), "b": IntDistribution(0, 9, step=3)}, {}),
    "conditional": (
        {
            "kind": CategoricalDistribution(list("abc")),
            "n": IntDistribution(1, 5),
            "m": IntDistribution(1, 4),
            "deep": CategoricalDistribution(["x", "y"]),
        },
        {"n": Condition("kind", (0,)), "m": Condition("kind", (1,)), "deep": Condition("m", (1, 3))},
    ),
}


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("acquisition", [EI(), LCB(), PosteriorVariance()], ids=repr)
def test_the_only_unseen_configuration_is_proposed(name: str, acquisition: Acquisition) -> None:
    distributions, conditions = FINITE[name]
    problem = fitted(distributions, conditions, acquisition=acquisition, n=12)
    configurations = enumerated(problem.space)
    for i in range(len(configurations)):
        seen = np.delete(configurations, i, axis=0)
        x = propose(problem.function, problem.space, problem.incumbents, seen, np.random.default_rng(i))
        np.testing.assert_allclose(x, configurations[i], atol=1e-12)


@pytest.mark.parametrize("name", FINITE)
def test_a_finite_space_is_visited_completely_before_anything_repeats(name: str) -> None:
    distributions, conditions = FINITE[name]
    problem = fitted(distributions, conditions, n=4)
    configurations = enumerated(problem.space)
    seen = problem.seen
    for i in range(len(configurations) - len(seen)):
        x = propose(problem.function, problem.space, problem.incumbents, seen, np.random.default_rng(i))
        assert not rows_in(x[None], seen)[0]
        seen = np.vstack([seen, x])
    assert rows_in(configurations, seen).all()


@pytest.mark.parametrize("name", FINITE)
def test_something_is_proposed_when_everything_has_been_seen(name: str) -> None:
    distributions, conditions = FINITE[name]
    problem = fitted(distributions, conditions, n=12)
    configurations = enumerated(problem.space)
    x = propose(problem.function, problem.space, problem.incumbents, configurations, np.random.default_rng(0))
    assert rows_in(x[None], configurations)[0]


@pytest.mark.parametrize("others", [2, 600])
def test_the_only_unseen_branch_of_a_large_conditional_space_is_found(others: int) -> None:
    """Two branches of `others` values each: few configurations, though the product of all ranges is large."""
    space_of = {
        "kind": CategoricalDistribution(["a", "b"]),
        "n": IntDistribution(1, others),
        "m": IntDistribution(1, others),
    }
    problem = fitted(space_of, {"n": Condition("kind", (0,)), "m": Condition("kind", (1,))}, n=12)
    configurations = enumerated(problem.space)
    assert len(configurations) == 2 * others
    for i in np.linspace(0, len(configurations) - 1, 8).astype(int).tolist():
        seen = np.delete(configurations, i, axis=0)
        x = propose(problem.function, problem.space, problem.incumbents, seen, np.random.default_rng(i))
        np.testing.assert_allclose(x, configurations[i], atol=1e-12)


def test_a_continuous_proposal_keeps_its_distance() -> None:
    """Where the maximum is already known, the next best place outside the forbidden box is proposed."""
    space = Space.of({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
    seen = np.array([[0.3, 0.7], [0.9, 0.1]])
    for separation in (1e-7, 1e-2, 0.1):
        for seed in range(3):
            x = propose(
                Peak.at([0.3, 0.7]), space, seen, seen, np.random.default_rng(seed), separation  # type: ignore[arg-type]
            )  # fmt: skip
            assert np.abs(seen - x).max(axis=1).min() > separation
            assert np.abs(seen[0] - x).max() < separation + 0.1


def test_a_configuration_without_continuous_parameters_is_not_repeated_in_a_space_that_has_some() -> None:
    """`off` has no children: once seen, it is not proposed again, however good it looks."""
    space_of = {"kind": CategoricalDistribution(["off", "on"]), "x": FloatDistribution(0, 1)}
    problem = fitted(space_of, {"x": Condition("kind", (1,))}, n=8)
    off = np.array([[0.25, 0.5]])
    best_is_off = Peak.at([0.25, 0.5])
    for seed in range(5):
        x = propose(best_is_off, problem.space, off, off, np.random.default_rng(seed))  # type: ignore[arg-type]
        assert problem.space.decode(x[None])[0]["kind"] == "on"


# ------------------------------------------------------------------------------------------------- climbing


@dataclass(frozen=True)
class Peak:
    """A known acquisition: the quadratic -(x - c)' A (x - c), with all that maximising one needs."""

    c: Array
    A: Array

    @staticmethod
    def at(c: list[float]) -> Peak:
        return Peak(np.array(c), np.eye(len(c)))

    @staticmethod
    def slanted(d: int, condition: float, rng: np.random.Generator) -> Peak:
        """Axes in any direction, of very unequal length; the peak may lie outside the cube."""
        Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        return Peak(rng.uniform(-0.3, 1.3, size=d), Q @ np.diag(np.geomspace(1.0, condition, d)) @ Q.T)

    effort = Effort()

    def score(self, X: Array) -> Array:
        return -np.einsum("ij,jk,ik->i", X - self.c, self.A, X - self.c)

    def screen(self, X: Array) -> Array:
        return self.score(X)

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        return self.score(X), -2.0 * (X - self.c) @ self.A


@dataclass(frozen=True)
class Tables:
    """A known acquisition on categories: the sum of the values of the choices."""

    worth: Array  # (d, categories)

    effort = Effort()

    def score(self, X: Array) -> Array:
        categories = self.worth.shape[1]
        codes = np.minimum((X * categories).astype(int), categories - 1)
        return self.worth[np.arange(len(self.worth)), codes].sum(axis=1)

    def screen(self, X: Array) -> Array:
        return self.score(X)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_millions_of_category_combinations_is_found_by_flips(seed: int) -> None:
    """Ten parameters with six choices each: far too many for the pool, but every flip towards the best is a gain."""
    d, categories = 10, 6
    tables = Tables(np.random.default_rng(seed).random((d, categories)))
    space = Space.of({f"p{j}": CategoricalDistribution(list("abcdef")) for j in range(d)})
    seen = space.canonical(np.random.default_rng(seed).random((10, d)))
    x = propose(tables, space, seen[:3], seen, np.random.default_rng(seed))  # type: ignore[arg-type]
    np.testing.assert_allclose(x, (tables.worth.argmax(axis=1) + 0.5) / categories)


def test_climbing_reaches_a_peak_inside_the_cube() -> None:
    peak = Peak(np.array([0.3, 0.8, 0.5]), np.diag([1.0, 5.0, 20.0]))
    starts = np.random.default_rng(0).random((20, 3))
    x, f = climb(peak, starts, np.ones((20, 3), dtype=bool), Effort(60))  # type: ignore[arg-type]
    np.testing.assert_allclose(x, np.tile(peak.c, (20, 1)), atol=0.02)
    assert (f > -0.005).all()


def test_climbing_goes_to_the_border_when_the_peak_is_beyond_it() -> None:
    peak = Peak(np.array([1.4, 0.5]), np.eye(2))
    x, _ = climb(peak, np.random.default_rng(0).random((10, 2)), np.ones((10, 2), dtype=bool), Effort(40))  # type: ignore[arg-type]
    np.testing.assert_allclose(x, np.tile([1.0, 0.5], (10, 1)), atol=0.03)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("evaluations", [1, 2, 5, 10, 40])
def test_climbing_a_slanted_ridge_never_goes_down_or_out(d: int, condition: float, evaluations: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(20):
        peak = Peak.slanted(d, condition, rng)
        starts = np.round(rng.random((8, d)), rng.integers(0, 4))  # Corners and borders among them.
        free = rng.random((8, d)) < 0.8
        x, f = climb(peak, starts.copy(), free, Effort(evaluations))  # type: ignore[arg-type]
        assert x.min() >= 0.0
        assert x.max() <= 1.0
        np.testing.assert_array_equal(x[~free], starts[~free])
        np.testing.assert_allclose(f, peak.score(x), rtol=1e-12, atol=1e-12)
        assert (f >= peak.score(starts) - 1e-12).all()


@pytest.mark.parametrize("name", ["continuous", "mixed", "conditional"])
@pytest.mark.parametrize("acquisition", [EI(), PI(), LCB(), WEI(0.0), WEI(0.8), PosteriorVariance()], ids=repr)
def test_climbing_an_acquisition_never_goes_down_or_out(name: str, acquisition: Acquisition) -> None:
    distributions, conditions, _ = PROBLEMS[name]
    problem = fitted(distributions, conditions, acquisition=acquisition)
    rng = np.random.default_rng(1)
    d = len(problem.space)
    # Anywhere, at the corners, and on top of the data, where slopes are steepest.
    starts = problem.space.canonical(np.vstack([rng.random((10, d)), np.round(rng.random((5, d))), problem.seen[:5]]))
    free = problem.space.active(starts) & np.array([not k.cells for k in problem.space.dimensions])
    before, _ = problem.function.score_with_gradient(starts)
    x, f = climb(problem.function, starts.copy(), free, Effort(15))
    assert x.min() >= 0.0
    assert x.max() <= 1.0
    np.testing.assert_array_equal(x[~free], starts[~free])
    np.testing.assert_allclose(f, problem.function.score(x), rtol=1e-6, atol=1e-6)
    assert (f >= before - 1e-9).all()
    assert (f > before + 1e-6).any()


@pytest.mark.parametrize("seed", range(8))
def test_rows_climb_together_as_well_as_alone(seed: int) -> None:
    """Alone, a row may stop a little earlier; with others it has at least as many evaluations, and must use them."""
    distributions, conditions, _ = PROBLEMS["continuous"]
    problem = fitted(distributions, conditions)
    starts = np.random.default_rng(seed).random((6, 2))
    free = np.ones((6, 2), dtype=bool)
    _, together = climb(problem.function, starts.copy(), free, Effort(10))
    alone = [climb(problem.function, starts[i : i + 1].copy(), free[:1], Effort(10))[1][0] for i in range(6)]
    assert (together >= np.array(alone) - 0.02).all()


@pytest.mark.parametrize(("a", "b"), list(product([0.05, 0.5, 0.95], repeat=2)))
def test_a_known_peak_is_proposed_at_any_position(a: float, b: float) -> None:
    space = Space.of({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
    peak = Peak(np.array([a, b]), np.array([[3.0, 1.0], [1.0, 2.0]]))
    far = np.array([[0.2, 0.9]])
    x = propose(peak, space, far, far, np.random.default_rng(0))  # type: ignore[arg-type]
    np.testing.assert_allclose(x, [a, b], atol=0.02)
