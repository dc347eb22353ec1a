"""What to distrust: at most three reasons on a page, each with what to do about it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.trial import Trial
from tests.overviews import instead

import pellucid
from pellucid.answers.base import Overview, Subject
from pellucid.answers.catalogue import RECOMMENDATION, TRADEOFF
from pellucid.answers.doubts import MOST_SHOWN, _each_once, doubts
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.page import page
from pellucid.words import Note

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


# ---------------------------------------------------------------------- several objectives


@pytest.fixture(scope="module")
def dense() -> Overview:
    """A front without noise from 0 to 1 in both objectives, and a trial that returned an infinite value."""
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0))
    study.set_metric_names(["latency", "accuracy"])
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    rows = [(x, x**2, 1.0 - (1.0 - x) ** 2) for x in [i / 29 for i in range(30)]]
    for x, latency, accuracy in [*rows, (0.5, math.inf, 0.0)]:
        trial = optuna.trial.create_trial(params={"x": x}, distributions=space, values=[latency, accuracy])
        study.add_trial(trial)
    return gather(study, progress=False)


def about_the_front(answers: Overview) -> list[str]:
    return [reason for reason in doubts(answers) if "front reaches" in reason]


def test_a_front_that_spans_what_was_observed_is_no_reason_for_doubt(dense: Overview) -> None:
    assert about_the_front(dense) == []


def test_a_front_that_is_much_shorter_than_what_was_observed_is_a_reason_for_doubt(dense: Overview) -> None:
    front = dense.ask(RECOMMENDATION)
    assert isinstance(front, pellucid.Front)
    short = replace(front, members=front.members[12:18], thinned=())
    one = replace(front, members=front.members[29:], thinned=())
    reasons = about_the_front(instead(dense, RECOMMENDATION, short))
    assert len(reasons) == 2
    assert reasons[0].startswith("The trials that no other beats returned latency from 0 to 1, but the named front")
    assert reasons[0].endswith("because the models take the rest for luck: run trial 0 and trial 29 again.")
    assert about_the_front(instead(dense, RECOMMENDATION, one))[0].endswith("run trial 0 again.")


def test_a_trade_off_that_is_much_shorter_than_the_front_is_a_reason_for_doubt(dense: Overview) -> None:
    pair = Subject(pair=(0, 1))
    tradeoff = dense.ask(TRADEOFF, pair)
    assert isinstance(tradeoff, pellucid.Tradeoff)
    (reason,) = about_the_front(instead(dense, TRADEOFF, replace(tradeoff, curve=tradeoff.curve[-24:]), pair))
    assert reason.startswith("The trade-off between latency and accuracy is known for accuracy from ")
    assert reason.endswith(": look at its trials for the rest.")


def test_only_doubts_that_say_the_same_with_other_numbers_are_left_out() -> None:
    """What stands before a colon may be the name of an objective."""
    two = ["For a: x, predictions were too sure: 1 of 2 held.", "For a: y, predictions were too sure: 1 of 2 held."]
    few = [Note(f"Effects are provisional: {n} trials for 3 parameters; run 45.", "size") for n in (20, 21)]
    unsure = Note("The model is unsure about most of the space.", "evidence")
    assert _each_once([*two, few[0], unsure, unsure, few[1]]) == [*two, unsure, few[0]]
