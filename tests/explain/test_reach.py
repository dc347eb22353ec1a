"""Profiles reach no further than the recommendation and the room beyond it: the answers of a page agree."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial

import pellucid
from pellucid.explain.effects.profile import profiles_of
from pellucid.explain.model import view_of
from pellucid.explain.reach import reach_of
from pellucid.explain.recommend import recommendation_of
from pellucid.explain.stopping import room_of, stopping_verdict_of


def tuned(sign: float, noise: float, seed: int, count: int) -> Study:
    """A choice, two numbers and noise, by another sampler."""
    rng = np.random.default_rng(seed)

    def objective(trial: Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        worse = 0.2 * (trial.suggest_categorical("kind", ["a", "b"]) == "b")
        return sign * ((x - 0.3) ** 2 + (x - y) ** 2 + worse + noise * rng.standard_normal())

    sampler = TPESampler(seed=seed) if seed % 2 else RandomSampler(seed=seed)
    study = optuna.create_study(direction="minimize" if sign > 0 else "maximize", sampler=sampler)
    study.optimize(objective, n_trials=count)
    return study


@pytest.mark.parametrize(("sign", "noise", "seed"), [(1.0, 0.0, 0), (-1.0, 0.0, 1), (1.0, 0.05, 2), (-1.0, 0.05, 3)])
def test_no_value_reaches_further_than_the_study_has_room(sign: float, noise: float, seed: int) -> None:
    view = view_of(tuned(sign, noise, seed, 40))
    use, room = recommendation_of(view), stopping_verdict_of(view).bound
    assert use.low is not None
    assert use.high is not None
    assert room is not None
    for profile in profiles_of(view, ["x", "y", "kind"]):
        best = np.array(profile.low if sign > 0 else profile.high)
        limit = use.low - room if sign > 0 else use.high + room
        mean = np.array(profile.mean)
        assert (sign * best >= np.minimum(sign * limit, sign * mean) - 1e-12).all()
        assert (np.array(profile.low) <= mean).all()
        assert (mean <= np.array(profile.high)).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_recommended_choice_reaches_what_the_recommended_trial_does(sign: float) -> None:
    study = tuned(sign, 0.05, 4, 40)
    use, profile = pellucid.recommend(study), pellucid.profile_effect(study, "kind")
    at = profile.values.index(use.params["kind"])
    assert sign * profile.mean[at] <= sign * use.expected
    worst, limit = (profile.high[at], use.high) if sign > 0 else (profile.low[at], use.low)
    assert sign * worst <= sign * limit


def test_a_wider_level_than_that_of_the_interval_is_not_limited_by_it() -> None:
    study = tuned(1.0, 0.05, 2, 40)
    usual, wide = (pellucid.profile_effect(study, "x", level=level) for level in (0.95, 0.99))
    assert min(wide.low) < min(usual.low)


def test_without_a_verdict_or_an_interval_nothing_is_limited() -> None:
    few = view_of(tuned(1.0, 0.0, 0, 12))
    assert room_of(few) is None
    assert reach_of(few) is None
    constant = optuna.create_study()
    constant.optimize(lambda trial: 0.0 * trial.suggest_float("x", 0, 1), n_trials=25)
    assert reach_of(view_of(constant)) is None


def test_of_several_objectives_none_has_a_room_of_its_own() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0 - trial.params["x"]), n_trials=25)
    assert reach_of(view_of(study).about(0)) is None


def test_the_room_is_that_of_the_verdict() -> None:
    view = view_of(tuned(1.0, 0.05, 2, 40))
    assert room_of(view) == stopping_verdict_of(view).bound
