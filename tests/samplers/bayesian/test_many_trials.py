"""More trials than a model is conditioned on: a choice of them, the same in every process, that receipts name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import TrialState, create_trial
from tests.helpers import (
    COMPLETE,
    FAIL,
    PRUNED,
    assert_rebuilt_exactly,
    assert_went_on,
    bowl,
    conditional,
    distinct,
    last_receipt,
    new_study,
)

import pellucid
from pellucid.models import thinning
from pellucid.models.thinning import MOST_ROWS, MOST_TRIALS
from pellucid.numerics import expand_integers
from pellucid.search.acquisition import SAWEI


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of at most 30 observations and 6 failures."""
    monkeypatch.setattr(thinning, "MOST_ROWS", 30)
    monkeypatch.setattr(thinning, "MOST_TRIALS", 30)
    monkeypatch.setattr(thinning, "MOST_FAILED", 6)


def _mixed(n: int, **options: Any) -> Study:
    """A conditional study of trials by another sampler; some are infinite, some were pruned and some failed."""
    source = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    source.optimize(conditional, n_trials=n)
    study = new_study(**options)
    for trial in source.trials:
        state, value = [(COMPLETE, trial.value), (PRUNED, trial.value), (FAIL, None), (COMPLETE, math.inf)][
            {1: 1, 2: 2, 3: 3}.get(trial.number % 11, 0)
        ]
        study.add_trial(
            create_trial(
                state=state,
                value=None if state == FAIL else value,
                params=trial.params,
                distributions=trial.distributions,
                intermediate_values={1: value} if state == PRUNED else None,
            )
        )
    return study


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("options", [{}, {"avoid_failures": True}, {"acquisition": SAWEI()}], ids=str)
def test_a_choice_of_the_trials_is_used_and_rebuilt_exactly(options: dict[str, Any]) -> None:
    study = _mixed(120, **options)
    study.optimize(conditional, n_trials=6)
    assert {receipt.kind for receipt in pellucid.receipts(study)} == {"model"}
    last = last_receipt(study)
    assert len(expand_integers(last.fitted_on)) == 30
    assert len(expand_integers(last.believed)) == 6
    assert set(range(120, 125)) <= set(expand_integers(last.fitted_on)), "its own proposals"
    assert last.best_value == min(t.value for t in study.trials[:-1] if t.state == COMPLETE and t.value is not None)
    assert last.learned_from > 30
    assert_rebuilt_exactly(study, 6)


@pytest.mark.usefixtures("few_rows")
def test_another_process_makes_the_same_choice_and_the_same_proposal() -> None:
    first, second = _mixed(60), _mixed(60)
    first.optimize(conditional, n_trials=4)
    for _ in range(4):
        second.sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=3)
        second.optimize(conditional, n_trials=1)
    assert [t.params for t in first.trials] == [t.params for t in second.trials]
    assert pellucid.receipts(first) == pellucid.receipts(second)


@pytest.mark.usefixtures("few_rows")
def test_trials_that_the_model_does_not_use_are_not_proposed_again() -> None:
    study = new_study()
    study.optimize(lambda trial: float(trial.suggest_int("a", 0, 9) + trial.suggest_int("b", 0, 9)), n_trials=70)
    assert distinct(study.trials) == 70


def test_up_to_the_limit_every_trial_is_used_and_above_it_a_choice() -> None:
    rng = np.random.default_rng(0)
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(-1, 1), "y": FloatDistribution(-1, 1)}
    points = rng.uniform(-1, 1, size=(MOST_TRIALS, 2)).tolist()
    study = new_study()
    study.add_trials(
        [
            create_trial(params={"x": x, "y": y}, distributions=space, value=(x - 0.3) ** 2 + (y + 0.2) ** 2)
            for x, y in points
        ]
    )
    study.optimize(bowl, n_trials=2)
    at_the_limit, above = (expand_integers(receipt.fitted_on) for receipt in pellucid.receipts(study))
    assert at_the_limit == list(range(MOST_TRIALS))
    assert len(above) == MOST_ROWS
    assert MOST_TRIALS in above
    assert_went_on(study, [COMPLETE] * (MOST_TRIALS + 2), n_model=2)
    assert_rebuilt_exactly(study, 2)


@pytest.mark.usefixtures("few_rows")
def test_hyperparameters_serve_again_although_the_model_does_not_use_every_trial() -> None:
    study = _mixed(104)
    study.optimize(conditional, n_trials=4)
    assert len({receipt.learned_from for receipt in pellucid.receipts(study)}) < 4


def test_running_trials_are_never_proposed_again() -> None:
    study = new_study()
    study.optimize(bowl, n_trials=12)
    trials = [study.ask() for _ in range(64)]
    proposed = [(trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)) for trial in trials]
    assert len(set(proposed)) == 64
    assert all(trial.state in (COMPLETE, TrialState.RUNNING) for trial in study.trials)


@pytest.mark.usefixtures("few_rows")
def test_models_of_several_objectives_keep_the_neighbours_of_the_front() -> None:
    """Not those of the best values of each: these are at the ends of the front."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=pellucid.BayesianSampler(seed=0))
    rng = np.random.default_rng(0)
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    front = [(x, 0.5) for x in np.linspace(0.3, 0.7, 9)]
    behind = [(x, y) for x, y in zip(rng.random(120), rng.uniform(0.6, 1.0, 120), strict=True)]
    for x, y in [*front, *behind]:
        values = [x**2 + (y - 0.5), (1.0 - x) ** 2 + (y - 0.5)]
        study.add_trial(create_trial(params={"x": x, "y": y}, distributions=space, values=values))
    study.ask(space)
    for state in last_receipt(study).objectives:
        assert len(expand_integers(state.fitted_on)) == 30
        assert set(range(9)) <= set(expand_integers(state.fitted_on))
