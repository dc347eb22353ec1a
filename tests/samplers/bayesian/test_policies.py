"""Policies in real studies: pure functions of the receipts, independent of the objective's unit."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import Trial, TrialState
from tests.helpers import assert_rebuilt_exactly, file_storage, model_receipts

import pellucid
from pellucid.provenance import Receipt
from pellucid.search.acquisition import EI, PI, SAWEI, WEI, Alternation, Portfolio, Pulse, Steps, Switch
from pellucid.search.acquisition.policy import Policy
from pellucid.study import receipts

POLICIES: dict[str, Policy] = {
    "sawei": SAWEI(),
    "paper": SAWEI.paper(),
    "adjust": SAWEI(track="until_last_adjust"),
    "change": SAWEI(track="until_incumbent_change", reset=0.01),
    "steps": Steps(20),
    "switch": Switch(20, 0.5),
    "pulse": Pulse(),
    "portfolio": Portfolio(),
    "alternation": Alternation(),
}


def rugged(trial: Trial) -> float:
    x, y = trial.suggest_float("x", -3, 3), trial.suggest_float("y", -3, 3)
    return (x - 1) ** 2 + (y + 0.5) ** 2 + 2 * np.cos(3 * x) + 2 * np.sin(2 * y)


def mixed(trial: Trial) -> float:
    kind = trial.suggest_categorical("kind", ["a", "b"])
    x = trial.suggest_float("x", 1e-3, 1, log=True)
    extra = trial.suggest_int("depth", 1, 6) / 6 if kind == "a" else 0.3
    return (np.log10(x) + 1.5) ** 2 + extra


def run(
    policy: Policy, n: int, objective: Callable[[Trial], float] = rugged, storage: BaseStorage | None = None
) -> Study:
    sampler = pellucid.BayesianSampler(acquisition=policy, seed=3, n_startup_trials=8)
    study = optuna.create_study(storage=storage, study_name="s", load_if_exists=True, sampler=sampler)
    study.optimize(objective, n_trials=n)
    return study


@functools.cache
def forty_trials(name: str) -> Study:
    """Of a policy in the rugged objective; not changed by the tests that share it."""
    return run(POLICIES[name], 40)


def alphas(study: Study) -> list[float]:
    return [receipt.policy.numbers["alpha"] for receipt in model_receipts(study) if receipt.policy is not None]


@pytest.mark.parametrize("objective", [rugged, mixed])
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_proposes_and_is_rebuilt_exactly(name: str, objective: Callable[[Trial], float]) -> None:
    study = forty_trials(name) if objective is rugged else run(POLICIES[name], 30, objective)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * (40 if objective is rugged else 30)
    assert {receipt.kind for receipt in pellucid.receipts(study)} == {"startup", "model"}
    proposals = model_receipts(study)
    # A turn of a choice is not the policy's: it searches that choice by EI.
    assert all((receipt.policy is None) == bool(receipt.turn) for receipt in proposals)
    assert all(receipt.acquisition.name == "EI" for receipt in proposals if receipt.turn and receipt.acquisition)
    assert_rebuilt_exactly(study, 20)
    assert all(Receipt.from_json(receipt.to_json()) == receipt for receipt in proposals)


@pytest.mark.parametrize("name", POLICIES)
def test_a_resumed_study_makes_the_same_decisions(name: str, tmp_path: Path) -> None:
    whole = forty_trials(name)
    run(POLICIES[name], 20, storage=file_storage(tmp_path / "halves"))
    receipts._parsed.cache_clear()
    halves = run(POLICIES[name], 20, storage=file_storage(tmp_path / "halves"))
    assert [t.params for t in halves.trials] == [t.params for t in whole.trials]
    assert [r.policy for r in model_receipts(halves)] == [r.policy for r in model_receipts(whole)]


@pytest.mark.parametrize("name", ["sawei", "paper", "adjust", "change"])
def test_alpha_from_the_receipts_is_alpha_as_it_was_used(name: str) -> None:
    policy = POLICIES[name]
    assert isinstance(policy, SAWEI)
    study = run(policy, 60)
    proposals, used = model_receipts(study), alphas(study)
    last = proposals[-1]
    assert last.best_value is not None
    assert policy.alphas(proposals[:-1], last.bounds[0], last.best_value) == used
    assert len(set(used)) > 1, "something was adjusted, or the test shows nothing"
    # The weights of the acquisition are those of the policy, except where the guard chose EI.
    for receipt, alpha in zip(proposals, used, strict=True):
        assert receipt.acquisition is not None
        if receipt.acquisition.name == "WEI":
            assert receipt.acquisition.weights == {"exploit": alpha, "explore": 1.0 - alpha}
        else:
            assert policy.guard
            assert alpha > 0.5
            assert receipt.acquisition.name == "EI"


@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 0.0), (0.003, 0.0), (1.0, 25.0)])
def test_our_sawei_proposes_the_same_in_any_unit(scale: float, shift: float) -> None:
    plain = forty_trials("sawei")
    other = run(SAWEI(), 40, lambda trial: scale * rugged(trial) + shift)
    assert [t.params for t in other.trials] == [t.params for t in plain.trials]
    assert alphas(other) == alphas(plain)


def test_the_rule_of_the_source_depends_on_the_unit() -> None:
    """Multiplied by a small enough number every proposal reads as exploiting, by a large one as exploring."""
    tiny = run(SAWEI.paper(), 50, lambda trial: 1e-6 * rugged(trial))
    huge = run(SAWEI.paper(), 50, lambda trial: 1e6 * rugged(trial))
    assert alphas(tiny)[-1] < 0.5 < alphas(huge)[-1]


def test_maximising_is_minimising_the_negative() -> None:
    sampler = pellucid.BayesianSampler(acquisition=SAWEI(), seed=3, n_startup_trials=8)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda trial: -rugged(trial), n_trials=40)
    mirror = forty_trials("sawei")
    assert [t.params for t in study.trials] == [t.params for t in mirror.trials]
    assert alphas(study) == alphas(mirror)


def test_schedules_follow_their_tables() -> None:
    steps = alphas(run(Steps(20), 28))
    assert steps == [0.5] * 4 + [0.625] * 4 + [0.75] * 4 + [0.875] * 4 + [1.0] * 4
    assert alphas(run(Steps(10, 1.0, 0.0, steps=2), 22)) == [1.0] * 5 + [0.0] * 9, "past its budget it stays"
    switched = [r.acquisition.name for r in model_receipts(run(Switch(20, 0.25), 28)) if r.acquisition is not None]
    assert switched == ["EI"] * 5 + ["PI"] * 15
    assert alphas(run(Pulse(), 20)) == [0.1, 0.3, 0.5, 0.7, 0.9] * 2 + [0.1, 0.3]


def test_the_portfolio_rewards_a_member_by_the_next_prediction_for_its_nominee() -> None:
    study = run(Portfolio(), 20)
    proposals = model_receipts(study)
    for before, after in itertools.pairwise(proposals):
        assert before.policy is not None
        assert after.policy is not None
        nominees = np.array(before.policy.points)
        assert nominees.shape == (9, 2)
        rewards = -pellucid.rebuild(study, after.trial).surrogate.latent(nominees)[0]
        for i, reward in enumerate(rewards):
            gain = before.policy.numbers[f"gain {i}"] + reward
            assert after.policy.numbers[f"gain {i}"] == pytest.approx(gain, abs=1e-9)
    chosen = {receipt.policy.numbers["chosen"] for receipt in proposals if receipt.policy is not None}
    assert len(chosen) > 1


def test_a_study_that_changes_its_policy_midway_goes_on(tmp_path: Path) -> None:
    for policy in (EI(), Portfolio(), SAWEI(), Pulse(), PI()):
        sampler = pellucid.BayesianSampler(acquisition=policy, seed=1, n_startup_trials=5)
        study = optuna.create_study(
            storage=file_storage(tmp_path / "s"), study_name="s", load_if_exists=True, sampler=sampler
        )
        study.optimize(rugged, n_trials=10)
    assert len(model_receipts(study)) == 45


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Steps(0),
        lambda: Steps(10, steps=1),
        lambda: Steps(10, start=2.0),
        lambda: Switch(10, after=1.5),
        lambda: Alternation(()),
        lambda: Alternation((SAWEI(),)),  # type: ignore[arg-type]
        lambda: Pulse(()),
        lambda: Pulse((0.1, 3.0)),
        lambda: Portfolio(rate=0.0),
        lambda: SAWEI(alpha=1.5),
        lambda: SAWEI(window=0),
        lambda: SAWEI(track="never"),
        lambda: SAWEI(memory=0),
        lambda: WEI(-0.1),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_the_rule(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


@pytest.mark.parametrize("wrong", ["EI", EI, SAWEI, 0.5])
def test_anything_but_an_acquisition_is_refused_at_once(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"such as pellucid\.acquisition\.EI\(\).*but got"):
        pellucid.BayesianSampler(acquisition=wrong)  # type: ignore[arg-type]


def test_misspelt_names_in_conditions_and_ordinal_are_pointed_out_once(caplog: pytest.LogCaptureFixture) -> None:
    sampler = pellucid.BayesianSampler(
        seed=0, n_startup_trials=3, conditions={"dept": ("kind", ["a"])}, ordinal=["kinde"]
    )
    optuna.create_study(sampler=sampler).optimize(mixed, n_trials=8)
    warnings = [record.getMessage() for record in caplog.records if "misspelt" in record.getMessage()]
    assert len(warnings) == 1
    assert "dept, kinde" in warnings[0]


def test_alternation_goes_on_where_it_was_beside_lessons_and_turns_of_choices() -> None:
    sampler = pellucid.BayesianSampler(interleave=pellucid.Interleave(every=2, until=None), seed=3, n_startup_trials=4)
    study = optuna.create_study(sampler=sampler)
    study.optimize(rugged, n_trials=20)
    states = [receipt.policy for receipt in model_receipts(study) if receipt.policy is not None]
    own = [state.numbers["turn"] for state in states if state.name == "Alternation"]
    assert 4 < len(own) < len(states)
    assert own == [float(i % 2) for i in range(len(own))]
