"""Composition of samplers: the same interface for all of them, and any of them as the fallback of a ranking."""

from __future__ import annotations

import logging

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.trial import Trial
from tests.helpers import messages, new_study

import pellucid
from pellucid.samplers.interface import ModelSampler


def bowl(trial: Trial) -> float:
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + trial.suggest_int("n", 1, 9) / 10


@pytest.mark.parametrize("kind", [pellucid.BayesianSampler, pellucid.TwoStepSampler])
def test_samplers_with_a_model_share_one_interface(kind: type[ModelSampler]) -> None:
    sampler = kind()
    assert isinstance(sampler, BaseSampler)
    for method in ("sample_relative", "sample_independent", "before_trial", "after_trial", "reseed_rng", "propose"):
        assert getattr(kind, method) is getattr(ModelSampler, method)


def test_two_steps_can_be_the_fallback_of_a_ranking() -> None:
    pytest.importorskip("torch")
    fallback = pellucid.TwoStepSampler(n_random=21, n_step1=2, seed=0)
    study = optuna.create_study(sampler=pellucid.RankingSampler(fallback=fallback, hand_over=1, seed=0))
    study.optimize(bowl, n_trials=24)
    receipts = {receipt.trial: receipt for receipt in pellucid.receipts(study)}
    assert "The fallback proposed it: the ranking hands over after 1 trials." in receipts[5].phase
    assert "It is one of the first 21 trials" in receipts[5].phase
    assert receipts[23].kind == "model"
    with pytest.raises(TypeError, match=r"`fallback` must be a pellucid\.BayesianSampler"):
        pellucid.RankingSampler(fallback=optuna.samplers.RandomSampler())  # type: ignore[arg-type]


class Listening(optuna.samplers.RandomSampler):
    """Records its calls."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.heard: list[str] = []

    def reseed_rng(self) -> None:
        self.heard.append("reseed")

    def before_trial(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        self.heard.append("before")

    def after_trial(self, *arguments: object) -> None:
        self.heard.append("after")

    def sample_independent(self, *arguments: object) -> float:
        self.heard.append(str(arguments[2]))
        return float(super().sample_independent(*arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["bayesian", "two steps"])
def test_the_independent_sampler_is_notified_of_every_trial(kind: str) -> None:
    listening = Listening()
    sampler = (
        pellucid.BayesianSampler(independent_sampler=listening)
        if kind == "bayesian"
        else pellucid.TwoStepSampler(independent_sampler=listening)
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    sampler.reseed_rng()
    assert listening.heard == ["before", "x", "after", "before", "after", "reseed"]


def test_a_parameter_that_is_new_to_the_model_is_logged_unless_silenced(caplog: pytest.LogCaptureFixture) -> None:
    def grows(trial: Trial) -> float:
        return bowl(trial) + (trial.suggest_float("late", 0, 1) if trial.number > 4 else 0.0)

    for warn in (True, False):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="pellucid"):
            sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3, warn_independent_sampling=warn)
            optuna.create_study(sampler=sampler).optimize(grows, n_trials=6)
        logged = [record.getMessage() for record in caplog.records if "sampled on its own" in record.getMessage()]
        assert len(logged) == int(warn)
        assert all("because no finished trial has had it yet" in message for message in logged)


def test_a_trial_that_began_before_the_first_ones_ended_does_not_blame_its_ranges(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It knew no parameter when it was proposed; others have finished since."""
    study = new_study(n_startup_trials=2)
    early = study.ask()
    assert early.relative_params == {}
    study.optimize(bowl, n_trials=6)
    caplog.clear()
    bowl(early)
    assert messages(caplog) == []


def test_a_parameter_that_others_finished_in_the_meantime_was_unknown_to_the_proposal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = new_study(n_startup_trials=2)
    study.optimize(bowl, n_trials=4)
    early = study.ask()
    assert set(early.relative_params) == {"x", "n"}
    study.optimize(lambda trial: bowl(trial) + trial.suggest_float("late", 0, 1), n_trials=2)
    caplog.clear()
    early.suggest_float("late", 0, 1)
    assert ["no finished trial has had it yet" in message for message in messages(caplog)] == [True]
