"""A live report says what it has at once, what is still being computed, how old it is, and keeps what cannot change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import optuna
import pytest
from optuna.study import Study
from tests.browser import Browser, in_a_browser
from tests.helpers import bowl
from tests.reporting.served import (
    LINE,
    PATIENCE_S,
    READY,
    answer,
    served,
    state,
    wait_for,
    watching,
)
from tests.reporting.test_several import measured

import pellucid
from pellucid.answers.base import Overview
from pellucid.answers.finding import PENDING
from pellucid.answers.proposals import explanation
from pellucid.answers.proposals.records import ProposalExplanation
from pellucid.answers.questions.proposal import explained
from pellucid.answers.questions.trials import course
from pellucid.surfaces.page import live as living
from pellucid.surfaces.page.gather import gather, gather_at_once
from pellucid.surfaces.page.page import page


def run(n: int) -> Study:
    study = optuna.create_study(sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=5))
    study.optimize(bowl, n_trials=n)
    return study


def run_two() -> Study:
    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=pellucid.BayesianSampler(seed=0, n_startup_trials=6)
    )
    study.set_metric_names(["accuracy", "latency"])
    study.optimize(measured, n_trials=16, catch=(RuntimeError,))
    return study


@pytest.fixture(scope="module")
def two() -> Study:
    """A study that no test changes."""
    return run_two()


class Held:
    """`gather` in the place of that of the live report: it waits until it is let through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self._may = Event(), Event()
        monkeypatch.setattr(living, "gather", self)

    def __call__(self, *arguments: Any) -> Overview:
        self.asked.set()
        assert self._may.wait(PATIENCE_S)
        self._may.clear()
        return gather(*arguments)

    def let_through(self) -> None:
        self._may.set()


@contextmanager
def held_report(study: Study, held: Held) -> Iterator[int]:
    """The port of a report whose pages wait to be let through."""
    with served(study) as (live, port), watching(live):
        try:
            yield port
        finally:
            live.end(0)
            held.let_through()


# ---------------------------------------------------------------------- what is shown first


@pytest.mark.parametrize("several", [False, True])
def test_the_first_page_has_the_trials_and_says_what_is_being_computed(two: Study, several: bool) -> None:
    study = two if several else run(8)
    answers = gather_at_once(study)
    assert not answers.whole
    assert len(answers.view.trials) == len(study.trials)
    html = page(answers, live=1)
    cards = html[html.index('id="answers"') : html.index("</section>")]
    assert cards.count("Computing ...") == cards.count('class="card"') + (1 if several else 0)  # One per objective.
    for wrong in ("Nothing stands out", "Not known", "Not yet"):
        assert wrong not in cards
    assert PENDING.reason in html
    assert 'data-figure="history"' in html
    assert gather(study, progress=False).whole


def test_no_model_is_fitted_for_the_first_page(two: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a model was fitted")

    monkeypatch.setattr("pellucid.models.gp.GaussianProcess.learn", refuse)
    assert course(gather_at_once(two)).states.count("failed") > 0


def test_what_takes_long_follows_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    with held_report(run(6), held) as port:
        wait_for(lambda: state(port)["version"])
        first = state(port)
        assert (first["trials"], first["whole"], first["now"]) == (6, False, 0)
        assert first["computing"] > 0
        assert b"Computing ..." in answer(port)[1]
        held.let_through()
        wait_for(lambda: state(port)["whole"])
        second = state(port)
        assert second["version"] > first["version"]
        assert second["computing"] == 0
        assert b"Computing ..." not in answer(port)[1]


def test_the_age_of_a_page_and_the_trials_that_it_lacks_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(living, "_EVERY", 0.05)
    held, study = Held(monkeypatch), run(6)
    with held_report(study, held) as port:
        held.let_through()
        wait_for(lambda: state(port)["whole"])
        young = state(port)["age"]
        wait_for(lambda: state(port)["age"] > young)
        held.asked.clear()
        study.optimize(bowl, n_trials=2)
        assert held.asked.wait(PATIENCE_S)
        behind = state(port)
        assert (behind["trials"], behind["whole"]) == (6, True)  # The old page stays, with all of its answers.
        assert behind["now"] in (7, 8)
        assert behind["computing"] > 0
        old = behind["age"]
        held.let_through()
        wait_for(lambda: state(port)["trials"] > 6)
        if state(port)["trials"] == 7:  # The second trial ended after the first look.
            held.let_through()
        wait_for(lambda: (state(port)["trials"], state(port)["now"]) == (8, 0))
        assert state(port)["age"] < old + PATIENCE_S * 1000


def test_a_study_without_ended_trials_needs_one_page_only() -> None:
    with served(optuna.create_study()) as (live, port), watching(live):
        wait_for(lambda: state(port)["version"])
        assert state(port)["whole"]
        change = live.next_change(0)
        assert change is not None
        assert change.page is not None
        assert live.next_change(0) is None


@in_a_browser
def test_a_browser_shows_the_first_page_then_the_rest_and_the_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, two = Held(monkeypatch), run_two()
    with held_report(two, held) as port, Browser(tmp_path) as browser:
        browser.hurry()
        browser.open_address(f"http://127.0.0.1:{port}/")
        browser.wait(f"{READY} && {LINE}.includes('Live: 16 trials; the answers are being computed, since ')")
        assert browser.run("document.querySelector('#answers').innerText.includes('Computing ...')")
        assert browser.run("document.querySelectorAll('#trial option').length") == 16
        held.let_through()
        browser.wait(f"{READY} && {LINE}.includes(' ago from 16 trials.')")
        assert not browser.run("document.querySelector('#answers').innerText.includes('Computing ...')")
        held.asked.clear()
        two.optimize(measured, n_trials=1)
        browser.wait(f"{LINE}.includes(' ago from 16 trials; 17 now, the next page is being computed.')")
        assert re.fullmatch(r"Live: computed \d+ (s|min) ago from 16 trials; 17 now.*", browser.run(LINE), re.DOTALL)
        held.let_through()
        browser.wait(f"{READY} && {LINE}.includes(' ago from 17 trials.')")
        assert browser.messages == []


# ---------------------------------------------------------------------- what is kept


def explanations(study: Study, kept: dict[Any, Any]) -> list[ProposalExplanation]:
    return list(explained(gather(study, False, kept)).values())


def test_explanations_of_trials_that_have_ended_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    two = run_two()
    asked: list[int] = []
    explain = explanation.explanation_of
    monkeypatch.setattr(explanation, "explanation_of", lambda view, n, **_: asked.append(n) or explain(view, n))
    kept: dict[Any, Any] = {}
    first = explanations(two, kept)
    computed = list(asked)
    assert [each.trial for each in first] == computed
    second = explanations(two, kept)
    assert asked == computed
    assert second == first == explanations(two, {})
    asked.clear()
    two.optimize(measured, n_trials=1)
    third = explanations(two, kept)
    assert len(two.trials) - 1 in asked
    assert not set(asked) & set(computed)
    fresh = explanations(two, {})
    assert [each.to_dict() for each in third] == [each.to_dict() for each in fresh]


def test_what_is_said_about_a_running_trial_is_computed_again() -> None:
    study = run(9)
    trial = study.ask()
    bowl(trial)
    kept: dict[Any, Any] = {}
    running = {each.trial: each for each in explanations(study, kept)}[trial.number]
    assert "The trial is still running." in running.notes
    study.tell(trial, 0.5)
    ended = {each.trial: each for each in explanations(study, kept)}[trial.number]
    assert "The trial is still running." not in ended.notes


def test_new_names_of_objectives_are_used_in_explanations_that_were_kept() -> None:
    study = run(8)
    kept: dict[Any, Any] = {}
    before = explanations(study, kept)[0]
    study.set_metric_names(["loss"])
    after = {each.trial: each for each in explanations(study, kept)}[before.trial]
    assert (before.objective, after.objective) == ("objective", "loss")
