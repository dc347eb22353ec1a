"""The sampler with other features of Optuna: queued and fixed values, other samplers, both directions."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from optuna.samplers import PartialFixedSampler, TPESampler
from optuna.trial import Trial, create_trial
from tests.helpers import (
    COMPLETE,
    RUNNING,
    assert_rebuilt_exactly,
    assert_went_on,
    bowl,
    conditional,
    kinds,
    last_receipt,
    new_study,
)

import pellucid


def test_a_copy_without_the_first_trial_is_modelled_at_once() -> None:
    """Receipts of the copies refer to trials by numbers that belong to others here, with other parameters."""

    def branches(trial: Trial) -> float:
        model = trial.suggest_categorical("model", ["a", "b", "c"])
        if model == "a":
            return (trial.suggest_float("x", 0, 1) - 0.3) ** 2
        if model == "b":
            return 0.1 + trial.suggest_float("y", 0, 1) + trial.suggest_float("z", 0, 1)
        return 0.2 + trial.suggest_float("w", 0, 1)

    study = new_study(n_startup_trials=10)
    study.optimize(branches, n_trials=30)
    copy = new_study(n_startup_trials=10)
    copy.add_trials(study.trials[1:])
    copy.optimize(branches, n_trials=3)
    assert [pellucid.receipt(copy, trial.number).kind for trial in copy.trials[-3:]] == ["model"] * 3
    assert pellucid.rebuild(copy, copy.trials[-1].number).receipt == last_receipt(copy)


def test_a_study_of_another_sampler_goes_on_with_this_one() -> None:
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(conditional, n_trials=12)
    study.sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=5)
    study.optimize(conditional, n_trials=4)
    assert_went_on(study, [COMPLETE] * 16, n_model=4)
    assert sorted(kinds(study)) == [12, 13, 14, 15]
    assert_rebuilt_exactly(study, 4)


# ---------------------------------------------------------------------------- other features of Optuna


def test_an_enqueued_trial_gets_its_values_and_the_study_goes_on() -> None:
    study = new_study()
    study.enqueue_trial({"x": 0.25, "y": -0.25})
    study.optimize(bowl, n_trials=6)
    study.enqueue_trial({"x": 0.75})
    study.enqueue_trial({"x": 5.0, "y": 0.0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(bowl, n_trials=6)
    assert_went_on(study, [COMPLETE] * 12, n_model=4)
    # Nothing was proposed to a trial that asked for nothing, so there is no receipt of it.
    assert sorted(kinds(study)) == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
    assert study.trials[0].params == {"x": 0.25, "y": -0.25}
    assert study.trials[6].params["x"] == 0.75
    assert study.trials[7].params == {"x": 5.0, "y": 0.0}
    assert_rebuilt_exactly(study, 7)


def test_a_study_goes_on_beside_a_waiting_trial() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=6)
    study.enqueue_trial({"x": 0.75, "y": 0.0})
    study.add_trial(create_trial(state=RUNNING))
    sampler = study.sampler
    trial = create_trial(state=RUNNING)
    study.add_trial(trial)
    frozen = study.trials[-1]
    params = sampler.sample_relative(study, frozen, sampler.infer_relative_search_space(study, frozen))
    assert set(params) == {"x", "y"}
    assert kinds(study)[frozen.number] == "model"


def test_partial_fixed_sampling_keeps_the_fixed_value_and_models_the_rest() -> None:
    study = new_study()
    study.optimize(conditional, n_trials=8)
    study.sampler = PartialFixedSampler({"booster": "dart", "depth": 2}, study.sampler)
    study.optimize(conditional, n_trials=6)
    assert_went_on(study, [COMPLETE] * 14, n_model=6)
    assert {(t.params["booster"], t.params["depth"]) for t in study.trials[8:]} == {("dart", 2)}
    assert set(last_receipt(study).space) == {"drop", "lr", "skip"}
    assert_rebuilt_exactly(study, 6)


@pytest.mark.parametrize("objective", [bowl, conditional])
def test_maximising_proposes_what_minimising_the_negated_objective_proposes(
    objective: Callable[[Trial], float],
) -> None:
    low, high = new_study(), new_study(direction="maximize")
    low.optimize(objective, n_trials=16)
    high.optimize(lambda trial: -objective(trial), n_trials=16)
    assert_went_on(high, [COMPLETE] * 16, n_model=12)
    assert [t.params for t in high.trials] == [t.params for t in low.trials]
    assert last_receipt(high).mean == -last_receipt(low).mean
    assert pellucid.recommend(high).expected == -pellucid.recommend(low).expected
