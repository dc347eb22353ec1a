"""Optuna's own suites for samplers, with every acquisition; the model answers, not the startup design."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import Trial, TrialState

from pellucid import BayesianSampler, Interleave, TwoStepSampler, receipts
from pellucid.acquisition import (
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
from pellucid.acquisition.adaptive import Policy
from pellucid.samplers.two_step import sampler as two_step

ACQUISITIONS: dict[str, Acquisition | Policy | InformationGain | Interleave] = {
    "EI": EI(),
    "PI": PI(),
    "LCB": LCB(),
    "LCBSchedule": LCB(lam=None),
    "WEI02": WEI(0.2),
    "WEI08": WEI(0.8),
    "PosteriorVariance": PosteriorVariance(),
    "SAWEI": SAWEI(),
    "SAWEIPaper": SAWEI.paper(),
    "Steps": Steps(10),
    "Switch": Switch(10),
    "Pulse": Pulse(),
    "Portfolio": Portfolio(),
    "InformationGain": InformationGain(),
    "InformationPath": InformationGain(target="path"),
    "Interleave": Interleave(),
    "InterleaveUntil": Interleave(until=0.1),
    "InterleaveMultiply": Interleave(mode="multiply"),
}

# Settings of acquisitions that are there with other ones. The tests with receipts below have them all; their suites are
# run by `make test-slow`.
OTHER_SETTINGS = ("LCBSchedule", "WEI08", "SAWEIPaper", "InformationPath", "InterleaveUntil", "InterleaveMultiply")


def make_sampler(acquisition: Acquisition | Policy | InformationGain | Interleave) -> BayesianSampler:
    """One finished trial is enough for the model to take over: the suites' studies are short."""
    if isinstance(acquisition, Interleave):
        return BayesianSampler(interleave=acquisition, n_startup_trials=1, seed=0)
    return BayesianSampler(acquisition=acquisition, n_startup_trials=1, seed=0)


class Suite(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """All three suites for one acquisition. A proposal that had to fall back fails the test that asked."""

    acquisition: Acquisition | Policy | InformationGain | Interleave

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: make_sampler(self.acquisition)

    @pytest.fixture(autouse=True)
    def no_fallback(self, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
        yield
        logged = [record.getMessage() for record in caplog.records if record.name == "pellucid"]
        assert [message for message in logged if "model failed" in message] == []


class TestTwoStep(Suite):
    """The suites' studies are short: without enough random trials to say what matters, everything is tuned."""

    @pytest.fixture
    def sampler(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], BaseSampler]:
        monkeypatch.setattr(two_step, "_FEWEST_RANDOM", 2)
        return lambda: TwoStepSampler(n_random=2, n_step1=2, goal="accuracy+speed", cheap={"x": "low"}, seed=0)


for _name, _acquisition in ACQUISITIONS.items():
    _members = {"acquisition": _acquisition, "pytestmark": [pytest.mark.slow] if _name in OTHER_SETTINGS else []}
    globals()[f"Test{_name}"] = type(f"Test{_name}", (Suite,), _members)


# -------------------------------------------------- the same kinds of studies, receipts in hand


def mixed(trial: Trial) -> float:
    x = trial.suggest_float("x", 1e-7, 10, log=True)
    y = trial.suggest_float("y", 0, 10, step=0.5)
    n = trial.suggest_int("n", 1, 10, log=True)
    return x + y + n + trial.suggest_categorical("c", [0, 1, 2])


def conditional(trial: Trial) -> float:
    if trial.suggest_categorical("x", [True, False]):
        return trial.suggest_float("y", 0, 1)
    return trial.suggest_float("z", 0, 1)


def moving_range(trial: Trial) -> float:
    low, high = (0, 10) if trial.number < 6 else (20, 30)
    return trial.suggest_float("x", low, high) + trial.suggest_int("y", low, high)


@pytest.mark.parametrize("objective", [mixed, conditional, moving_range])
@pytest.mark.parametrize("acquisition", ACQUISITIONS.values(), ids=ACQUISITIONS)
def test_the_model_proposes_in_such_studies_and_never_falls_back(
    acquisition: Acquisition | Policy, objective: Callable[[Trial], float]
) -> None:
    study = optuna.create_study(sampler=make_sampler(acquisition))
    study.optimize(objective, n_trials=12)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 12
    kinds = {receipt.trial: receipt.kind for receipt in receipts(study)}
    assert "fallback" not in kinds.values()
    assert sum(kind == "model" for kind in kinds.values()) >= 10


@pytest.mark.parametrize("acquisition", ACQUISITIONS.values(), ids=ACQUISITIONS)
def test_one_finished_trial_is_enough_for_the_model_as_the_relative_suite_needs(
    acquisition: Acquisition | Policy,
) -> None:
    study = optuna.create_study(sampler=make_sampler(acquisition))
    space = {"x": FloatDistribution(-1.0, 1.0), "y": IntDistribution(3, 9, step=2)}
    study.tell(study.ask(space), 1.0)
    for _ in range(3):
        study.ask(space)
    assert {r.trial: r.kind for r in receipts(study) if r.trial > 0} == {1: "model", 2: "model", 3: "model"}


def test_a_proposal_that_falls_back_is_logged_with_the_words_that_the_suites_look_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(EI):
        def score(self, m: object, s: object, situation: object) -> object:
            raise ArithmeticError("on purpose")

    study = optuna.create_study(sampler=make_sampler(Broken()))
    study.optimize(mixed, n_trials=3)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 3
    assert any("model failed" in r.getMessage() for r in caplog.records if r.name == "pellucid")
    assert {r.trial: r.kind for r in receipts(study)}[2] == "fallback"
