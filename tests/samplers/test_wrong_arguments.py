"""Arguments of the wrong type or outside their range are refused in one sentence: the rule, and what was received."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.search.acquisition import (
    EI,
    LCB,
    PI,
    SAWEI,
    WEI,
    Alternation,
    InformationGain,
    Portfolio,
    Pulse,
    Steps,
    Switch,
)

# Of no type that any of the numbers, names and parts below may have.
WRONG = ("half", [1], {"a": 1}, math.nan)
SETTINGS = [
    (kind, field.name)
    for kind in (
        EI,
        PI,
        WEI,
        LCB,
        InformationGain,
        SAWEI,
        Steps,
        Switch,
        Pulse,
        Portfolio,
        Alternation,
        pellucid.Interleave,
    )
    for field in dataclasses.fields(kind)
    if field.type != "bool"
]
ARGUMENTS = [
    (kind, name)
    for kind in (pellucid.BayesianSampler, pellucid.TwoStepSampler, pellucid.StopWhen, pellucid.CurvePruner)
    for name, parameter in list(inspect.signature(kind).parameters.items())
    if parameter.annotation != "bool"
]
# Any collection of names will do, and `cheap` says which of its values is wrong.
RIGHT = {("params", "half"), ("conditions", "{'a': 1}"), ("alphas", "[1]"), ("cheap", "{'a': 1}")}
RIGHT |= {("params", "{'a': 1}"), ("ordinal", "{'a': 1}")}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(*case, value) for case in SETTINGS + ARGUMENTS for value in WRONG if (case[1], str(value)) not in RIGHT],
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_an_argument_of_a_wrong_type_is_refused_in_one_sentence(kind: Any, name: str, value: Any) -> None:
    others = {"budget": 10} if kind in (Steps, Switch) else {}
    with pytest.raises((TypeError, ValueError)) as refused:
        kind(**{**others, name: value})
    words = str(refused.value)
    assert name in words
    assert repr(value) in words
    assert words.endswith(".")
    assert "not supported between" not in words


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5)])
def test_numbers_of_numpy_are_numbers(number: Any) -> None:
    assert WEI(number).alpha == LCB(number).lam == SAWEI(number).alpha == 0.5
    assert pellucid.CurvePruner(keep=number)
    assert pellucid.BayesianSampler(seed=np.int64(3), n_startup_trials=np.int32(4)).n_startup_trials == 4
