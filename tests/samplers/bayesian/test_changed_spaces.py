"""Parameters without a choice, changed ranges, and parameters that are added, removed or conditional."""

from __future__ import annotations

import math
from collections.abc import Callable

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, create_trial
from tests.helpers import (
    COMPLETE,
    FAIL,
    PRUNED,
    RUNNING,
    assert_rebuilt_exactly,
    assert_went_on,
    bowl,
    conditional,
    distinct,
    kinds,
    last_receipt,
    messages,
    new_study,
)

import pellucid
from pellucid.numerics import expand_integers

NAN, INF = math.nan, math.inf


# ------------------------------------------------------------------------- parameters without a choice


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


def test_a_study_goes_on_with_some_parameters_without_a_choice() -> None:
    def objective(trial: Trial) -> float:
        fixed = trial.suggest_float("fixed", 2.0, 2.0) + trial.suggest_int("n", 3, 3)
        fixed += len(trial.suggest_categorical("c", ["only"])) + trial.suggest_float("step", 1, 1.4, step=1)
        return bowl(trial) + fixed

    study = new_study()
    study.optimize(objective, n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=6)
    assert set(last_receipt(study).space) == {"x", "y"}
    assert distinct(study.trials) == 10


def test_a_study_goes_on_after_a_trial_without_parameters() -> None:
    study = new_study()
    study.optimize(lambda trial: 5.0 if trial.number in (2, 6) else bowl(trial), n_trials=10)
    assert_went_on(study, [COMPLETE] * 10, n_model=3)


# --------------------------------------------------------------------------------- ranges that changed


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
    present = study.trials[-1].distributions
    fitting = [
        t.number
        for t in study.trials[:-1]
        if all(present[parameter].low <= value <= present[parameter].high for parameter, value in t.params.items())
    ]
    old = [number for number in fitting if number < 8]
    # The case matches its name.
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
    """The value that replaces an infinite one must not depend on trials that the model did not see."""
    study = new_study()
    objective = moving(CHANGES["narrowed"])
    study.optimize(lambda t: objective(t) + (value if t.number in (9, 10) else 0.0), n_trials=14)
    assert_went_on(study, [COMPLETE] * 14, n_model=4)
    assert_rebuilt_exactly(study, 6)


def test_rebuild_is_exact_when_trials_were_pruned_and_ranges_changed() -> None:
    """The value of a pruned trial must not depend on trials that the model did not see."""
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


# ------------------------------------------------------------------ parameters that come, go or depend


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
    """Two trials cannot distinguish a condition from a changed objective."""
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
    conditions = last_receipt(study).conditions
    dart = ["tree", "dart", "linear"].index("dart")
    assert conditions == {"drop": ["booster", [dart]], "skip": ["booster", [dart]]}


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
