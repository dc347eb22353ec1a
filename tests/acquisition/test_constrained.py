"""Acquisitions among feasible configurations: sums of terms, gradients, and receipts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from optuna.distributions import FloatDistribution

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel, log_chance
from pellucid.search.acquisition import EI, LCB
from pellucid.search.acquisition.base import AcquisitionFunction, PointwiseAcquisition, Pool, Situation, from_state
from pellucid.search.acquisition.constrained import Constrained
from pellucid.search.acquisition.feasible import Chance, Feasible
from pellucid.space.encoding import Space

SPACE = Space.of({name: FloatDistribution(0, 1) for name in "ab"})
X = np.random.default_rng(0).random((20, 2))
Z = 0.05 + 0.9 * np.random.default_rng(1).random((15, 2))
OBJECTIVE = GaussianProcess().fit(X, (X[:, 0] - 0.3) ** 2 + X[:, 1])
MEMORY = ConstraintModel("memory", GaussianProcess().fit(X, X[:, 0] + X[:, 1] - 0.8), 0.0)
TIME = ConstraintModel("time", GaussianProcess(warp="auto").fit(X, np.exp(3 * X[:, 1]) - 5.0), 0.0)
SITUATION = Situation(float(OBJECTIVE.latent_at_observed().min()), 20, 2, (MEMORY, TIME))
NAMES = ("memory", "time")
POOL = Pool(Z, *OBJECTIVE.screen_with_correlations(Z))
BASES: list[PointwiseAcquisition | Feasible | None] = [None, EI(), LCB(0.5), LCB(2.0), LCB(None)]


def bound(acquisition: Constrained) -> AcquisitionFunction:
    return acquisition.bind(OBJECTIVE, SITUATION, SPACE)


@pytest.mark.parametrize("base", BASES, ids=str)
def test_the_score_is_that_of_the_base_plus_the_weighted_chances(base: PointwiseAcquisition | None) -> None:
    function = bound(Constrained(base, NAMES, 0.3, 0.64))
    alone = 0.0 if base is None else base.bind(OBJECTIVE, SITUATION, SPACE).score(Z)
    short = [np.minimum(0.0, constraint.log_probability(Z) - np.log(0.8)) for constraint in (MEMORY, TIME)]
    np.testing.assert_allclose(function.score(Z), alone + 0.3 * sum(short), rtol=1e-12)
    near = sum(short) > np.log(1e-3)
    assert near.any()
    np.testing.assert_allclose(function(Z[near]), function.score(Z[near]), rtol=1e-12)
    if base is not None:
        assert all((term >= np.log(1e-3)).all() for name, term in function.terms(Z).items() if "feasible" in name)
    assert set(function.weights()) == set(function.terms(Z)) == set(function.acquisition.words())


@pytest.mark.parametrize("base", [*BASES, Feasible(EI(), 15, 5, (0.5, 0.5))], ids=str)
def test_gradients_agree_with_finite_differences(base: PointwiseAcquisition | Feasible | None) -> None:
    function, h = bound(Constrained(base, NAMES, 2.0, 0.9)), 1e-6
    score, gradient = function.score_with_gradient(Z)
    np.testing.assert_allclose(score, function.score(Z), rtol=1e-9)
    for j in range(2):
        step = h * np.eye(2)[j]
        slope = (function.score(Z + step) - function.score(Z - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-3, atol=1e-5 * np.abs(slope).max())


@pytest.mark.parametrize("base", [*BASES, Feasible(LCB(0.5), 15, 5, (0.5, 0.5))], ids=str)
def test_a_receipt_rebuilds_it(base: PointwiseAcquisition | Feasible | None) -> None:
    acquisition = Constrained(base, NAMES, 0.07, 0.75)
    state = bound(acquisition).state(Z[:1], SPACE)
    again = from_state(state)
    assert again == acquisition
    assert json.loads(json.dumps(state.settings)) == state.settings


def test_screening_ranks_like_the_score() -> None:
    """Deep in the tails single precision loses digits of a small variance, more or fewer with each BLAS kernel: there
    only the rank counts."""
    function = bound(Constrained.among_feasible(LCB(0.5), NAMES, POOL, SITUATION.best))
    score, screened = function.score(Z), function.screen(Z)
    likely = log_chance((MEMORY, TIME), Z) > np.log(1e-6)
    assert 3 < likely.sum() < len(Z) - 3
    np.testing.assert_allclose(screened[likely], score[likely], rtol=2e-2, atol=1e-2)
    np.testing.assert_allclose(screened[~likely], score[~likely], rtol=0.5)
    assert screened[~likely].max() < screened[likely].min() - 1.0


def test_where_both_are_likely_enough_only_the_base_counts() -> None:
    both = MEMORY.probability(Z) * TIME.probability(Z)
    score = bound(Constrained(LCB(0.5), NAMES, 100.0, 0.5)).score(Z)
    alone = LCB(0.5).bind(OBJECTIVE, SITUATION, SPACE).score(Z)
    likely = np.minimum(MEMORY.probability(Z), TIME.probability(Z)) > np.sqrt(0.5)
    assert likely.any()
    np.testing.assert_allclose(score[likely], alone[likely])
    assert (both[likely] >= 0.5).all()
    assert (score[~likely] < alone[~likely]).all()


def test_the_weight_of_a_bound_grows_with_what_could_be_gained_outside() -> None:
    near, far = (Constrained.among_feasible(LCB(0.5), NAMES, POOL, best) for best in (SITUATION.best, 5.0))
    assert near.weight < far.weight
    assert Constrained.among_feasible(LCB(2.0), NAMES, POOL, 0.0).enough < near.enough


def test_the_chance_of_failing_is_one_more_term() -> None:
    chance = Chance.learned(X[:15], X[15:], SPACE).times(LCB(2.0))
    assert isinstance(chance, Feasible)
    terms = bound(Constrained.among_feasible(chance, NAMES, POOL, 0.0)).terms(Z)
    assert set(terms) == {"acquisition", "feasibility", "feasible: memory", "feasible: time"}


def test_a_constraint_without_a_model_is_named() -> None:
    with pytest.raises(ValueError, match="needs a model of every constraint, but latency has none"):
        bound(Constrained(EI(), ("memory", "latency")))


def test_names_of_constraints_that_are_no_text_are_refused() -> None:
    settings = {"constraints": [["size"]], "weight": 1.0, "enough": 0.5}
    with pytest.raises(ValueError, match="takes names of constraints"):
        Constrained.from_settings(settings)


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("floor", [-np.inf, -2.0])
def test_terms_from_posteriors_are_the_terms_above_a_floor(base: PointwiseAcquisition | None, floor: float) -> None:
    function = bound(Constrained(base, NAMES, 0.3, 0.64))
    rows = np.random.default_rng(2).random((300, 2))
    posteriors = [model.posterior_at(rows) for model in function.models]
    assert len(posteriors) == (2 if base is None else 3)
    terms = function.terms_from(posteriors, dict.fromkeys(function.weights(), floor))
    for name, exact in function.terms(rows).items():
        np.testing.assert_allclose(np.maximum(terms[name], floor), np.maximum(exact, floor), rtol=1e-9, atol=1e-9)


def test_a_base_that_needs_more_than_models_makes_all_of_it_need_more() -> None:
    assert bound(Constrained(Feasible(EI(), 15, 5, (0.5, 0.5)), NAMES)).models == ()
