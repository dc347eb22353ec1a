"""`StopWhen` says what `stopping_verdict` says: after every trial, of every kind of study, whatever came before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.storages import InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial
from tests.helpers import conditional

import pellucid
from pellucid.models import GaussianProcess

Objective = Callable[[Trial], Any]


def valley(trial: Trial) -> float:
    """Rosenbrock's function in three dimensions: models of it differ a lot from one trial to the next."""
    x = [trial.suggest_float(name, -1, 2) for name in "abc"]
    return float(sum(100 * (v - u**2) ** 2 + (1 - u) ** 2 for u, v in pairwise(x)))


def noisy(trial: Trial) -> float:
    return valley(trial) + 20.0 * float(np.random.default_rng(trial.number).normal())


def failing(trial: Trial) -> float:
    loss = valley(trial)
    if trial.number % 5 == 2:
        raise RuntimeError("out of memory")
    return float("nan") if trial.number % 7 == 3 else loss


def learning(trial: Trial) -> float:
    """A learning curve of ten steps; the worse half is stopped at the fourth one."""
    end = valley(trial)
    for step in range(10):
        trial.report(end + 500.0 * 0.5**step, step)
        if step == 3 and end > 600.0:
            raise optuna.TrialPruned
    return end


def trade(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", -0.5, 1.5), trial.suggest_float("y", 0, 1)
    if trial.number % 6 == 4:
        raise RuntimeError("out of memory")
    return x**2 + y, (x - 1.0) ** 2 + y


def limited(objective: Objective) -> Objective:
    """The objective, which reports a constraint on its first parameter."""

    def constrained(trial: Trial) -> Any:
        values = objective(trial)
        trial.set_constraint("memory", next(iter(trial.params.values())) - 0.7)
        return values

    return constrained


def ours(seed: int) -> BaseSampler:
    return pellucid.BayesianSampler(seed=seed, n_startup_trials=6)


def random(seed: int) -> BaseSampler:
    return RandomSampler(seed=seed)


def tpe(seed: int) -> BaseSampler:
    return TPESampler(seed=seed, n_startup_trials=6)


@dataclass(frozen=True)
class Case:
    objective: Objective
    sampler: Callable[[int], BaseSampler]
    directions: tuple[str, ...] = ("minimize",)
    options: dict[str, Any] = field(default_factory=dict)


CASES = {
    "one objective": Case(valley, ours),
    "random search": Case(valley, random, options={"regret_below": "5%"}),
    "maximise": Case(lambda trial: -valley(trial), ours, ("maximize",)),
    "noise": Case(noisy, ours),
    "constraint": Case(limited(valley), ours, options={"regret_below": 5.0}),
    "branches": Case(conditional, ours),
    "branches, another model": Case(conditional, random, options={"surrogate": GaussianProcess("matern52")}),
    "failures": Case(failing, ours),
    "learning curves": Case(learning, ours),
    "two objectives, failures": Case(trade, ours, ("minimize", "minimize"), {"regret_below": "20%"}),
    "two objectives, constraint": Case(limited(trade), tpe, ("minimize", "minimize")),
    "maximise and minimise": Case(
        lambda trial: (-(v := trade(trial))[0], v[1]), random, ("maximize", "minimize"), {"regret_below": "50%"}
    ),
}


def assert_agreement(case: Case, seed: int, n_trials: int) -> int:
    """The callback and the question say the same after every trial; how many verdicts were more than "too few trials".

    The question is asked of another `Study` object, which shares nothing with the one of the callback but its storage.
    """
    storage = InMemoryStorage()
    study = optuna.create_study(
        study_name="s", storage=storage, sampler=case.sampler(seed), directions=list(case.directions)
    )
    enough = pellucid.StopWhen(min_trials=8, patience=10**6, **case.options)
    n_judged = 0

    def ask_before(study: Study, trial: FrozenTrial) -> None:
        if trial.number == n_trials // 2:
            study.ask()  # A trial of another worker, which never ends.
            pellucid.history(study)
            pellucid.recommend(study)

    def ask_again(_: Study, trial: FrozenTrial) -> None:
        nonlocal n_judged
        said = enough.verdict
        question = pellucid.stopping_verdict(
            optuna.load_study(study_name="s", storage=storage), min_trials=8, **case.options
        )
        assert said is not None, "the callback had a verdict"
        assert said == question, f"after trial {trial.number}: {said.sentence!r} against {question.sentence!r}"
        assert str(said) == str(question)
        assert said.to_dict() == question.to_dict()
        n_judged += said.bound is not None

    study.optimize(case.objective, n_trials=n_trials, callbacks=[ask_before, enough, ask_again], catch=(RuntimeError,))
    return n_judged


@pytest.mark.parametrize("name", CASES)
def test_the_callback_says_what_the_question_says(name: str) -> None:
    assert assert_agreement(CASES[name], 0, 16) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
@pytest.mark.parametrize("name", CASES)
def test_the_callback_says_what_the_question_says_in_many_studies(name: str, seed: int) -> None:
    """240 studies."""
    assert assert_agreement(CASES[name], seed, 30) >= 10


def test_a_callback_that_begins_late_or_again_says_the_same() -> None:
    """Whatever one callback saw before, it says what a new one says."""
    study = optuna.create_study(sampler=ours(3))
    always, late = (pellucid.StopWhen(min_trials=8, patience=10**6) for _ in range(2))
    study.optimize(valley, n_trials=20, callbacks=[always])
    study.optimize(valley, n_trials=1, callbacks=[always, late])
    assert always.verdict == late.verdict
    assert always.verdict is not None
    assert always.verdict.bound is not None


def test_a_stop_is_stored_in_the_words_of_the_question() -> None:
    study = optuna.create_study(sampler=ours(0))
    enough = pellucid.StopWhen(50.0, patience=2)
    study.optimize(valley, n_trials=60, callbacks=[enough])
    verdict = pellucid.stopping_verdict(study, regret_below=50.0)
    assert len(study.trials) < 60
    assert study.user_attrs["pellucid:stopped"] == verdict.sentence
    assert enough.verdict == verdict
