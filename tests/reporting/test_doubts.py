"""What to distrust: at most three reasons on a page, each with what to do about it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.trial import Trial

import pellucid
from pellucid.reporting.doubts import MOST_SHOWN, doubts
from pellucid.reporting.gather import gather
from pellucid.reporting.page import page

# What a reader can do, or look at.
ACTIONS = ("add", "aim", "ask", "avoid", "expect", "fix", "let", "look", "read", "return", "run", "use", "the log")


def rough(trial: Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    y = trial.suggest_float("y", 0, 1)
    trial.report(x, 0)
    if trial.number % 7 == 3:
        raise optuna.TrialPruned
    if trial.number % 7 == 5:
        raise RuntimeError("diverged")
    return math.inf if trial.number == 8 else (x - 0.3) ** 2 + y


def left_running(study: optuna.Study) -> None:
    study.ask().suggest_float("x", 0, 1)


@pytest.mark.parametrize("sampler", [optuna.samplers.TPESampler, pellucid.BayesianSampler])
@pytest.mark.parametrize("n", [0, 1, 9, 30])
@pytest.mark.parametrize("after", [None, left_running])
def test_every_reason_ends_in_an_action(
    sampler: Callable[..., optuna.samplers.BaseSampler], n: int, after: Callable[[optuna.Study], None] | None
) -> None:
    study = optuna.create_study(sampler=sampler(seed=0))
    study.enqueue_trial({"x": 0.5, "y": 0.5})
    study.optimize(rough, n_trials=n, catch=(RuntimeError,))
    if after is not None:
        after(study)
    reasons = doubts(gather(study, progress=False))
    assert reasons
    for reason in reasons:
        action = re.split(r": |; |\. ", reason.rstrip("."))[-1].lower()
        assert action.startswith(ACTIONS), reason


def test_a_page_shows_the_first_three(tmp_path: Path) -> None:
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(rough, n_trials=9, catch=(RuntimeError,))
    left_running(study)
    answers = gather(study, progress=False)
    reasons = doubts(answers)
    assert len(reasons) > MOST_SHOWN
    card = page(answers).split("What to distrust")[1].split("</ul>")[0]
    assert card.count("<li>") == MOST_SHOWN == 3
    assert "Only 8 trials have finished" in card
