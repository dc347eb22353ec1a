"""Every acquisition, policy and way of interleaving in the spaces of Optuna's suites: the values are valid, the model
proposes them, and the seed decides them. The suites in full are run with the default; see test_samplers.py."""

from __future__ import annotations

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler
from optuna.study import Study
from tests.conformance.spaces import (
    SINGLE,
    Objective,
    assert_values_are_valid,
    conditional,
    mixed,
    moving_range,
    sometimes_nan,
)
from tests.helpers import COMPLETE, FAIL, kinds, params, states

from pellucid import BayesianSampler, Interleave
from pellucid.search.acquisition import (
    EI,
    LCB,
    PI,
    SAWEI,
    WEI,
    Acquisition,
    InformationGain,
    Portfolio,
    PosteriorVariance,
    Pulse,
    Steps,
    Switch,
)
from pellucid.search.acquisition.policy import Policy

Setting = Acquisition | Policy | InformationGain | Interleave

SETTINGS: dict[str, Setting] = {
    "EI": EI(),
    "PI": PI(),
    "LCB": LCB(),
    "LCB schedule": LCB(lam=None),
    "WEI 0.2": WEI(0.2),
    "WEI 0.8": WEI(0.8),
    "posterior variance": PosteriorVariance(),
    "SAWEI": SAWEI(),
    "SAWEI of the paper": SAWEI.paper(),
    "steps": Steps(10),
    "switch": Switch(10),
    "pulse": Pulse(),
    "portfolio": Portfolio(),
    "information": InformationGain(),
    "information of the path": InformationGain(target="path"),
    "interleave": Interleave(),
    "interleave until": Interleave(until=0.1),
    "interleave multiply": Interleave(mode="multiply"),
}

each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


def sampler_of(setting: Setting) -> BayesianSampler:
    if isinstance(setting, Interleave):
        return BayesianSampler(interleave=setting, n_startup_trials=1, seed=0)
    return BayesianSampler(acquisition=setting, n_startup_trials=1, seed=0)


def run(setting: Setting, objective: Objective, n_trials: int, n_jobs: int = 1) -> Study:
    """A study whose values are valid and in which no proposal fell back."""
    study = optuna.create_study(sampler=sampler_of(setting))
    study.optimize(objective, n_trials=n_trials, n_jobs=n_jobs)
    assert_values_are_valid(study)
    assert "fallback" not in kinds(study).values()
    return study


def n_model(study: Study) -> int:
    return sum(kind == "model" for kind in kinds(study).values())


@pytest.mark.parametrize("objective", [mixed, conditional, moving_range])
@each_setting
def test_the_model_proposes_in_mixed_conditional_and_moving_spaces(setting: Setting, objective: Objective) -> None:
    study = run(setting, objective, 12)
    assert states(study) == [COMPLETE] * 12
    assert n_model(study) >= 10


@pytest.mark.parametrize("objective", SINGLE.values(), ids=SINGLE)
@each_setting
def test_the_model_proposes_where_there_is_one_parameter(setting: Setting, objective: Objective) -> None:
    study = run(setting, objective, 5)
    assert states(study) == [COMPLETE] * 5
    assert n_model(study) >= 3


@each_setting
def test_one_finished_trial_is_enough_for_the_model_as_the_relative_suite_needs(setting: Setting) -> None:
    study = optuna.create_study(sampler=sampler_of(setting))
    space = {"x": FloatDistribution(-1.0, 1.0), "y": IntDistribution(3, 9, step=2)}
    study.tell(study.ask(space), 1.0)
    for _ in range(3):
        study.ask(space)
    assert {number: kind for number, kind in kinds(study).items() if number > 0} == dict.fromkeys((1, 2, 3), "model")


@each_setting
def test_the_model_proposes_after_nan_and_beside_a_fixed_value(setting: Setting) -> None:
    study = run(setting, sometimes_nan, 8)
    assert states(study) == [FAIL if number in (2, 5) else COMPLETE for number in range(8)]
    study.sampler = PartialFixedSampler({"n": 3}, study.sampler)
    study.optimize(mixed, n_trials=2)
    assert_values_are_valid(study)
    assert [trial.params["n"] for trial in study.trials[8:]] == [3, 3]
    assert {number: kinds(study)[number] for number in (6, 7, 8, 9)} == dict.fromkeys((6, 7, 8, 9), "model")


@each_setting
def test_the_seed_decides_the_proposals(setting: Setting) -> None:
    assert params(run(setting, mixed, 6)) == params(run(setting, mixed, 6))


@each_setting
def test_two_threads_share_a_study(setting: Setting) -> None:
    study = run(setting, mixed, 8, n_jobs=2)
    assert states(study) == [COMPLETE] * 8
    assert n_model(study) >= 5
