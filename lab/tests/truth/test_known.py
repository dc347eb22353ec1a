"""The truth of a problem is what its formula says."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid_lab.truth import known
from pellucid_lab.truth.problems import DESIGN, PROBLEMS, REPORTED, find_problem
from pellucid_lab.truth.spaces import TruthProblem, choice, real, whole


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> TruthProblem:
    """2a + b with a third parameter that does nothing: indices 4/5, 1/5 and 0."""
    parameters = tuple(real(name, 0.0, 1.0) for name in ("a", "b", "idle"))
    problem = TruthProblem("line", "minimize", parameters, lambda p: 2.0 * p["a"] + p["b"])
    monkeypatch.setitem(PROBLEMS, "line", problem)
    answers = ("indices", "averages", "best_values", "optimum", "spread", "gain_beyond", "loss_without")
    for cached in (getattr(known, name) for name in answers):
        cached.cache_clear()
    return problem


def test_there_are_enough_problems_and_no_problem_is_both_designed_and_reported_on() -> None:
    assert len(REPORTED) >= 12
    assert not set(REPORTED) & set(DESIGN)


def test_indices_of_a_sum_are_the_shares_of_its_variance(line: TruthProblem) -> None:
    totals = {index.name: index.total for index in known.indices(line.name)}
    firsts = {index.name: index.first for index in known.indices(line.name)}
    assert totals == pytest.approx({"a": 0.8, "b": 0.2, "idle": 0.0}, abs=0.01)
    assert firsts == pytest.approx(totals, abs=0.01)
    assert [index.dummy for index in known.indices(line.name)] == [False, False, True]


def test_averages_best_values_and_gains_of_a_sum(line: TruthProblem) -> None:
    values = (0.0, 0.5, 1.0)
    assert known.averages(line.name, "a", values) == pytest.approx([0.5, 1.5, 2.5], abs=0.01)
    assert known.best_values(line.name, "a", values) == pytest.approx([0.0, 1.0, 2.0], abs=0.01)
    assert known.optimum(line.name)[0] == pytest.approx(0.0, abs=0.01)
    assert known.gain_beyond(line.name, "a", "lower") * known.spread(line.name) == pytest.approx(0.2, abs=0.01)
    assert known.gain_beyond(line.name, "a", "upper") < 0.0


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_better_than_random_draws_and_its_parameters_reach_it(name: str) -> None:
    problem = find_problem(name)
    value, params = known.optimum(name)
    assert problem.value(params) == pytest.approx(value, abs=1e-6)
    draws = problem.values_at(np.random.default_rng(1).random((2000, len(problem.parameters))))
    assert problem.sign * value <= (problem.sign * draws).min() + 1e-9
    assert problem.noise_sd > 0.0


def test_a_conditional_parameter_is_judged_in_its_branch() -> None:
    indices = {index.name: index for index in known.indices("kernels")}
    assert indices["C_linear"].branch
    assert indices["C_linear"].total > 0.8  # Alone in its branch, but for one weak parameter that all share.
    assert not indices["kernel"].branch


def test_whole_numbers_and_choices_are_decoded_with_equal_cells() -> None:
    u = (np.arange(1000) + 0.5) / 1000
    assert np.bincount(whole("n", 0, 3).decoded(u)) == pytest.approx([250] * 4, abs=1)
    kinds = choice("kind", "a", "b").decoded(u)
    assert (kinds.count("a"), kinds.count("b")) == (500, 500)
    log = real("lr", 1e-4, 1.0, log=True)
    assert log.positions(log.decoded(u)) == pytest.approx(u)


def test_removing_what_is_not_needed_costs_nothing(line: TruthProblem) -> None:
    assert known.loss_without(line.name, "idle", 0.0, 0.9) == pytest.approx(0.0, abs=0.01)
    lost = known.loss_without(line.name, "a", 0.0, 0.5) * known.spread(line.name)
    assert lost == pytest.approx(1.0, abs=0.02)


def test_either_of_two_equal_optima_may_be_removed_or_widened_to() -> None:
    assert known.loss_without("partners", "alpha", 0.8, 1.0) == pytest.approx(0.0, abs=1e-6)
    assert known.gain_beyond("partners", "alpha", "upper") > 0.1
    assert known.gain_beyond("partners", "alpha", "lower") > 0.1
