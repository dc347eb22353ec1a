"""Constraints as Optuna stores them, old and new, complete or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, create_trial

from pellucid.study.constraints import constraints, reported_constraints
from pellucid.study.observations import observations
from pellucid.study.targets import Target
from pellucid.study.view import StudyView


def trial(value: float = 0.0, **attributes: Any) -> FrozenTrial:
    named = {f"constraints:{name}": v for name, v in attributes.items() if name != "listed"}
    listed = {"constraints": attributes["listed"]} if "listed" in attributes else {}
    space = {"x": FloatDistribution(0, 1)}
    return create_trial(params={"x": 0.5}, distributions=space, value=value, system_attrs={**named, **listed})


def test_constraints_of_both_formats_are_read_as_optuna_reads_them() -> None:
    study = optuna.create_study()
    asked = study.ask()
    asked.set_constraint("memory", -2.0)
    study.tell(asked, 1.0)
    assert reported_constraints(study.trials[0]) == study.trials[0].constraints == {"memory": -2.0}
    assert reported_constraints(trial(listed=[1.0, -3])) == {"constraint 0": 1.0, "constraint 1": -3.0}
    assert reported_constraints(trial()) == {}


def test_a_study_without_constraints_is_feasible_and_has_no_names() -> None:
    none = constraints([trial(), trial()])
    assert none.names == ()
    assert none.feasible.all()
    assert (none.violation == 0.0).all()


@pytest.mark.parametrize(
    ("attributes", "feasible"),
    [
        ({"a": -1.0, "b": 0.0}, True),
        ({"a": -1.0, "b": 1e-9}, False),
        ({"a": -1.0}, True),  # Judged by what it reports.
        ({}, False),  # Reports nothing in a study with constraints.
        ({"a": -math.inf, "b": -1}, True),
        ({"a": math.inf}, False),
        ({"a": math.nan}, False),
        ({"a": None}, False),
        ({"a": "many"}, False),
        ({"listed": [-1.0, float("nan")]}, False),
        ({"listed": "nonsense"}, False),
    ],
)
def test_what_counts_as_feasible(attributes: dict[str, Any], feasible: bool) -> None:
    both = constraints([trial(a=-5.0, b=-5.0), trial(**attributes)])
    assert both.feasible.tolist() == [True, feasible]
    assert (both.violation[1] == 0.0) == feasible


def test_violations_are_compared_in_units_of_each_constraint() -> None:
    found = constraints([trial(a=1.0, b=-1.0), trial(a=-1.0, b=500.0), trial(a=0.1, b=-3.0), trial(b=1000.0)])
    assert np.argsort(found.violation).tolist() == [2, 1, 0, 3]


def test_an_infinite_violation_stays_worse_than_all_others_in_the_model() -> None:
    observed = observations([trial(a=-3.0), trial(a=math.inf), trial(a=-1.0), trial()], [Target("objective")])
    observed = observed.of(Target("a", kind="constraint"))
    assert len(observed) == 3
    assert observed.losses[1] > 0.0
    assert np.isfinite(observed.losses).all()
    assert observed.losses[[0, 2]].tolist() == [-3.0, -1.0]


def test_a_constraint_is_a_target_with_its_values_and_its_name() -> None:
    study = optuna.create_study(direction="maximize")
    study.set_metric_names(["accuracy"])
    study.add_trials([trial(0.5, memory=3.0), trial(0.7, memory=-1.0)])
    view = StudyView.of(study, "test")
    memory = view.target("memory")
    assert (memory.name, memory.direction, memory.sign) == ("memory", "minimize", 1.0)
    assert view.observed(memory).losses.tolist() == [3.0, -1.0]
    assert view.target("accuracy") is view.target(0) is view.target(None) is view.objective
    with pytest.raises(
        ValueError, match=r"objective or a constraint of this study \('accuracy', 'memory'\), but got 1"
    ):
        view.target(1)
