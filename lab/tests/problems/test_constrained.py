"""Constrained problems: their optima, what binds there, signs of constraints, and how rare feasible ones are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.optimize import minimize

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.base import ConstrainedProblem
from pellucid_lab.problems.constrained import DESIGN_NAMES, NAMES, REPORTED_NAMES, constrained_problem
from pellucid_lab.problems.constrained_models import TRAININGS

FORMULAS = tuple(name for name in NAMES if name not in TRAININGS)
# Smallest and largest share of random configurations that are feasible.
SHARES = {
    "townsend": (0.6, 0.7),
    "gardner-wide": (0.62, 0.71),
    "vessel": (0.35, 0.45),
    "arc": (0.013, 0.028),
    "truss": (0.2, 0.28),
    "gardner-small": (0.011, 0.025),
    "spring": (0.002, 0.012),
    "beam": (0.015, 0.035),
    "reducer": (0.0001, 0.004),
    "disk": (0.65, 0.75),
    "ball": (0.06, 0.1),
    "shell": (0.013, 0.028),
    "cantilever": (0.2, 0.28),
    "bracket": (0.42, 0.53),
}
INSIDE = {"gardner-wide", "disk", "ball"}


def draw(distribution: BaseDistribution, rng: np.random.Generator) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[rng.integers(len(distribution.choices))]
    if isinstance(distribution, IntDistribution):
        return int(rng.integers(distribution.low, distribution.high + 1))
    assert isinstance(distribution, FloatDistribution)
    value = rng.uniform(distribution.low, distribution.high)
    return value if distribution.step is None else distribution.step * round(value / distribution.step)


def configuration(problem: ConstrainedProblem, rng: np.random.Generator) -> dict[str, Any]:
    return {name: draw(distribution, rng) for name, distribution in problem.distributions.items()}


def sizes(problem: ConstrainedProblem) -> dict[str, float]:
    """A typical size of each constraint, as the unit of its rounding errors."""
    rng = np.random.default_rng(1)
    rows = [problem.evaluate(configuration(problem, rng)).constraints for _ in range(50)]
    return {name: float(np.median([abs(row[name]) for row in rows])) for name in rows[0]}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_best_configuration_is_feasible_has_the_optimum_and_says_what_binds(name: str) -> None:
    problem = constrained_problem(name)
    evaluation = problem.evaluate(problem.best)
    assert set(problem.best) == set(problem.distributions)
    assert all(
        distribution._contains(distribution.to_internal_repr(problem.best[key]))
        for key, distribution in problem.distributions.items()
    )
    assert evaluation.value == pytest.approx(problem.optimum, rel=1e-6)
    # Constraints that bind are rounded in the eighth digit of the configuration.
    units = sizes(problem)
    shares = {key: value / units[key] for key, value in evaluation.constraints.items()}
    assert {key for key, share in shares.items() if share > -1e-6} == set(problem.active)
    assert max(shares.values()) < 1e-6
    assert (not problem.active) == (name in INSIDE)
    assert problem.source


def discrete_parts(problem: ConstrainedProblem) -> Iterator[dict[str, Any]]:
    """All values of the discrete parameters together; of steps, those beside the best one."""
    values: dict[str, list[Any]] = {}
    for name, distribution in problem.distributions.items():
        if isinstance(distribution, CategoricalDistribution):
            values[name] = list(distribution.choices)
        elif isinstance(distribution, IntDistribution):
            values[name] = list(range(distribution.low, min(distribution.high, distribution.low + 3) + 1))
        elif isinstance(distribution, FloatDistribution) and distribution.step is not None:
            values[name] = [problem.best[name] + k * distribution.step for k in (-1, 0, 1)]
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def solved(problem: ConstrainedProblem, fixed: Mapping[str, Any], start: np.ndarray) -> float:
    """The feasible value that SLSQP finds from a start in the unit cube; infinite if it finds none."""
    free = [name for name in problem.distributions if name not in fixed]
    low = np.array([problem.distributions[name].low for name in free])
    high = np.array([problem.distributions[name].high for name in free])
    units = sizes(problem)

    def evaluate(u: np.ndarray) -> Any:
        return problem.evaluate({**fixed, **dict(zip(free, low + (high - low) * np.clip(u, 0, 1), strict=True))})

    def slack(u: np.ndarray) -> np.ndarray:
        return np.array([-value / units[key] for key, value in evaluate(u).constraints.items()])

    size = abs(problem.optimum)
    found = minimize(
        lambda u: evaluate(u).value / size,
        start,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(free),
        constraints=[{"type": "ineq", "fun": slack}],
        options={"ftol": 1e-10, "maxiter": 200},
    )
    return evaluate(found.x).value if slack(found.x).min() > -1e-7 else np.inf


@pytest.mark.parametrize("name", FORMULAS)
def test_a_local_solver_reaches_the_optimum_and_nothing_better(name: str) -> None:
    problem = constrained_problem(name)
    rng = np.random.default_rng(0)
    free = [key for key, d in problem.distributions.items() if isinstance(d, FloatDistribution) and d.step is None]
    low = np.array([problem.distributions[key].low for key in free])
    high = np.array([problem.distributions[key].high for key in free])
    near = (np.array([problem.best[key] for key in free]) - low) / (high - low)
    found = []
    for fixed in discrete_parts(problem):
        starts = [np.clip(near + 0.05 * rng.standard_normal(len(free)), 0, 1), rng.random(len(free))]
        found += [solved(problem, fixed, start) for start in starts]
    if len(free) == len(problem.distributions):
        found += [solved(problem, {}, rng.random(len(free))) for _ in range(8)]
    assert min(found) == pytest.approx(problem.optimum, rel=1e-5)


@pytest.mark.parametrize("name", FORMULAS)
def test_no_random_configuration_is_better_and_the_feasible_share_is_as_stated(name: str) -> None:
    problem = constrained_problem(name)
    rng = np.random.default_rng(2)
    evaluations = [problem.evaluate(configuration(problem, rng)) for _ in range(4000)]
    feasible = [evaluation.value for evaluation in evaluations if evaluation.feasible]
    low, high = SHARES[name]
    assert low <= len(feasible) / 4000 <= high
    assert min(feasible) > problem.optimum - 1e-6 * abs(problem.optimum)


@pytest.mark.parametrize("name", ["townsend", "vessel", "bracket", "truss"])
def test_an_objective_reports_its_constraints_by_name_and_positive_ones_are_infeasible(name: str) -> None:
    problem = constrained_problem(name)
    study = optuna.create_study(direction=problem.direction, sampler=optuna.samplers.RandomSampler(seed=3))
    study.optimize(problem.objective, n_trials=60)
    evaluations = [problem.evaluate(trial.params) for trial in study.trials]
    assert [trial.constraints for trial in study.trials] == [evaluation.constraints for evaluation in evaluations]
    best = min(evaluation.value for evaluation in evaluations if evaluation.feasible)
    assert study.best_value == best
    assert set(problem.noise) <= set(evaluations[0].constraints)


def test_a_cantilever_has_a_closed_form() -> None:
    problem = constrained_problem("cantilever")
    roots = np.array([61.0, 37.0, 19.0, 7.0, 1.0]) ** 0.25
    assert list(problem.best.values()) == pytest.approx(roots * roots.sum() ** (1 / 3), rel=1e-9)
    assert problem.optimum == pytest.approx(0.0624 * roots.sum() ** (4 / 3), rel=1e-8)


def test_the_sets_share_nothing_and_both_have_each_kind() -> None:
    assert not set(DESIGN_NAMES) & set(REPORTED_NAMES)
    for names in (DESIGN_NAMES, REPORTED_NAMES):
        assert INSIDE & set(names)
        assert set(TRAININGS) & set(names)
        assert {"arc", "shell"} & set(names)
        assert any(constrained_problem(name).noise for name in names if name in FORMULAS)


def test_an_unknown_problem_is_refused() -> None:
    with pytest.raises(Mistake, match=r"The constrained problems are townsend, .*; got `spiral`"):
        constrained_problem("spiral")


# ------------------------------------------------------------------------------------------- trainings


@pytest.mark.parametrize("name", TRAININGS)
def test_the_best_model_fits_in_its_memory_and_repeats_its_value(name: str) -> None:
    pytest.importorskip("sklearn")
    problem = constrained_problem(name)
    first, second = problem.evaluate(problem.best), problem.evaluate(problem.best)
    assert first == second
    # Another version of scikit-learn may grow its trees a little differently.
    assert first.value == pytest.approx(problem.optimum, abs=0.02)
    assert -1.0 < first.constraints["memory"] <= 0.0
    assert problem.active == ("memory",)


def test_more_memory_would_give_a_better_model() -> None:
    pytest.importorskip("sklearn")
    larger = {
        "forest-memory": {"trees": 40, "depth": 16},
        "boosting-memory": {"trees": 60, "rate": 0.1},
        "svm-memory": {"C": 100.0, "gamma": 0.08, "epsilon": 0.2},
    }
    for name, changes in larger.items():
        problem = constrained_problem(name)
        evaluation = problem.evaluate({**problem.best, **changes})
        assert not evaluation.feasible
        assert evaluation.value > problem.optimum


def test_memory_counts_the_rows_that_a_machine_keeps() -> None:
    pytest.importorskip("sklearn")
    problem = constrained_problem("svm-memory")
    everything = problem.evaluate({"C": 1.0, "gamma": 1.0, "epsilon": 1e-3}).constraints["memory"]
    # 120 rows of a fold, four numbers and a weight of 8 bytes each; a few rows lie within epsilon.
    assert everything + TRAININGS["svm-memory"].limit == pytest.approx(120 * 5 * 8 / 1024, rel=0.03)
