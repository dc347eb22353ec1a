"""Where two answers of a page differ, both keep their numbers, and one line says so."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import optuna
import pytest
from optuna.samplers import RandomSampler
from tests.overviews import instead

import pellucid
from pellucid.answers.agreement import beyond_the_verdict
from pellucid.answers.base import Overview
from pellucid.answers.catalogue import PROFILE, RECOMMENDATION, VERDICT
from pellucid.answers.doubts import doubts
from pellucid.answers.effects.records import ProfileEffect
from pellucid.answers.finding import NotKnown
from pellucid.answers.on_pages import COURSE
from pellucid.answers.recommend import Recommendation
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.note import note
from pellucid.surfaces.page.page import page


def tuned(direction: str) -> optuna.Study:
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(direction=direction, sampler=RandomSampler(seed=0))
    study.optimize(
        lambda trial: sign * ((trial.suggest_float("x", 0, 1) - 0.3) ** 2 + trial.suggest_float("y", 0, 1)), n_trials=25
    )
    return study


@pytest.fixture(scope="module", params=["minimize", "maximize"])
def gathered(request: pytest.FixtureRequest) -> Overview:
    return gather(tuned(request.param), progress=False)


def profiles(study: Overview) -> list[ProfileEffect]:
    asked = [study.found(PROFILE, question.subject) for question in study.shown(PROFILE)]
    return [profile for profile in asked if profile is not None]


def with_verdict(study: Overview, *, further: float, stop: bool) -> Overview:
    """With a verdict that leaves room up to the furthest band, less so many tolerances."""
    use, verdict = study.ask(RECOMMENDATION), study.found(VERDICT)
    assert isinstance(use, Recommendation)
    assert verdict is not None
    assert use.low is not None
    assert use.high is not None
    if use.direction == "minimize":
        room = use.low - min(end for profile in profiles(study) for end in profile.low)
    else:
        room = max(end for profile in profiles(study) for end in profile.high) - use.high
    # The end of the furthest band is beyond the interval of the recommendation in these studies.
    assert room > 0.0
    tolerance = room / 10.0
    other = replace(verdict, stop=stop, bound=room - further * tolerance, tolerance=tolerance)
    return instead(study, VERDICT, other)


def test_a_band_that_promises_more_than_the_verdict_is_named_with_both_numbers(gathered: Overview) -> None:
    study = with_verdict(gathered, further=2.0, stop=False)
    line = beyond_the_verdict(study)
    verdict = study.found(VERDICT)
    assert verdict is not None
    assert f"at most {verdict.bound:.2g} left" in line
    assert any(f"`{profile.param}`" in line for profile in profiles(study))
    assert line.endswith("for a limit.")


def test_a_difference_within_the_tolerance_is_not_worth_a_line(gathered: Overview) -> None:
    assert beyond_the_verdict(with_verdict(gathered, further=0.9, stop=True)) == ""
    assert beyond_the_verdict(with_verdict(gathered, further=1.1, stop=True)) != ""


@pytest.mark.parametrize("stop", [True, False])
def test_the_page_says_it_once(gathered: Overview, stop: bool) -> None:
    """With the advice to stop it is a reason to distrust that; otherwise it stands beside the bands."""
    study = with_verdict(gathered, further=3.0, stop=stop)
    line = beyond_the_verdict(study)
    assert (line in doubts(study)) == stop
    html = unescape(page(study)).replace("<code>", "`").replace("</code>", "`")
    assert html.count(line) == 1
    section = html.index('id="effects"')
    assert (html.index(line) > section) == (not stop)
    assert ("before you stop" in note(study, "trials/")) == stop


def test_answers_that_are_missing_do_not_differ(gathered: Overview) -> None:
    study = with_verdict(gathered, further=3.0, stop=True)
    use, verdict = study.ask(RECOMMENDATION), study.found(VERDICT)
    assert isinstance(use, Recommendation)
    assert verdict is not None
    unknown = NotKnown("Too few trials.")
    for lacking in (
        instead(study, RECOMMENDATION, unknown),
        instead(study, RECOMMENDATION, replace(use, low=None, high=None)),
        instead(study, VERDICT, unknown),
        instead(study, VERDICT, replace(verdict, bound=None)),
        instead(study, PROFILE, unknown, *(question.subject for question in study.shown(PROFILE))),
    ):
        assert beyond_the_verdict(lacking) == ""


def test_a_page_of_several_objectives_has_no_such_line() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0 - trial.params["x"]), n_trials=25)
    assert beyond_the_verdict(gather(study, progress=False)) == ""


def test_a_report_shows_the_numbers_that_each_answer_has_alone() -> None:
    study = tuned("minimize")
    together = gather(study, progress=False)
    for profile in profiles(together):
        assert profile == pellucid.profile_effect(study, profile.param)
    assert together.ask(RECOMMENDATION) == pellucid.recommend(study)
    assert together.ask(VERDICT) == pellucid.stopping_verdict(study)
    assert together.ask(COURSE) == pellucid.regret_history(study)
