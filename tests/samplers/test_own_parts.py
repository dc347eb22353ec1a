"""An error in an acquisition or a policy of the user's own reaches the user; a failing model of pellucid's does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import Trial
from tests.helpers import COMPLETE, FAIL, bowl, kinds, messages, random_model, states

import pellucid
from pellucid.numerics import Array
from pellucid.provenance import PolicyState
from pellucid.search import maximising
from pellucid.search.acquisition import EI, LCB, Alternation
from pellucid.search.acquisition.policy import Decision, Evidence, Policy
from pellucid.search.own_parts import PartError


class Misspelt(LCB):
    """Its weights and terms do not have the same names, which pellucid notices, not the user's own code."""

    def weights(self, situation: Any) -> dict[str, float]:
        return {"meen": 1.0, "uncertainty": 1.0}


class Raising(EI):
    def score(self, m: Array, s: Array, situation: Any) -> Array:
        return self.wieght * m  # type: ignore[attr-defined, no-any-return]


class Short(EI):
    def score(self, m: Array, s: Array, situation: Any) -> Array:
        return super().score(m, s, situation)[:1]


class NotANumber(EI):
    def score(self, m: Array, s: Array, situation: Any) -> Array:
        return np.full(len(m), np.nan)


class Singular(EI):
    def score(self, m: Array, s: Array, situation: Any) -> Array:
        return np.asarray(np.linalg.inv(np.zeros((2, 2))))


class Learning(EI):
    def learns_about(self, space: Any) -> str:
        return str(space.nmaes)


@dataclass(frozen=True)
class Deciding:
    """A policy that decides by a function of the evidence."""

    by: Callable[[Evidence], Any]
    wants_bounds = False

    def decide(self, evidence: Evidence) -> Any:
        return self.by(evidence)


class Turns(pellucid.Interleave):
    def turn(self, number: int, seed: int) -> bool:
        raise KeyError("turn")


ACQUISITIONS = {
    "misspelt": (Misspelt(), "Misspelt", "ValueError: `weights` has meen, uncertainty, but `terms` has mean,"),
    "raising": (Raising(), "Raising", "AttributeError: 'Raising' object has no attribute 'wieght'"),
    "short": (Short(), "Short", "configurations has the shape (1,)"),
    "nan": (NotANumber(), "NotANumber", "ValueError: the score of the proposal is nan"),
    "singular": (Singular(), "Singular", "LinAlgError: Singular matrix"),
    "learning": (Learning(), "Learning", "AttributeError: 'Space' object has no attribute 'nmaes'"),
}
POLICIES: dict[str, tuple[Policy, str, str]] = {
    "raising": (Deciding(lambda evidence: Decision(evidence.acquisition)), "Deciding", "AttributeError: 'Evidence'"),
    "nothing": (
        Deciding(lambda evidence: None),
        "Deciding",
        "TypeError: `decide` must return a Decision, but returned None",
    ),
    "broken": (Deciding(lambda evidence: Decision(Raising())), "Deciding", "no attribute 'wieght'"),
    "member": (Alternation((Raising(), EI())), "Raising", "no attribute 'wieght'"),
}


def stops_with(sampler: optuna.samplers.BaseSampler, own: str, error: str, first: int) -> optuna.Study:
    """The study after its first proposal of a model, `first`, at which it has to stop."""
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(PartError, match=f"of your own .*, but with `{own}`, trial {first} ended in ") as stopped:
        study.optimize(bowl, n_trials=first + 4)
    assert error in str(stopped.value)
    assert str(stopped.value).endswith("Correct it, and go on with the study.")
    assert stopped.value.__cause__ is not None
    assert states(study) == [COMPLETE] * first + [FAIL]
    return study


@pytest.mark.parametrize(
    ("part", "own", "error"),
    [*ACQUISITIONS.values(), *POLICIES.values()],
    ids=[*ACQUISITIONS, *(f"policy {name}" for name in POLICIES)],
)
def test_an_error_of_the_users_own_part_ends_the_study_at_the_first_proposal(part: Any, own: str, error: str) -> None:
    stops_with(pellucid.BayesianSampler(acquisition=part, n_startup_trials=5, seed=0), own, error, 5)


@pytest.mark.parametrize(("part", "own", "error"), ACQUISITIONS.values(), ids=ACQUISITIONS)
def test_so_it_does_in_the_first_step_of_two(part: Any, own: str, error: str) -> None:
    stops_with(pellucid.TwoStepSampler(acquisition=part, n_random=21, seed=0), own, error, 21)


def test_so_it_does_in_a_subclass_of_interleave() -> None:
    stops_with(pellucid.BayesianSampler(interleave=Turns(), n_startup_trials=5, seed=0), "Turns", "KeyError: 'turn'", 5)


def test_so_it_does_behind_a_ranking() -> None:
    pytest.importorskip("torch")
    fallback = pellucid.BayesianSampler(acquisition=Raising(), n_startup_trials=3, seed=0)
    stops_with(
        pellucid.RankingSampler(model=random_model(bowl), fallback=fallback, hand_over=4, seed=0),
        "Raising",
        "wieght",
        4,
    )


def test_the_study_goes_on_with_a_corrected_part() -> None:
    study = stops_with(pellucid.BayesianSampler(acquisition=Raising(), n_startup_trials=5, seed=0), "Raising", "", 5)
    study.sampler = pellucid.BayesianSampler(acquisition=EI(), n_startup_trials=5, seed=0)
    study.optimize(bowl, n_trials=2)
    assert [kinds(study)[number] for number in (6, 7)] == ["model", "model"]


def test_names_of_parameters_are_asked_for_when_the_acquisition_is_given() -> None:
    class Naming(EI):
        @property
        def named_params(self) -> tuple[str, ...]:
            raise KeyError("params")

    with pytest.raises(KeyError, match="params"):
        pellucid.BayesianSampler(acquisition=Naming())


class Patient(EI):
    """It works."""


@dataclass(frozen=True)
class Working:
    """A policy that works."""

    wants_bounds = False

    def decide(self, evidence: Evidence) -> Decision:
        return Decision(Patient() if len(evidence.past) % 2 else EI(), PolicyState("Working", {}))


@pytest.mark.parametrize("part", [Patient(), Working(), EI(), Alternation()], ids=repr)
def test_a_failing_model_of_pellucid_costs_one_proposal_with_any_part(
    part: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fit, calls = maximising.fit, []

    def sometimes(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise np.linalg.LinAlgError("not positive definite")
        return fit(*arguments)

    monkeypatch.setattr(maximising, "fit", sometimes)
    study = optuna.create_study(sampler=pellucid.BayesianSampler(acquisition=part, n_startup_trials=5, seed=0))
    study.optimize(bowl, n_trials=8)
    assert states(study) == [COMPLETE] * 8
    assert [kinds(study)[number] for number in (5, 6, 7)] == ["model", "fallback", "model"]
    assert "Trial 6 is sampled at random: the model failed (not positive definite)." in messages(caplog)


@pytest.mark.parametrize("part", [Patient(), Working()], ids=repr)
def test_a_part_that_works_is_used_with_constraints_failures_and_rules(part: Any) -> None:
    def fragile(trial: Trial) -> float:
        value = bowl(trial)
        trial.set_constraint("small", value - 1.0)
        if trial.number in (2, 4):
            raise RuntimeError
        return value

    sampler = pellucid.BayesianSampler(
        acquisition=part, n_startup_trials=5, seed=0, avoid_failures=True, allowed=lambda params: params["x"] < 0.9
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(fragile, n_trials=11, catch=(RuntimeError,))
    assert [kinds(study)[number] for number in range(7, 11)] == ["model"] * 4
