"""The closed form of Shapley values of a posterior mean, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from tests.problems import noisy_problem

from pellucid.answers import shapley
from pellucid.answers.proposals.shapley_mean import mean_shapley
from pellucid.answers.shapley import shapley_values
from pellucid.models import GaussianProcess
from pellucid.models.averages.averages import Average, Axis, Factors
from pellucid.numerics import Array
from pellucid.space.encoding import Condition, Space

# --------------------------------------------------------------------------- the closed form for means


def enumerated(gp: GaussianProcess, x: Array, space: Space, players: list[int], axes: dict[int, Axis]) -> Array:
    """Exact coalition values, one exact average per coalition, weighted by the definition."""
    factors = Factors(gp.kernel, np.array(gp.hyperparameters.lengthscales))
    v = np.empty(2 ** len(players))
    for number, inside in enumerate(shapley.coalitions(len(players))):
        held = {j: x[j : j + 1] for j, on in zip(players, inside, strict=True) if on}
        average = Average(space, held, axes)
        r = np.ones((1, gp.n_observed))
        for root in average.roots:
            r = r * average.tree_cross(factors, root, gp.data.X)
        v[number] = float((r @ gp.data.alpha)[0])
    return np.asarray(shapley.shapley_weights(len(players)) @ v)


SPACES: dict[str, tuple[dict[str, BaseDistribution], dict[str, Condition]]] = {
    "continuous": ({f"x{j}": FloatDistribution(0, 1) for j in range(5)}, {}),
    "mixed": (
        {
            "lr": FloatDistribution(1e-4, 1, log=True),
            "depth": IntDistribution(1, 9),
            "units": IntDistribution(1, 64, log=True),
            "kind": CategoricalDistribution(["a", "b", "c"]),
            "size": CategoricalDistribution([1, 2, 4]),
        },
        {},
    ),
    "conditional": (
        {
            "kind": CategoricalDistribution(["a", "b", "c"]),
            "rate": FloatDistribution(0, 1),
            "drop": FloatDistribution(0, 1),
            "skip": IntDistribution(0, 4),
            "lr": FloatDistribution(0, 1),
        },
        {
            "drop": Condition("kind", (1,)),
            "skip": Condition("drop", None, 0.3, 1.0),
            "rate": Condition("kind", (0, 1)),
        },
    ),
}


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "se"])
@pytest.mark.parametrize("name", list(SPACES))
@pytest.mark.parametrize("near", [False, True])
def test_the_closed_form_is_enumeration_on_fitted_processes(kernel: str, name: str, near: bool) -> None:
    distributions, conditions = SPACES[name]
    space = Space.of(distributions, conditions)
    X, y = noisy_problem(5, 60, len(space))
    X = space.canonical(X)
    gp = GaussianProcess(kernel, nominal=space.nominal).fit(X, y)
    x = X[int(np.argmin(y))]
    players = [int(j) for j in np.flatnonzero(space.active(x[None])[0])]
    free = [j for j in players if not space.dimensions[j].cells]
    axes = {j: Axis.between(max(0.0, x[j] - 0.1), min(1.0, x[j] + 0.1)) for j in free} if near else {}
    shares = mean_shapley(gp, x, space, players, axes)
    np.testing.assert_allclose(shares.values, enumerated(gp, x, space, players, axes), rtol=1e-9, atol=1e-9)
    assert shares.average + shares.values.sum() == pytest.approx(float(gp.latent(x[None])[0][0]), abs=1e-9)


@pytest.mark.parametrize("name", ["mixed", "conditional"])
def test_the_closed_form_equals_shapley_values_over_all_configurations(name: str) -> None:
    """Without exact averages: every configuration of a discrete space is the background."""
    kind = CategoricalDistribution(["a", "b", "c"])
    if name == "mixed":
        space = Space.of({"kind": kind, "depth": IntDistribution(1, 5), "size": CategoricalDistribution([1, 2, 4])})
    else:
        space = Space.of(
            {
                "kind": kind,
                "drop": IntDistribution(0, 3),
                "skip": IntDistribution(0, 2),
                "depth": IntDistribution(1, 4),
            },
            {"drop": Condition("kind", (1, 2)), "skip": Condition("drop", (2, 3))},
        )
    X, y = noisy_problem(2, 40, len(space))
    X = space.canonical(X)
    gp = GaussianProcess(nominal=space.nominal).fit(X, y)
    x = X[int(np.argmax(space.active(X).sum(axis=1)))]
    players = [int(j) for j in np.flatnonzero(space.active(x[None])[0])]
    levels = [dimension.midpoint(np.arange(dimension.cells)) for dimension in space.dimensions]
    configurations = np.array(list(itertools.product(*levels)))
    expected = shapley_values(lambda R: gp.latent(space.canonical(R))[0], x, configurations, "exact", players=players)
    shares = mean_shapley(gp, x, space, players)
    np.testing.assert_allclose(shares.values, expected.values, rtol=1e-9, atol=1e-9)
    assert shares.average == pytest.approx(float(np.asarray(expected.average)), abs=1e-9)


def test_the_closed_form_takes_many_parameters() -> None:
    d = 30
    space = Space.of({f"x{j}": FloatDistribution(0, 1) for j in range(d)})
    X, y = noisy_problem(1, 80, d)
    gp = GaussianProcess().fit(X, y)
    shares = mean_shapley(gp, X[0], space, range(d))
    assert shares.average + shares.values.sum() == pytest.approx(float(gp.latent(X[:1])[0][0]), abs=1e-9)
    fn = lambda R: gp.latent(R)[0]  # noqa: E731
    sampled = shapley_values(fn, X[0], np.random.default_rng(0).random((4000, d)), "sampled", n_samples=4000)
    assert (np.abs(shares.values - sampled.values) <= 2.5 * sampled.half_widths).all()
