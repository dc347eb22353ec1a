"""What holds a stop back: choices without a chance, unseen parts of a small space, and fits that disagree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial

import pellucid
from pellucid.answers.stop.records import Hold


def study_of(objective: Callable[[Trial], float], n_trials: int, seed: int = 0) -> Study:
    study = optuna.create_study(sampler=RandomSampler(seed=seed))
    study.optimize(objective, n_trials=n_trials)
    return study


def bowl(trial: Trial) -> float:
    return sum((trial.suggest_float(name, -1, 1) - 0.2) ** 2 for name in "xyz")


def conditional(n_kernel: int, n_failed: int = 0, penalty: float = 2.0) -> Study:
    """Fifty trials of `linear`, and a few of `kernel`, which has two parameters of its own."""
    rng, study = np.random.default_rng(0), optuna.create_study()
    unit = FloatDistribution(0, 1)
    choice = CategoricalDistribution(["linear", "kernel"])
    for i in range(50 + n_kernel + n_failed):
        kernel = i % 2 == 1 and i // 2 < n_kernel + n_failed
        own = ("gamma", "width") if kernel else ("alpha", "beta")
        params = {"model": "kernel" if kernel else "linear", **{name: float(rng.random()) for name in own}}
        loss = sum((params[name] - 0.5) ** 2 for name in own) + penalty * kernel
        failed = kernel and i // 2 < n_failed
        study.add_trial(
            create_trial(
                params=params,
                distributions={"model": choice, **dict.fromkeys(own, unit)},
                value=None if failed else loss,
                state=TrialState.FAIL if failed else TrialState.COMPLETE,
            )
        )
    return study


def test_a_choice_that_was_hardly_tried_holds_the_stop_back() -> None:
    verdict = pellucid.stopping_verdict(conditional(4), regret_below=0.2)
    assert verdict.bound is not None
    assert verdict.bound <= 0.2
    assert not verdict.stop
    assert verdict.blocked == ("`model` = kernel was tried 4 times, too few to rule it out",)
    assert verdict.held_by == (Hold("choice", verdict.blocked[0], param="model"),)
    assert str(verdict).startswith(
        f"Continue: {verdict.blocked[0]}. The bound alone would allow a stop: after 54 trials,"
    )


def test_the_best_choice_need_not_be_ruled_out_but_known() -> None:
    verdict = pellucid.stopping_verdict(conditional(4, penalty=-2.0), regret_below=0.5)
    assert verdict.blocked == ("`model` = kernel was tried 4 times, too few to know how good it gets",)
    assert [(hold.kind, hold.param) for hold in verdict.held_by] == [("choice", "model")]


@pytest.mark.parametrize(("n_kernel", "n_failed"), [(22, 0), (6, 15)], ids=["tried", "mostly failed"])
def test_a_choice_that_had_its_chance_does_not(n_kernel: int, n_failed: int) -> None:
    assert pellucid.stopping_verdict(conditional(n_kernel, n_failed), regret_below=0.2).stop


def test_many_untried_choices_are_counted() -> None:
    def many(trial: Trial) -> float:
        trial.suggest_categorical("kind", [f"k{i}" for i in range(40)])
        return bowl(trial)

    verdict = pellucid.stopping_verdict(study_of(many, 60), regret_below=1.0)
    assert not verdict.stop
    assert "choices of `kind` were tried too few times to rule them out" in str(verdict)


def test_a_choice_without_parameters_is_ruled_out_by_the_model_after_a_few_trials() -> None:
    def kinds(trial: Trial) -> float:
        kind = "bad" if trial.number in (5, 15, 25) else "good"
        trial.suggest_categorical("kind", ["good", "bad"])
        return bowl(trial) + 50.0 * (kind == "bad")

    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for i in range(60):
        study.enqueue_trial({"kind": "bad" if i in (5, 15, 25) else "good"})
    study.optimize(kinds, n_trials=60)
    assert pellucid.stopping_verdict(study, regret_below=0.5).stop


def test_a_plane_must_be_looked_over_and_a_larger_space_cannot_be() -> None:
    def corner(trial: Trial) -> float:
        return sum((trial.suggest_float(name, 0, 1) - 0.1) ** 2 for name in "xy")

    study = optuna.create_study()
    rng = np.random.default_rng(0)
    unit = FloatDistribution(0, 1)
    for x, y in 0.5 * rng.random((40, 2)):
        params = {"x": float(x), "y": float(y)}
        study.add_trial(
            create_trial(params=params, distributions=dict.fromkeys("xy", unit), value=x**2 + (y - 0.2) ** 2)
        )
    verdict = pellucid.stopping_verdict(study, regret_below=0.05)
    assert not verdict.stop
    (reason,) = verdict.blocked
    assert "of the range of `x` and `y`, and a narrow optimum may be in the rest" in reason
    assert reason.endswith("stop if you know that there is none")
    assert verdict.held_by == (Hold("coverage", reason),)
    looked_over = pellucid.stopping_verdict(study_of(corner, 120), regret_below=0.05)
    assert looked_over.stop
    assert looked_over.held_by == ()
    assert looked_over.notes[0].startswith("The model cannot see a narrow optimum that no trial has come near")


def test_an_improvement_a_moment_ago_holds_the_stop_back() -> None:
    study = study_of(lambda trial: 0.3 + bowl(trial), 60)
    study.enqueue_trial(dict.fromkeys("xyz", 0.2))
    study.optimize(bowl, n_trials=1)
    verdict = pellucid.stopping_verdict(study, regret_below=0.25)
    assert not verdict.stop
    assert "trial 60 has only just improved the best value by" in verdict.blocked[0]
    assert [(hold.kind, hold.trial) for hold in verdict.held_by] == [("improvement", 60)]


def test_a_tolerance_above_all_differences_is_never_held_back() -> None:
    study = study_of(lambda trial: trial.suggest_float("x", 0, 1) ** 2, 20)
    assert pellucid.stopping_verdict(study, regret_below=100.0).stop
