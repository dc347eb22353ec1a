"""Verdicts on stopping with several objectives: those of the first trials, and how many were right."""

from __future__ import annotations

import optuna

import pellucid
from pellucid_lab.runs.front_verdicts import Stops, front_verdicts, stops


def test_verdicts_are_those_of_the_first_trials() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) ** 2, trial.params["x"]), n_trials=24)
    early, now, last = 5, 22, 60
    ((n, stop, bound, tolerance),) = front_verdicts(study, (early, now, last))
    part = optuna.create_study(directions=["minimize", "maximize"])
    part.add_trials(study.trials[:now])
    verdict = pellucid.stopping_verdict(part)
    assert verdict.bound is not None
    assert (n, stop, bound, tolerance) == (now, verdict.stop, round(verdict.bound, 6), verdict.tolerance)


def test_a_stop_is_wrong_if_more_than_the_tolerance_was_left() -> None:
    right, wrong = (60, True, 0.02, 0.03), (60, True, 0.02, 0.03)
    late, cautious = (60, False, 0.2, 0.03), (60, False, 0.01, 0.03)
    judged = [(right, 0.99), (wrong, 0.9), (late, 0.999), (cautious, 1.2)]
    assert stops(judged) == Stops(verdicts=4, within=3, stops=2, wrong=1, covered=3)
