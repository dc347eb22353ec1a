"""Ordinary accidents: each ends in a sensible proposal or a clear message, never in a crash mid-study."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler, TPESampler
from optuna.storages import InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial
from tests.helpers import (
    RECEIPT_KEY,
    STUDY,
    assert_rebuilt_exactly,
    assert_went_on,
    bowl,
    conditional,
    kinds,
    messages,
    new_study,
    states,
    wide,
)

import pellucid
from pellucid.numerics import expand_integers

COMPLETE, FAIL, PRUNED, RUNNING = TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED, TrialState.RUNNING
NAN, INF = math.nan, math.inf


def replacing(bad: dict[int, Any]) -> Callable[[Trial], Any]:
    """The bowl, with these values instead of its own at these trials."""

    def objective(trial: Trial) -> Any:
        value = bowl(trial)
        return bad.get(trial.number, value)

    return objective


def last_receipt(study: Study) -> pellucid.Receipt:
    return pellucid.receipts(study)[-1]


def distinct(study: Study) -> int:
    return len({json.dumps(trial.params, sort_keys=True) for trial in study.trials})


# ----------------------------------------------------------------------------- values that are no numbers


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize(
    ("value", "state"),
    [(NAN, FAIL), (None, FAIL), ("no number", FAIL), (INF, COMPLETE), (-INF, COMPLETE)],
    ids=repr,
)
def test_a_study_goes_on_after_values_that_are_no_finite_numbers(value: Any, state: TrialState, direction: str) -> None:
    bad = dict.fromkeys((1, 4, 7, 8), value)
    study = new_study(direction=direction)
    study.optimize(replacing(bad), n_trials=12)
    assert_went_on(study, [state if i in bad else COMPLETE for i in range(12)], n_model=6)
    assert_rebuilt_exactly(study, 6)


def test_a_study_goes_on_when_every_kind_of_bad_value_is_mixed_in() -> None:
    study = new_study()
    study.optimize(replacing({0: NAN, 3: INF, 5: None, 6: -INF, 8: INF}), n_trials=14)
    assert_went_on(study, [FAIL if i in (0, 5) else COMPLETE for i in range(14)], n_model=8)
    assert_rebuilt_exactly(study, 8)


@pytest.mark.parametrize("value", [INF, -INF])
def test_a_study_goes_on_when_every_value_is_infinite(value: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * 0 + value, n_trials=8)
    assert_went_on(study, [COMPLETE] * 8, n_model=4)


def test_failed_trials_are_not_repeated_and_are_named_in_the_receipt() -> None:
    study = new_study()
    study.optimize(replacing({4: NAN, 6: None}), n_trials=10)
    assert expand_integers(last_receipt(study).believed) == [4, 6]
    assert distinct(study) == 10


@pytest.mark.parametrize(("direction", "worst"), [("minimize", INF), ("maximize", -INF)])
def test_a_trial_with_the_worst_possible_value_is_not_recommended(direction: str, worst: float) -> None:
    study = new_study(direction=direction)
    study.optimize(replacing({2: worst, 5: worst}), n_trials=9)
    assert pellucid.recommend(study).trial not in (2, 5)


@pytest.mark.parametrize("value", [INF, -INF])
def test_a_recommendation_says_what_the_trial_really_returned(value: float) -> None:
    study = new_study()
    study.optimize(replacing({2: value, 5: value}), n_trials=9)
    found = pellucid.recommend(study)
    assert found.observed == study.trials[found.trial].value


# ----------------------------------------------------------------------------- failed and pruned trials


def test_a_study_goes_on_after_exceptions_that_are_caught() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number in (0, 4, 5):
            raise RuntimeError("out of memory")
        return value

    study = new_study()
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    assert_went_on(study, [FAIL if i in (0, 4, 5) else COMPLETE for i in range(12)], n_model=6)
    assert_rebuilt_exactly(study, 6)


def test_a_trial_that_fails_before_it_asked_for_its_parameters_is_no_obstacle() -> None:
    def objective(trial: Trial) -> float:
        if trial.number in (2, 6):
            raise RuntimeError("no data")
        return bowl(trial)

    study = new_study()
    study.optimize(objective, n_trials=10, catch=(RuntimeError,))
    assert_went_on(study, [FAIL if i in (2, 6) else COMPLETE for i in range(10)], n_model=3)


def test_a_study_goes_on_when_every_trial_fails() -> None:
    def objective(trial: Trial) -> float:
        bowl(trial)
        raise RuntimeError("always")

    study = new_study()
    study.optimize(objective, n_trials=8, catch=(RuntimeError,))
    assert_went_on(study, [FAIL] * 8, n_model=0)
    assert distinct(study) == 8
    assert set(kinds(study).values()) == {"startup"}


def test_the_model_takes_over_after_a_study_that_only_failed() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number < 6:
            raise RuntimeError("not yet")
        return value

    study = new_study()
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    assert_went_on(study, [FAIL] * 6 + [COMPLETE] * 6, n_model=3)
    assert_rebuilt_exactly(study, 3)


def test_a_study_goes_on_when_every_trial_is_pruned_without_a_report() -> None:
    def objective(trial: Trial) -> float:
        bowl(trial)
        raise optuna.TrialPruned

    study = new_study()
    study.optimize(objective, n_trials=8)
    assert_went_on(study, [PRUNED] * 8, n_model=0)
    assert distinct(study) == 8
    assert set(kinds(study).values()) == {"startup"}


def test_a_study_goes_on_when_every_trial_is_pruned_after_a_report() -> None:
    def objective(trial: Trial) -> float:
        trial.report(bowl(trial), step=1)
        raise optuna.TrialPruned

    study = new_study()
    study.optimize(objective, n_trials=10)
    assert_went_on(study, [PRUNED] * 10, n_model=6)
    assert distinct(study) == 10
    assert_rebuilt_exactly(study, 6)


@pytest.mark.parametrize("reported", [NAN, INF, -INF])
def test_a_pruned_trial_may_have_reported_no_number(reported: float) -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number % 3 == 0:
            trial.report(reported, step=1)
            raise optuna.TrialPruned
        return value

    study = new_study()
    study.optimize(objective, n_trials=12)
    assert_went_on(study, [PRUNED if i % 3 == 0 else COMPLETE for i in range(12)], n_model=6)
    assert_rebuilt_exactly(study, 6)


def test_a_pruned_trial_is_never_recommended() -> None:
    def objective(trial: Trial) -> float:
        value = bowl(trial)
        if trial.number in (3, 5):
            trial.report(-100.0, step=1)
            raise optuna.TrialPruned
        return value

    study = new_study()
    study.optimize(objective, n_trials=9)
    assert_went_on(study, [PRUNED if i in (3, 5) else COMPLETE for i in range(9)], n_model=3)
    assert pellucid.recommend(study).trial not in (3, 5)


# --------------------------------------------------------------------------------- objectives that say little


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5e8, 1e-300, 1e300])
def test_a_study_goes_on_when_the_objective_is_constant(value: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * 0 + value, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert distinct(study) == 10
    assert_rebuilt_exactly(study, 6)


@pytest.mark.parametrize("scale", [1e300, 1e-300, -1e300, 5e-324, 1e150, 1e-150])
def test_a_study_goes_on_with_huge_and_tiny_values(scale: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * scale, n_trials=12)
    assert_went_on(study, [COMPLETE] * 12, n_model=8)
    assert_rebuilt_exactly(study, 8)


def test_a_study_goes_on_when_values_span_every_magnitude() -> None:
    values = [1e300, 1e-300, -1e300, 0.0, 1.0, 1.7e308, -1.7e308, 5e-324, 1e10]
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * 0 + values[trial.number % len(values)], n_trials=18)
    assert_went_on(study, [COMPLETE] * 18, n_model=14)
    assert_rebuilt_exactly(study, 14)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e150, 1e-150])
def test_huge_and_tiny_values_have_a_finite_recommendation(scale: float) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * scale, n_trials=8)
    found = pellucid.recommend(study)
    assert all(math.isfinite(v) for v in (found.expected, found.low, found.high))
    assert found.low <= found.expected <= found.high


def test_the_scale_of_the_objective_does_not_change_the_first_proposals() -> None:
    """A power of two scales every number exactly; the model may still round differently, hence 1e-6."""
    plain, scaled = new_study(), new_study()
    plain.optimize(bowl, n_trials=6)
    scaled.optimize(lambda trial: bowl(trial) * 2.0**60, n_trials=6)
    for a, b in zip(plain.trials, scaled.trials, strict=True):
        assert b.params == pytest.approx(a.params, abs=1e-6)


def test_a_study_of_one_trial_has_a_startup_receipt_and_a_recommendation() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=1)
    assert_went_on(study, [COMPLETE], n_model=0)
    assert kinds(study) == {0: "startup"}
    found = pellucid.recommend(study)
    assert (found.trial, found.params, found.n_trials) == (0, study.trials[0].params, 1)
    assert math.isfinite(found.expected)


@pytest.mark.parametrize("n_startup_trials", [0, 1])
def test_one_finished_trial_is_enough_for_the_model(n_startup_trials: int) -> None:
    study = new_study(n_startup_trials=n_startup_trials)
    study.optimize(bowl, n_trials=3)
    assert_went_on(study, [COMPLETE] * 3, n_model=2)
    assert_rebuilt_exactly(study, 2)


def test_two_thousand_earlier_trials_are_used() -> None:
    rng = np.random.default_rng(0)
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(-1, 1), "y": FloatDistribution(-1, 1)}
    study = new_study()
    for x, y in rng.uniform(-1, 1, size=(2000, 2)).tolist():
        value = (x - 0.3) ** 2 + (y + 0.2) ** 2
        study.add_trial(create_trial(params={"x": x, "y": y}, distributions=space, value=value))
    study.optimize(bowl, n_trials=3)
    assert_went_on(study, [COMPLETE] * 2003, n_model=3)
    assert expand_integers(last_receipt(study).fitted_on) == list(range(2002))
    assert_rebuilt_exactly(study, 3)


# ------------------------------------------------------------------------------ parameters without a choice


def test_a_study_goes_on_when_no_parameter_varies() -> None:
    def objective(trial: Trial) -> float:
        trial.suggest_float("x", 2.0, 2.0)
        trial.suggest_int("n", 3, 3)
        trial.suggest_categorical("c", ["only"])
        return float(trial.number)

    study = new_study()
    study.optimize(objective, n_trials=6)
    assert_went_on(study, [COMPLETE] * 6, n_model=0)
    assert all(trial.params == {"x": 2.0, "n": 3, "c": "only"} for trial in study.trials)
    assert pellucid.recommend(study).trial == 0


def test_a_study_goes_on_without_any_parameter() -> None:
    study = new_study()
    study.optimize(lambda trial: float(trial.number), n_trials=6)
    assert_went_on(study, [COMPLETE] * 6, n_model=0)
    assert pellucid.recommend(study).trial == 0


def test_parameters_without_a_choice_beside_others_are_no_obstacle() -> None:
    def objective(trial: Trial) -> float:
        fixed = trial.suggest_float("fixed", 2.0, 2.0) + trial.suggest_int("n", 3, 3)
        fixed += len(trial.suggest_categorical("c", ["only"])) + trial.suggest_float("step", 1, 1.4, step=1)
        return bowl(trial) + fixed

    study = new_study()
    study.optimize(objective, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert set(last_receipt(study).space) == {"x", "y"}
    assert distinct(study) == 10


def test_a_trial_without_parameters_in_the_middle_is_no_obstacle() -> None:
    study = new_study()
    study.optimize(lambda trial: 5.0 if trial.number in (2, 6) else bowl(trial), n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=3)


# ------------------------------------------------------------------------------------ ranges that changed


def moving(change: Callable[[Trial], float]) -> Callable[[Trial], float]:
    """Eight trials with the old ranges, then `change`."""

    def objective(trial: Trial) -> float:
        if trial.number >= 8:
            return change(trial)
        return (trial.suggest_float("x", 0, 10) - 4) ** 2 + trial.suggest_int("n", 0, 10)

    return objective


CHANGES: dict[str, Callable[[Trial], float]] = {
    "narrowed": lambda t: (t.suggest_float("x", 2, 6) - 4) ** 2 + t.suggest_int("n", 0, 7),
    "widened": lambda t: (t.suggest_float("x", -5, 20) - 4) ** 2 + t.suggest_int("n", -10, 20),
    "disjoint": lambda t: (t.suggest_float("x", 20, 30) - 24) ** 2 + t.suggest_int("n", 20, 30),
    "overlapping": lambda t: (t.suggest_float("x", 3, 30) - 4) ** 2 + t.suggest_int("n", 2, 30),
    "a float gets a step": lambda t: (t.suggest_float("x", 0, 10, step=0.5) - 4) ** 2 + t.suggest_int("n", 0, 10),
    "an int gets a step": lambda t: (t.suggest_float("x", 0, 10) - 4) ** 2 + t.suggest_int("n", 0, 10, step=2),
    "one value is left": lambda t: (t.suggest_float("x", 4, 4) - 4) ** 2 + t.suggest_int("n", 0, 10),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_study_goes_on_after_ranges_changed(name: str) -> None:
    study = new_study()
    study.optimize(moving(CHANGES[name]), n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=4)
    assert_rebuilt_exactly(study, 6)


@pytest.mark.parametrize("name", ["narrowed", "widened", "disjoint", "overlapping"])
def test_old_trials_inside_the_new_ranges_are_still_learned_from(name: str) -> None:
    study = new_study()
    study.optimize(moving(CHANGES[name]), n_trials=14)
    now = study.trials[-1].distributions
    fitting = [
        t.number
        for t in study.trials[:-1]
        if all(now[parameter].low <= value <= now[parameter].high for parameter, value in t.params.items())
    ]
    old = [number for number in fitting if number < 8]
    # The case is what its name says.
    assert len(old) == {"widened": 8, "disjoint": 0}.get(name, len(old))
    assert 0 < len(old) < 8 or name in ("widened", "disjoint")
    assert expand_integers(last_receipt(study).fitted_on) == fitting


@pytest.mark.parametrize("name", ["a float gets a step", "an int gets a step"])
def test_old_trials_are_still_learned_from_after_a_step_changed(name: str) -> None:
    study = new_study()
    study.optimize(moving(CHANGES[name]), n_trials=14)
    # All old values lie in the range; those between the new steps are still true observations there.
    assert expand_integers(last_receipt(study).fitted_on) == list(range(13))


def test_a_change_to_a_log_scale_is_refused_by_optuna_and_the_study_goes_on_without_it() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 1, 10, log=trial.number == 6) + trial.suggest_float("y", 0, 1)

    study = new_study()
    study.optimize(objective, n_trials=6)
    with pytest.raises(ValueError, match="log configuration"):
        study.optimize(objective, n_trials=1)
    study.optimize(objective, n_trials=5)
    assert_went_on(study, [COMPLETE] * 6 + [FAIL] + [COMPLETE] * 5, n_model=5)


def test_old_trials_from_before_a_change_to_a_log_scale_are_still_learned_from() -> None:
    linear: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 10.0), "n": IntDistribution(0, 10)}
    log: dict[str, BaseDistribution] = {
        "x": FloatDistribution(1e-3, 10.0, log=True),
        "n": IntDistribution(1, 10, log=True),
    }
    study = new_study()
    rows = [(0.0, 3), (2.0, 0), (1e-4, 5), (0.5, 1), (3.0, 7), (9.0, 10)]
    for i, (x, n) in enumerate(rows):
        study.add_trial(create_trial(params={"x": x, "n": n}, distributions=linear, value=float(i)))
    study.add_trial(create_trial(params={"x": 0.1, "n": 2}, distributions=log, value=0.5))
    trial = study.ask()
    assert trial.relative_params
    assert_went_on(study, [COMPLETE] * 7 + [RUNNING], n_model=1)
    assert expand_integers(last_receipt(study).fitted_on) == [3, 4, 5, 6]
    assert_rebuilt_exactly(study, 1)


@pytest.mark.parametrize("value", [INF, -INF])
def test_rebuild_is_exact_when_values_were_infinite_and_ranges_changed(value: float) -> None:
    """What an infinite value counts as must not depend on trials that the model did not see."""
    study = new_study()
    objective = moving(CHANGES["narrowed"])
    study.optimize(lambda t: objective(t) + (value if t.number in (9, 10) else 0.0), n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=4)
    assert_rebuilt_exactly(study, 6)


def test_rebuild_is_exact_when_trials_were_pruned_and_ranges_changed() -> None:
    """What a pruned trial counts as must not depend on trials that the model did not see."""
    objective = moving(CHANGES["narrowed"])

    def pruning(trial: Trial) -> float:
        value = objective(trial)
        if trial.number in (9, 10):
            trial.report(value - 100.0, step=1)
            raise optuna.TrialPruned
        return value

    study = new_study()
    study.optimize(pruning, n_trials=14)
    assert_went_on(study, [PRUNED if i in (9, 10) else COMPLETE for i in range(14)], n_model=3)
    assert_rebuilt_exactly(study, 6)


def test_rebuild_is_exact_when_a_range_changed_between_the_space_and_the_proposal() -> None:
    """Another worker may finish a trial with other ranges after the search space was inferred."""
    study = new_study()
    study.optimize(bowl, n_trials=6)
    trial = study.ask()
    frozen = study.trials[trial.number]
    space = study.sampler.infer_relative_search_space(study, frozen)
    wider: dict[str, BaseDistribution] = {"x": FloatDistribution(-5, 5), "y": FloatDistribution(-5, 5)}
    study.add_trial(create_trial(params={"x": 0.1, "y": 0.2}, distributions=wider, value=1.0))
    study.sampler.sample_relative(study, frozen, space)
    assert kinds(study)[trial.number] == "model"
    assert_rebuilt_exactly(study, 4)


# ----------------------------------------------------------------------- parameters that come, go or depend


def test_a_parameter_may_be_added_midway() -> None:
    def objective(trial: Trial) -> float:
        return bowl(trial) + (trial.suggest_float("new", 0, 1) if trial.number >= 6 else 0.0)

    study = new_study(warn_independent_sampling=False)
    study.optimize(objective, n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=10)
    last = last_receipt(study)
    assert set(last.space) == {"x", "y", "new"}
    assert expand_integers(last.fitted_on) == list(range(13))
    assert_rebuilt_exactly(study, 10)


def test_a_parameter_may_be_removed_midway() -> None:
    def objective(trial: Trial) -> float:
        return bowl(trial) + (trial.suggest_float("old", 0, 1) if trial.number < 6 else 0.0)

    study = new_study()
    study.optimize(objective, n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=10)
    assert expand_integers(last_receipt(study).fitted_on) == list(range(13))
    assert_rebuilt_exactly(study, 10)


def test_all_parameters_may_be_replaced_midway() -> None:
    def objective(trial: Trial) -> float:
        return bowl(trial) if trial.number < 6 else (trial.suggest_float("z", 0, 1) - 0.5) ** 2

    study = new_study(warn_independent_sampling=False)
    study.optimize(objective, n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=7)
    assert_rebuilt_exactly(study, 7)


def test_a_newly_added_parameter_is_not_taken_for_a_conditional_one_on_no_evidence() -> None:
    """Two trials cannot tell a condition from a change of mind, whatever their other values are."""
    study = new_study(n_startup_trials=2)
    x, y = FloatDistribution(0, 1), FloatDistribution(0, 1)
    study.add_trial(create_trial(params={"x": 0.2}, distributions={"x": x}, value=1.0))
    study.add_trial(create_trial(params={"x": 0.8, "y": 0.5}, distributions={"x": x, "y": y}, value=0.5))
    study.ask({"x": x, "y": y})
    assert_went_on(study, [COMPLETE, COMPLETE, RUNNING], n_model=1)
    assert last_receipt(study).conditions == {}


def test_the_parent_of_conditional_parameters_is_inferred() -> None:
    study = new_study(warn_independent_sampling=False)
    study.optimize(conditional, n_trials=25)
    assert_went_on(study, [COMPLETE] * 25, n_model=20)
    found = last_receipt(study).conditions
    dart = ["tree", "dart", "linear"].index("dart")
    assert found == {"drop": ["booster", [dart]], "skip": ["booster", [dart]]}


def test_children_are_proposed_together_with_their_parent(caplog: pytest.LogCaptureFixture) -> None:
    study = new_study()
    study.optimize(conditional, n_trials=15)
    caplog.clear()
    study.optimize(conditional, n_trials=15)
    assert [m for m in messages(caplog) if "sampled on its own" in m] == []
    proposed = {r.trial: r.params for r in pellucid.receipts(study) if r.trial >= 15}
    assert proposed == {i: study.trials[i].params for i in range(15, 30)}
    assert {"drop" in params for params in proposed.values()} <= {True, False}
    assert any("drop" in params for params in proposed.values())


# ----------------------------------------------------------------------------- odd choices and hostile names


CHOICES: dict[str, tuple[Any, ...]] = {
    "None, True and text": (None, True, "True", 0.5),
    "three truths": (True, False, None),
    "1 is True": (1, True, 0, False),
    "numbers and their text": (1, 1.5, "1", "1.5"),
    "NaN and None": (NAN, None, "nan"),
    "NaN and numbers": (NAN, 0.0, 1.0),
    "infinities": (INF, -INF, 0.0),
    "blank": ("", " ", "\n"),
}


@pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES)
def test_a_study_goes_on_with_odd_choices(choices: tuple[Any, ...]) -> None:
    def objective(trial: Trial) -> float:
        choice = trial.suggest_categorical("c", choices)
        return bowl(trial) + 0.1 * len(repr(choice)) ** 0.5

    study = new_study()
    study.optimize(objective, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert expand_integers(last_receipt(study).fitted_on) == list(range(9))
    assert_rebuilt_exactly(study, 6)


def test_choices_that_json_cannot_carry_are_proposed_and_rebuilt() -> None:
    """The receipt holds their text; the trial itself says which one it was."""
    choices = ((1, 2), frozenset({3}), bytes)

    def objective(trial: Trial) -> float:
        return bowl(trial) + choices.index(trial.suggest_categorical("c", choices))

    study = new_study()
    with pytest.warns(UserWarning, match="persistent storage"):
        study.optimize(objective, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert all(trial.params["c"] in choices for trial in study.trials)
    mean, sd = pellucid.rebuild(study, 9).predict([study.trials[9].params])
    assert mean[0] == pytest.approx(last_receipt(study).mean, rel=1e-9)
    assert sd[0] == pytest.approx(last_receipt(study).sd, rel=1e-9)


NAMES = {
    "unicode": "größe·學習率🚀",
    "right to left": "\u202eabc\u200b",
    "long": "p" * 200,
    "quotes": """it's "quoted" `and` \\ back""",
    "newlines": "a\nb\r\n\tc",
    "markup": "<script>alert(1)</script>",
    "sql": "x'); DROP TABLE trials;--",
    "empty": "",
    "format": "{0} %s %(name)s {x}",
    "like a receipt": f"{RECEIPT_KEY}:0",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_study_goes_on_with_hostile_parameter_names(name: str, tmp_path: Path) -> None:
    def objective(trial: Trial) -> float:
        return bowl(trial) + (trial.suggest_float(name, 0, 1) - 0.5) ** 2

    study = new_study(storage=f"sqlite:///{tmp_path / 'study.db'}")
    study.optimize(objective, n_trials=8)
    assert_went_on(study, [COMPLETE] * 8, n_model=5)
    assert name in last_receipt(study).space
    assert last_receipt(study).params == study.trials[-1].params
    assert name in pellucid.recommend(study).params
    assert_rebuilt_exactly(study, 5)


def test_hostile_names_and_many_parameters_fit_into_the_attributes_of_every_storage(tmp_path: Path) -> None:
    """Relational storages once limited an attribute to 2048 characters; no part of a receipt exceeds 2045."""

    def objective(trial: Trial) -> float:
        return sum(trial.suggest_float("🚀" * 100 + str(i), 0, 1) for i in range(12))

    study = new_study(storage=f"sqlite:///{tmp_path / 'study.db'}")
    study.optimize(objective, n_trials=6)
    assert_went_on(study, [COMPLETE] * 6, n_model=3)
    parts = [v for t in study.trials for k, v in t.system_attrs.items() if k.startswith(RECEIPT_KEY)]
    assert max(map(len, parts)) <= 2045
    assert len(parts) > 6
    assert_rebuilt_exactly(study, 3)


@pytest.mark.parametrize(
    "suggest",
    [
        lambda t: t.suggest_int("n", 0, 2**53) / 2**53,
        lambda t: t.suggest_int("n", 1, 10**12, log=True) / 10**12,
        lambda t: t.suggest_int("n", -(10**15), 10**15, step=7) / 10**15,
        lambda t: t.suggest_float("n", 1e-300, 1e300, log=True) / 1e300,
        lambda t: t.suggest_float("n", 5e-324, 1e-300, log=True) / 1e-300,
        lambda t: t.suggest_float("n", 0, 1e300) / 1e300,
        lambda t: t.suggest_float("n", 1.7e9, 1.7e9 + 1) - 1.7e9,
        lambda t: t.suggest_float("n", 0, 1, step=1e-9),
    ],
    ids=["int53", "log int", "stepped int", "log float", "subnormal", "wide", "far from zero", "fine step"],
)
def test_a_study_goes_on_with_extreme_ranges(suggest: Callable[[Trial], float]) -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) + suggest(trial), n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert distinct(study) == 10
    assert expand_integers(last_receipt(study).fitted_on) == list(range(9))
    assert_rebuilt_exactly(study, 6)


# ------------------------------------------------------------------- receipts that cannot be read (any more)


@functools.cache
def healthy(objective: Callable[[Trial], float] = bowl) -> tuple[FrozenTrial, ...]:
    """Eight trials as the sampler leaves them: three to begin with, five by the model."""
    study = new_study()
    study.optimize(objective, n_trials=8)
    assert {i: kind for i, kind in kinds(study).items() if i >= 3} == dict.fromkeys(range(3, 8), "model")
    return tuple(study.trials)


def with_receipts(attributes: dict[int, dict[str, Any]], objective: Callable[[Trial], float] = bowl) -> Study:
    """A study of those eight trials, some with these attributes in place of their receipts."""
    study = new_study()
    for trial in healthy(objective):
        study.add_trial(
            create_trial(
                params=trial.params,
                distributions=trial.distributions,
                value=trial.value,
                system_attrs=attributes.get(trial.number, trial.system_attrs),
            )
        )
    return study


def receipt_of(number: int, objective: Callable[[Trial], float] = bowl) -> str:
    stored = healthy(objective)[number].system_attrs
    return "".join(stored[f"{RECEIPT_KEY}:{i}"] for i in range(len(stored)))


def chunked(text: str) -> dict[str, str]:
    return {f"{RECEIPT_KEY}:{i}": text[2045 * i : 2045 * (i + 1)] for i in range(len(text) // 2045 + 1)}


def edited(number: int, changes: dict[str, Any]) -> dict[str, str]:
    """The receipt of a trial with other fields; `...` takes a field out."""
    data = {**json.loads(receipt_of(number)), **changes}
    return chunked(json.dumps({k: v for k, v in data.items() if v is not ...}))


def assert_goes_on(study: Study, objective: Callable[[Trial], float] = bowl) -> None:
    """Four more trials, all by the model."""
    study.optimize(objective, n_trials=4)
    assert states(study) == [COMPLETE] * 12
    last = {receipt.trial: receipt.kind for receipt in pellucid.receipts(study)[-4:]}
    assert last == dict.fromkeys(range(8, 12), "model")


def assert_left_out(study: Study, unreadable: Iterable[int], caplog: pytest.LogCaptureFixture) -> None:
    """`receipts` warns of each of these trials and returns the receipts of all others."""
    caplog.clear()
    found = [receipt.trial for receipt in pellucid.receipts(study)]
    assert found == [trial.number for trial in study.trials if trial.number not in set(unreadable)]
    for number in unreadable:
        assert any(f"rial {number}" in message for message in messages(caplog))


def test_the_receipts_of_a_healthy_study_are_read_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({})
    assert_left_out(study, [], caplog)
    assert messages(caplog) == []


@pytest.mark.parametrize("number", [7, 4, 1], ids=["last", "middle", "startup"])
def test_a_receipt_of_a_newer_version_is_reported_and_left_out(number: int, caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({number: edited(number, {"version": 99, "something": "new"})})
    assert_goes_on(study)
    assert_left_out(study, [number], caplog)
    assert any("upgrade pellucid" in message for message in messages(caplog))


def test_rebuilding_from_a_receipt_of_a_newer_version_says_what_to_do() -> None:
    study = with_receipts({6: edited(6, {"version": 99})})
    with pytest.raises(ValueError, match="upgrade pellucid"):
        pellucid.rebuild(study, 6)


def test_every_receipt_may_be_of_a_newer_version(caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({i: {f"{RECEIPT_KEY}:0": '{"version": 2000, "secret": [1, 2]}'} for i in range(8)})
    assert_goes_on(study)
    assert_left_out(study, range(8), caplog)


DAMAGED = {
    "empty": "",
    "truncated": '{"trial":7,"kind":"model","seed":0,"par',
    "no JSON": "\x00\x01 not JSON",
    "list": "[]",
    "number": "3",
    "null": "null",
    "string": '"receipt"',
    "no version": '{"trial": 7, "kind": "model"}',
    "only a version": '{"version": 1}',
    "infinite version": '{"version": Infinity}',
    "version in words": '{"version": "one"}',
    "deeply nested": "[" * 100_000,
}


@pytest.mark.parametrize("number", [7, 4], ids=["last", "middle"])
@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_receipt_that_is_no_receipt_is_reported_and_left_out(
    text: str, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    study = with_receipts({number: {f"{RECEIPT_KEY}:0": text}})
    assert_goes_on(study)
    assert_left_out(study, [number], caplog)


@pytest.mark.parametrize("value", [17, None, ["a"], {"a": 1}, True, 0.5], ids=repr)
def test_a_receipt_that_is_no_text_is_reported_and_left_out(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    study = with_receipts({7: {f"{RECEIPT_KEY}:0": value}})
    assert_goes_on(study)
    assert_left_out(study, [7], caplog)


WRONG: dict[str, dict[str, Any]] = {
    "trial": {"trial": "seven"},
    "kind": {"kind": "magic"},
    "kind type": {"kind": 5},
    "seed": {"seed": [1]},
    "params": {"params": 3},
    "params list": {"params": ["x", "y"]},
    "params missing": {"params": ...},
    "space list": {"space": [0, 1]},
    "space short": {"space": {"x": 0}},
    "space long": {"space": {"x": 0, "y": 0, "z": 0}},
    "space values": {"space": {"x": "zero", "y": None}},
    "conditions": {"conditions": ["x"]},
    "condition": {"conditions": {"x": 5}},
    "ordinal": {"ordinal": 3},
    "fitted_on": {"fitted_on": 5},
    "fitted_on words": {"fitted_on": "all of them"},
    "believed": {"believed": {"a": 1}},
    "pending": {"pending": "none"},
    "pending row": {"pending": {"3": 0.5}},
    "pending words": {"pending": {"3": ["a", "b"]}},
    "pending length": {"pending": {"3": [0.5]}},
    "hyperparameters": {"hyperparameters": "good ones"},
    "hyperparameters missing": {"hyperparameters": ...},
    "acquisition": {"acquisition": "EI"},
    "acquisition missing": {"acquisition": ...},
    "acquisition empty": {"acquisition": {}},
    "mean": {"mean": "high"},
    "latent_mean": {"latent_mean": [1.0]},
    "curvature": {"curvature": "steep"},
    "curvature words": {"curvature": ["a", "b", "c", "d", "e", "f"]},
    "direction": {"direction": "sideways"},
    "unknown field": {"surprise": 1},
}


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "lengthscale words": {"lengthscales": ["a", "b"]},
    "too few lengthscales": {"lengthscales": [1.0]},
    "lengthscale NaN": {"lengthscales": [NAN, 1.0]},
    "lengthscale negative": {"lengthscales": [-1.0, 1.0]},
    "noise zero": {"noise": 0.0},
    "outputscale null": {"outputscale": None},
    "y_scale infinite": {"y_scale": INF},
    "nominal words": {"nominal": "three"},
    "nominal infinite": {"nominal": [INF, 0]},
    "too few nominal": {"nominal": [3]},
    "warp kind": {"warp": {"kind": "none"}},
    "warp number": {"warp": 3},
}


def wrong_receipts() -> dict[str, dict[str, str]]:
    hyperparameters = json.loads(receipt_of(7))["hyperparameters"]
    wrong = WRONG | {k: {"hyperparameters": {**hyperparameters, **v}} for k, v in IMPOSSIBLE.items()}
    return {name: edited(7, changes) for name, changes in wrong.items()}


@pytest.mark.parametrize("name", [*WRONG, *IMPOSSIBLE])
def test_a_study_goes_on_after_a_receipt_with_a_wrong_field(name: str) -> None:
    assert_goes_on(with_receipts({7: wrong_receipts()[name]}))


@pytest.mark.parametrize("name", [*WRONG, *IMPOSSIBLE])
def test_a_receipt_with_a_wrong_field_is_reported_and_left_out(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert_left_out(with_receipts({7: wrong_receipts()[name]}), [7], caplog)


@pytest.mark.parametrize(
    ("field", "key"), [("hyperparameters", "kernel"), ("acquisition", "name")], ids=["kernel", "acquisition"]
)
def test_rebuilding_with_a_part_that_this_version_does_not_know_names_it(field: str, key: str) -> None:
    changed = {**json.loads(receipt_of(7))[field], key: "from-the-future"}
    study = with_receipts({7: edited(7, {field: changed})})
    with pytest.raises(ValueError, match="from-the-future"):
        pellucid.rebuild(study, 7)
    assert_goes_on(study)


def test_a_receipt_of_a_trial_that_has_another_number_now_is_not_rebuilt_from() -> None:
    """Trials copied into another study: what their receipts call trial 3 may be a different trial there."""
    study = new_study()
    for trial in healthy()[1:]:
        study.add_trial(trial)
    assert last_receipt(study).trial == 7
    with pytest.raises(ValueError, match="receipt"):
        pellucid.rebuild(study, 6)


def test_a_study_of_trials_copied_from_another_goes_on() -> None:
    study = new_study()
    for trial in healthy()[3:]:
        study.add_trial(trial)
    study.optimize(bowl, n_trials=4)
    assert states(study) == [COMPLETE] * 9
    found = pellucid.receipts(study)[-4:]
    assert [(receipt.trial, receipt.kind) for receipt in found] == [(i, "model") for i in range(5, 9)]


@pytest.mark.parametrize("lost", [0, -1], ids=["first", "last"])
def test_a_receipt_with_a_part_missing_is_reported_and_left_out(lost: int, caplog: pytest.LogCaptureFixture) -> None:
    whole = chunked(receipt_of(7, wide))
    assert len(whole) >= 2
    del whole[f"{RECEIPT_KEY}:{len(whole) - 1 if lost else 0}"]
    study = with_receipts({7: whole}, wide)
    assert_goes_on(study, wide)
    assert_left_out(study, [7], caplog)


@pytest.mark.parametrize(
    "attributes",
    [
        {f"{RECEIPT_KEY}:0": '{"version": 2000}'},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"ki'},
        {f"{RECEIPT_KEY}:0": 12},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"kind":"startup","seed":0,"params":5,"version":1}'},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"kind":"startup","seed":0,"params":{"x":"a","y":[]},"version":1}'},
        {f"{RECEIPT_KEY}:0": '{"trial":8,"kind":"startup","seed":0,"params":{"x":1e9,"z":0},"version":1}'},
    ],
    ids=["newer", "truncated", "no text", "params type", "param types", "outside"],
)
def test_a_running_trial_with_an_unreadable_receipt_is_no_obstacle(attributes: dict[str, Any]) -> None:
    study = with_receipts({})
    study.add_trial(create_trial(state=RUNNING, system_attrs=attributes))
    study.optimize(bowl, n_trials=4)
    assert_went_on(study, [COMPLETE] * 8 + [RUNNING] + [COMPLETE] * 4, n_model=4)


def test_receipts_of_other_tools_and_versions_do_not_change_what_recommend_says() -> None:
    expected = pellucid.recommend(with_receipts({}))
    damaged = with_receipts({i: {f"{RECEIPT_KEY}:0": '{"version": 2000}'} for i in range(8)})
    assert pellucid.recommend(damaged) == expected


# ----------------------------------------------------------------------------------- storages that refuse


@pytest.fixture
def read_only(tmp_path: Path) -> Study:
    """A stored study of ten trials, opened so that nothing can be written."""
    path = tmp_path / "study.db"
    new_study(storage=f"sqlite:///{path}").optimize(bowl, n_trials=10)
    return optuna.load_study(
        study_name=STUDY,
        storage=f"sqlite:///file:{path}?mode=ro&uri=true",
        sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=3),
    )


def test_receipts_of_a_read_only_storage_can_be_read(read_only: Study) -> None:
    assert kinds(read_only) == {i: "startup" if i < 3 else "model" for i in range(10)}


def test_proposals_of_a_read_only_storage_can_be_rebuilt(read_only: Study) -> None:
    assert_rebuilt_exactly(read_only, 7)


def test_a_read_only_storage_has_a_recommendation(read_only: Study) -> None:
    found = pellucid.recommend(read_only)
    assert found.params == read_only.trials[found.trial].params
    assert found.n_trials == 10


def test_optimising_a_read_only_storage_gives_optunas_error(read_only: Study) -> None:
    with pytest.raises(optuna.exceptions.StorageInternalError) as caught:
        read_only.optimize(bowl, n_trials=1)
    assert "readonly" in str(caught.value.__cause__)
    assert len(read_only.trials) == 10


class Refusing(InMemoryStorage):
    """Refuses every system attribute whose name ends like this."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        if key.startswith(RECEIPT_KEY) and key.endswith(self.ending):
            raise OSError("disk full")
        super().set_trial_system_attr(trial_id, key, value)


def test_a_storage_that_refuses_receipts_costs_the_receipts_and_not_the_trials(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = new_study(storage=Refusing(""))
    study.optimize(bowl, n_trials=8)
    assert states(study) == [COMPLETE] * 8
    assert pellucid.receipts(study) == []
    warned = [message for message in messages(caplog) if "disk full" in message]
    assert [i for i in range(8) if any(f"trial {i} " in message for message in warned)] == list(range(8))


def test_a_storage_that_refuses_receipts_still_gets_the_proposals_of_the_model() -> None:
    refused, stored = new_study(storage=Refusing("")), new_study()
    refused.optimize(bowl, n_trials=4)
    stored.optimize(bowl, n_trials=4)
    assert kinds(stored)[3] == "model"
    assert refused.trials[3].params == stored.trials[3].params


def test_a_storage_that_refuses_one_part_of_a_receipt_is_no_obstacle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = new_study(storage=Refusing(":1"))
    study.optimize(wide, n_trials=7)
    assert states(study) == [COMPLETE] * 7
    assert any("disk full" in message for message in messages(caplog))
    assert [m for m in messages(caplog) if "model failed" in m] == []
    assert set(kinds(study).values()) == {"startup"}


# -------------------------------------------------------------------------------------- clear refusals


def two_objectives() -> Study:
    sampler = pellucid.BayesianSampler(seed=0)
    return optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)


def test_the_sampler_refuses_several_objectives() -> None:
    with pytest.raises(ValueError, match=r"one objective.*has 2.*multi-objective samplers"):
        two_objectives().optimize(lambda trial: (bowl(trial), 1.0), n_trials=1)


@pytest.mark.parametrize("call", [pellucid.recommend, lambda study: pellucid.rebuild(study, 0)])
def test_recommend_and_rebuild_refuse_several_objectives(call: Callable[[Study], object]) -> None:
    study = two_objectives()
    study.sampler = optuna.samplers.RandomSampler(seed=0)
    study.optimize(lambda trial: (bowl(trial), 1.0), n_trials=3)
    with pytest.raises(ValueError, match=r"one objective.*has 2"):
        call(study)


@pytest.mark.parametrize("number", [8, 999, -1])
def test_rebuilding_a_missing_trial_says_which_trials_there_are(number: int) -> None:
    with pytest.raises(ValueError, match=rf"no trial {number}.*0 to 7"):
        pellucid.rebuild(with_receipts({}), number)


def test_rebuilding_a_trial_of_an_empty_study_says_that_it_is_empty() -> None:
    with pytest.raises(ValueError, match=r"no trials"):
        pellucid.rebuild(new_study(), 0)


def test_rebuilding_a_startup_trial_says_why_not_and_where_to_look() -> None:
    with pytest.raises(ValueError, match=r"(?s)rial 1\b.*cover the space.*receipts"):
        pellucid.rebuild(with_receipts({}), 1)


def test_rebuilding_a_trial_of_another_sampler_says_why_not_and_where_to_look() -> None:
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(bowl, n_trials=12)
    with pytest.raises(ValueError, match=r"(?s)rial 11\b.*not proposed by pellucid.*receipts"):
        pellucid.rebuild(study, 11)


def test_rebuilding_a_fallback_trial_says_why_not() -> None:
    text = '{"trial":7,"kind":"fallback","seed":0,"params":{"x":0.5},"reason":"the model failed: E","version":1}'
    with pytest.raises(ValueError, match=r"the model failed: E"):
        pellucid.rebuild(with_receipts({7: {f"{RECEIPT_KEY}:0": text}}), 7)


def test_there_is_no_recommendation_in_an_empty_study() -> None:
    with pytest.raises(ValueError, match=r"at least one finished trial.*0 trials"):
        pellucid.recommend(new_study())


def test_there_is_no_recommendation_when_every_trial_failed() -> None:
    study = new_study()
    study.optimize(lambda trial: bowl(trial) * NAN, n_trials=4)
    with pytest.raises(ValueError, match=r"at least one finished trial.*4 trials"):
        pellucid.recommend(study)


def test_a_study_of_another_sampler_goes_on_with_this_one() -> None:
    study = optuna.create_study(sampler=TPESampler(seed=0))
    study.optimize(conditional, n_trials=12)
    study.sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=5)
    study.optimize(conditional, n_trials=4)
    assert_went_on(study, [COMPLETE] * 16, n_model=4)
    assert sorted(kinds(study)) == [12, 13, 14, 15]
    assert_rebuilt_exactly(study, 4)


# ------------------------------------------------------------------------------------ what Optuna offers


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


def test_a_waiting_trial_is_no_obstacle() -> None:
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


# --------------------------------------------------------------------------- deterministic and noisy values


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n_startup_trials", [1, 4, 10])
def test_twelve_trials_cover_the_twelve_configurations_of_a_deterministic_objective(
    n_startup_trials: int, seed: int
) -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_int("n", 0, 3) ** 2 + trial.suggest_categorical("c", [0.0, 0.3, 0.1])

    study = new_study(deterministic_objective=True, n_startup_trials=n_startup_trials, seed=seed)
    study.optimize(objective, n_trials=12)
    assert_went_on(study, [COMPLETE] * 12, n_model=2)
    assert distinct(study) == 12


def test_a_deterministic_study_goes_on_when_every_configuration_is_known() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_int("n", 0, 3) ** 2 + trial.suggest_categorical("c", [0.0, 0.3, 0.1])

    study = new_study(deterministic_objective=True)
    study.optimize(objective, n_trials=18)
    assert_went_on(study, [COMPLETE] * 18, n_model=15)
    assert distinct(study) == 12
    assert_rebuilt_exactly(study, 15)


def lucky_point(noise_variance: Any) -> Study:
    """A parabola on a grid, and one trial far from its minimum whose value is too good to be true."""
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1)}
    study = new_study()
    for i in range(13):
        x = i / 12
        lucky = i == 11
        attributes = {pellucid.NOISE_ATTRIBUTE: noise_variance} if lucky and noise_variance is not None else {}
        value = -1.0 if lucky else (x - 0.25) ** 2
        study.add_trial(create_trial(params={"x": x}, distributions=space, value=value, user_attrs=attributes))
    return study


def test_a_value_with_a_huge_declared_variance_is_not_trusted() -> None:
    found = pellucid.recommend(lucky_point(1e6))
    assert found.trial == 3
    assert found.expected == pytest.approx(0.0, abs=0.02)


def test_the_same_value_without_a_declared_variance_is_trusted() -> None:
    assert pellucid.recommend(lucky_point(None)).trial == 11


@pytest.mark.parametrize("nonsense", ["large", -1.0, NAN, INF, True, [1.0], {"a": 1}], ids=repr)
def test_a_declared_variance_that_makes_no_sense_is_ignored(nonsense: Any) -> None:
    assert pellucid.recommend(lucky_point(nonsense)) == pellucid.recommend(lucky_point(None))


def test_a_declared_variance_reaches_the_sampler() -> None:
    trusting, doubting = lucky_point(None), lucky_point(1e6)
    space = {"x": FloatDistribution(0, 1)}
    near, away = trusting.ask(space), doubting.ask(space)
    assert abs(near.params["x"] - 11 / 12) < 0.1
    assert abs(away.params["x"] - 11 / 12) > 0.1
    for study in (trusting, doubting):
        assert_went_on(study, [COMPLETE] * 13 + [RUNNING], n_model=1)
        assert_rebuilt_exactly(study, 1)


def test_a_study_goes_on_with_declared_variances_of_every_magnitude() -> None:
    variances = [0.0, 1e-300, 1e300, 1e-12, 1.0, 1e12]

    def objective(trial: Trial) -> float:
        trial.set_user_attr(pellucid.NOISE_ATTRIBUTE, variances[trial.number % len(variances)])
        return bowl(trial)

    study = new_study()
    study.optimize(objective, n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=10)
    assert_rebuilt_exactly(study, 10)
