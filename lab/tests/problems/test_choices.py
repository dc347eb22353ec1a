"""Choices as formulas: the best model is the only one below the target, and names say which instance is meant."""

import optuna
import pytest

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.problems.choices import DESIGN, FAMILIES, REPORTED, choice
from pellucid_lab.problems.suites import find_suite, is_conditional, load_problem, problem_names


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_best_model_gets_below_the_target(family: str) -> None:
    problem = load_problem("choices", f"{family}-3")
    assert problem.conditional
    assert is_conditional("choices", problem.name)
    assert problem.optimum < problem.target < problem.anchor
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem.objective, n_trials=400)
    values: dict[str, list[float]] = {}
    for trial in study.trials:
        values.setdefault(trial.params["model"], []).append(trial.value)
    assert len(values) == len(FAMILIES[family].models)
    below = [model for model, own in values.items() if min(own) < problem.target]
    assert len(below) <= 1
    assert problem.optimum <= study.best_value
    assert max(map(max, values.values())) <= problem.anchor


def test_a_family_stands_for_its_instances_and_the_design_families_are_the_default() -> None:
    suite = find_suite("choices")
    assert problem_names(suite, ("half-dozen", "kernels-7"), (), (100, 101), 2) == (
        "half-dozen-100",
        "half-dozen-101",
        "kernels-7",
    )
    assert problem_names(suite, None, (), (1,), 2) == tuple(f"{family}-1" for family in DESIGN)
    assert not set(DESIGN) & set(REPORTED)


def test_instances_differ_and_each_is_the_same_every_time() -> None:
    params = {"model": "m0", "s0": 0.4, "a0": 0.3, "b0": 0.7, "c0": 0.5}
    values = [choice(f"trio-{instance}").evaluate(params) for instance in (1, 1, 2, 3)]
    assert values[0] == values[1]
    assert len(set(values)) == 3


def test_a_choice_in_another_unit_has_its_target_in_that_unit() -> None:
    plain, scaled = load_problem("choices", "kernels-2"), load_problem("choices", "kernels-2*1000")
    assert scaled.target == pytest.approx(1000 * plain.target)


@pytest.mark.parametrize("name", ["kernels", "kernels-x", "kernels--1", "kernel-2", "-2"])
def test_wrong_names_are_refused(name: str) -> None:
    with pytest.raises(Mistake, match="A choice is named like kernels-2"):
        load_problem("choices", name)
