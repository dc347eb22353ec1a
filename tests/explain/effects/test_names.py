"""`profile_effect` and `partial_dependence` take the same names, and refuse the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study

import pellucid

ANSWERS: tuple[Callable[..., Any], ...] = (pellucid.profile_effect, pellucid.partial_dependence)


@pytest.fixture(scope="module")
def study() -> Study:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x1", 0, 1) + trial.suggest_float("x2", 0, 1), n_trials=15)
    return study


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_list_of_one_name_is_that_name(answer: Callable[..., Any], study: Study) -> None:
    for names in (["x1"], ("x1",), {"x1"}, np.array(["x1"])):
        assert answer(study, names) == answer(study, "x1")


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("wrong", [[], (), ["x1", "x1"], ["x1", "x2", "x3"], 3, None, [3], [["x1"]]])
def test_what_names_no_parameter_is_refused_in_one_sentence(
    answer: Callable[..., Any], study: Study, wrong: object
) -> None:
    with pytest.raises(ValueError, match=r"is of one parameter.*, but got") as error:
        answer(study, wrong)
    assert str(error.value).endswith(f"but got {wrong!r}.")


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("unknown", ["x3", ["x3"]])
def test_an_unknown_parameter_is_named(answer: Callable[..., Any], study: Study, unknown: object) -> None:
    with pytest.raises(ValueError, match=r"The study has no parameter `x3`; it has `x1`, `x2`\."):
        answer(study, unknown)


def test_a_profile_of_two_is_refused(study: Study) -> None:
    with pytest.raises(ValueError, match="A profile is of one parameter, but got"):
        pellucid.profile_effect(study, ["x1", "x2"])
