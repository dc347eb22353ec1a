"""Optuna's own suites for samplers; the model answers, not the startup design."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from tests.conformance.spaces import mixed
from tests.helpers import kinds, messages, states

from pellucid import BayesianSampler, TwoStepSampler
from pellucid.models import GaussianProcess
from pellucid.samplers.two_step import sampler as two_step


class Suite(BasicSamplerTestCase, RelativeSamplerTestCase):
    """The suites for all samplers. A proposal that had to fall back fails its test."""

    @pytest.fixture(autouse=True)
    def no_fallback(self, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
        yield
        assert [message for message in messages(caplog) if "model failed" in message] == []


class TestBayesian(Suite, MultiObjectiveSamplerTestCase):
    """One finished trial is enough for the model to take over: the suites' studies are short."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: BayesianSampler(n_startup_trials=1, seed=0)


class TestTwoStep(Suite, SingleOnlySamplerTestCase):
    """Two random trials do not say what matters, so all parameters are tuned; the suites' studies are too short for
    more."""

    @pytest.fixture(autouse=True)
    def few_random_trials(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(two_step, "_FEWEST_RANDOM", 2)
        monkeypatch.setattr(two_step, "_FEWEST_SEEN", 1)

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TwoStepSampler(n_random=2, n_step1=2, goal="accuracy+speed", cheap={"x": "low"}, seed=0)

    def test_the_model_proposes_after_two_random_trials(self, sampler: Callable[[], BaseSampler]) -> None:
        study = optuna.create_study(sampler=sampler())
        study.optimize(mixed, n_trials=6)
        assert list(kinds(study).values()) == ["startup"] * 2 + ["model"] * 4


def test_a_proposal_that_falls_back_is_logged_with_the_words_that_the_suites_look_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise ArithmeticError("on purpose")

    monkeypatch.setattr(GaussianProcess, "condition", broken)
    study = optuna.create_study(sampler=BayesianSampler(n_startup_trials=1, seed=0))
    study.optimize(mixed, n_trials=3)
    assert states(study) == [optuna.trial.TrialState.COMPLETE] * 3
    assert any("model failed" in message for message in messages(caplog))
    assert kinds(study)[2] == "fallback"
