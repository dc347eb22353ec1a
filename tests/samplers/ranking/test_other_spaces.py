"""Studies whose parameters, ranges or choices are not those of the ranking model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState
from tests.helpers import (
    TASK,
    MakeRankingSampler,
    distinct,
    kinds,
    messages,
    only_rankings,
    params,
    phases,
    random_model,
    run,
    states,
    task_loss,
)

import pellucid

pytest.importorskip("torch")


def other_name(trial: Trial) -> float:
    return TASK(trial) + trial.suggest_float("dropout", 0, 1)


def one_missing(trial: Trial) -> float:
    return trial.suggest_float("lr", 1e-5, 1.0, log=True) + trial.suggest_int("depth", 1, 9)


def numbers_for_choices(trial: Trial) -> float:
    lr, opt = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_int("opt", 0, 2)
    return lr + opt + trial.suggest_int("depth", 1, 9)


def choices_for_numbers(trial: Trial) -> float:
    opt = trial.suggest_categorical("opt", ["adam", "sgd", "rms"])
    momentum = trial.suggest_float("momentum", 0, 1) if opt == "sgd" else None
    lr, depth = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_categorical("depth", ["1", "2"])
    return task_loss(0.3, lr, opt, float(depth), momentum)


def another_choice(trial: Trial) -> float:
    opt = trial.suggest_categorical("opt", ["adam", "lion", "sgd", "adagrad"])
    lr, depth = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_int("depth", 1, 9)
    if opt == "sgd":
        trial.suggest_float("momentum", 0, 1)
    return lr + depth


def nothing_in_common(trial: Trial) -> float:
    return trial.suggest_float("x", 0, 1) + trial.suggest_categorical("y", [0, 1])


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (other_name, "the study has `dropout`, which the model does not know"),
        (one_missing, "the model has `opt`, which the study does not have"),
        (numbers_for_choices, "`opt` has numbers in the study and choices in the model"),
        (choices_for_numbers, "`depth` has choices in the study and numbers in the model"),
        (another_choice, "`opt` has the choices 'lion', 'adagrad' only in the study"),
        (nothing_in_common, "the study has `x`, which the model does not know; the study has `y`"),
    ],
)
def test_a_model_of_other_parameters_is_not_used_and_this_is_logged_once(
    sampler: MakeRankingSampler, caplog: pytest.LogCaptureFixture, objective: Callable[[Trial], float], words: str
) -> None:
    study = run(sampler(fallback=pellucid.BayesianSampler(n_startup_trials=3, seed=0)), 7, objective)
    assert states(study) == [TrialState.COMPLETE] * 7
    assert distinct(study.trials) == 7
    kind_by_trial = kinds(study)
    assert [kind_by_trial[i] for i in range(1, 7)] == ["startup"] * 2 + ["model"] * 4
    assert all(words in phase for phase in phases(study)[1:])
    warnings = [message for message in messages(caplog) if "The fallback proposes" in message]
    assert len(warnings) == 1
    assert words in warnings[0]


def test_that_warning_can_be_silenced(sampler: MakeRankingSampler, caplog: pytest.LogCaptureFixture) -> None:
    study = run(sampler(warn_independent_sampling=False), 14, other_name)
    study.optimize(lambda trial: other_name(trial) + trial.suggest_float("late", 0, 1), n_trials=1)
    assert messages(caplog) == []


def test_a_study_without_parameters_is_not_reported_as_ranked(sampler: MakeRankingSampler) -> None:
    study = run(sampler(), 4, lambda trial: float(trial.number))
    assert states(study) == [TrialState.COMPLETE] * 4
    assert "ranking" not in kinds(study).values()


@pytest.mark.parametrize(
    ("lr", "depth", "momentum"),
    [
        (FloatDistribution(1e-3, 1e-1, log=True), IntDistribution(4, 7), FloatDistribution(0.5, 0.9)),
        (FloatDistribution(1e-8, 100.0, log=True), IntDistribution(-20, 40), FloatDistribution(-3.0, 4.0)),
        (FloatDistribution(0.5, 20.0, log=True), IntDistribution(8, 30), FloatDistribution(0.9, 2.0)),
        (FloatDistribution(1e-4, 1.0), IntDistribution(1, 50, log=True), FloatDistribution(0.0, 1.0, step=0.125)),
        (FloatDistribution(0.0, 1.0), FloatDistribution(1.0, 9.0), IntDistribution(0, 1)),
        (FloatDistribution(-1.0, 1.0), IntDistribution(1, 9, step=4), FloatDistribution(1e-6, 1.0, log=True)),
        (FloatDistribution(1e-5, 1.0, log=True), IntDistribution(6, 6), FloatDistribution(0.8, 0.8)),
        (FloatDistribution(0.03, 0.03), IntDistribution(1, 9), FloatDistribution(0.0, 1.0)),
    ],
    ids=["narrower", "wider", "shifted", "linear", "kinds", "negative", "single", "single lr"],
)
def test_ranges_that_changed_are_kept_and_the_ranking_still_proposes(
    sampler: MakeRankingSampler, lr: Any, depth: Any, momentum: Any
) -> None:
    space = {"lr": lr, "depth": depth, "momentum": momentum}
    opt = CategoricalDistribution(["rms", "adam", "sgd"])

    def objective(trial: Trial) -> float:
        loss = abs(suggest(trial, "lr", lr) - 0.03) + abs(suggest(trial, "depth", depth) - 6) / 10
        chosen = suggest(trial, "opt", opt)
        loss += abs(suggest(trial, "momentum", momentum) - 0.8) if chosen == "sgd" else 0.5
        return float(loss)

    study = run(sampler(), 10, objective)
    assert only_rankings(study)
    assert not any(phases(study))
    for trial in study.trials:
        for name, distribution in space.items():
            if name in trial.params:
                assert distribution._contains(distribution.to_internal_repr(trial.params[name]))
    assert distinct(study.trials) == 10
    assert [receipt.params for receipt in pellucid.receipts(study)[1:]] == params(study)[1:]


def suggest(trial: Trial, name: str, distribution: Any) -> Any:
    return trial._suggest(name, distribution)


@pytest.mark.parametrize(
    ("lr", "depth", "momentum"),
    [
        ((1e-3, 1.0), (3, 9), (0.2, 1.0)),
        ((1e-6, 10.0), (1, 15), (0.0, 1.0)),
        ((1e-2, 100.0), (4, 20), (0.5, 1.5)),
        ((1e-8, 100.0), (-20, 40), (-3.0, 4.0)),
    ],
    ids=["narrower", "wider", "shifted", "much wider"],
)
def test_favourites_stay_favourites_in_other_ranges_and_orders(
    sampler: MakeRankingSampler, lr: Any, depth: Any, momentum: Any
) -> None:
    """The model has learned about values, not about positions in a range or a list, and only within its ranges."""

    def objective(trial: Trial) -> float:
        layers = trial.suggest_float("depth", *depth)
        opt = trial.suggest_categorical("opt", ["sgd", "rms", "adam"])
        rate = trial.suggest_float("lr", *lr, log=True)
        return task_loss(0.3, rate, opt, layers, trial.suggest_float("momentum", *momentum) if opt == "sgd" else None)

    random = np.median([t.value for t in run(optuna.samplers.RandomSampler(seed=1), 40, objective).trials])
    study = run(sampler(), 9, objective)
    assert only_rankings(study)
    assert np.median([t.value for t in study.trials]) < 0.5 * random
    assert {t.params["opt"] for t in study.trials[:2]} == {"sgd"}


def test_choices_that_the_study_does_not_have_are_not_proposed(sampler: MakeRankingSampler) -> None:
    def objective(trial: Trial) -> float:
        opt = trial.suggest_categorical("opt", ["rms", "adam"])
        lr, depth = trial.suggest_float("lr", 1e-5, 1.0, log=True), trial.suggest_int("depth", 1, 9)
        return task_loss(0.3, lr, opt, depth, None)

    study = run(sampler(), 8, objective)
    assert only_rankings(study)
    assert {t.params["opt"] for t in study.trials[1:4]} == {"adam"}


def test_ranges_that_change_in_the_middle(sampler: MakeRankingSampler) -> None:
    def moving(trial: Trial) -> float:
        lr = trial.suggest_float("lr", 1e-5, 1.0 if trial.number < 5 else 1e-2, log=True)
        return task_loss(0.3, lr, "adam", trial.suggest_int("depth", 1, 9), None) + 0.0 * len(
            trial.suggest_categorical("opt", ["adam", "rms"])
        )

    study = run(sampler(), 10, moving)
    assert only_rankings(study)
    assert all(t.params["lr"] <= 1e-2 for t in study.trials[5:])


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("choices", [True, False], ids=["ordered choices", "numbers"])
def test_an_ordered_parent_switches_its_child_in_other_ranges_too(
    sampler: MakeRankingSampler, choices: bool, below: bool
) -> None:
    """`width` exists up to (or from) 4 `layers`, also if the study has another range of `layers` than earlier ones."""

    def objective(values: list[int]) -> Callable[[Trial], float]:
        def inner(trial: Trial) -> float:
            n = trial.suggest_categorical("layers", values) if choices else trial.suggest_int("layers", 1, max(values))
            loss = abs(n - 4) + trial.suggest_float("x", 0, 1)
            return loss - (trial.suggest_float("width", 0, 1) if (n <= 4 if below else n >= 4) else 0.0)

        return inner

    model = random_model(objective([1, 2, 3, 4, 5, 6]))
    assert model.model.space.conditions["width"].codes is None
    study = run(sampler(model=model), 10, objective([2, 3, 4, 5] if choices else [8]))
    assert only_rankings(study)
    for receipt in pellucid.receipts(study)[1:]:
        n = receipt.params["layers"]
        assert ("width" in receipt.params) == (n <= 4 if below else n >= 4)


def test_a_value_that_the_range_of_a_study_does_not_have_is_said_to_be_the_reason(sampler: MakeRankingSampler) -> None:
    def narrow(trial: Trial) -> float:
        opt = trial.suggest_categorical("opt", ["adam", "sgd", "rms"])
        momentum = trial.suggest_float("momentum", 0, 1) if opt == "sgd" else None
        lr, depth = trial.suggest_float("lr", 0.5, 1.0, log=True), trial.suggest_int("depth", 1, 9)
        return task_loss(0.3, lr, opt, depth, momentum)

    study = run(sampler(), 1, narrow)
    [note] = [note for note in pellucid.explain_proposal(study, 0).notes if "other values" in note]
    reason = "its ranges do not have the proposed ones."
    assert note == f"The trial ran with other values than were proposed (`lr` = 0.5): {reason}"
