"""The report of a study with several objectives and a constraint, and the figures that are published of it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.browser import Browser, in_a_browser
from tests.reporting.test_report import SCRIPT

import pellucid
from pellucid.answers.base import Overview
from pellucid.answers.doubts import doubts
from pellucid.answers.finding import Finding
from pellucid.surfaces import dashboard
from pellucid.surfaces.page import gather as gathering
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.page import page

SECTIONS = ["front", "tradeoff", "objective-0", "objective-1", "stop", "constraints", "failures", "trials", "why"]


def measured(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    if trial.number in (3, 4, 11):
        raise RuntimeError("out of memory")
    waste = (y - 0.5) ** 2
    trial.set_constraint("memory", x - 0.8)
    return 1.0 - (1.0 - x) ** 2 - waste, 100.0 * (x**2 + waste)


@pytest.fixture(scope="module")
def study() -> Study:
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=6)
    two = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    two.set_metric_names(["accuracy", SCRIPT])
    two.optimize(measured, n_trials=17, catch=(RuntimeError,))
    return two


@pytest.fixture(scope="module")
def answers(study: Study) -> Overview:
    return gather(study, progress=False)


@in_a_browser
def test_a_browser_shows_the_front_and_a_section_for_each_objective(answers: Overview, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(answers), encoding="utf-8")
    with Browser(tmp_path) as browser:
        browser.open(path)
        browser.run("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        browser.wait("Array.from(document.querySelectorAll('[data-figure]')).every(e => e.dataset.drawn === 'yes')")
        places = browser.run("Array.from(document.querySelectorAll('[data-figure]'), e => e.dataset.figure)")
        drawn = browser.run(
            "Array.from(document.querySelectorAll('[data-figure]')).filter(e => e.querySelector('svg.main-svg'))"
            ".map(e => e.dataset.figure)"
        )
        assert drawn == places
        each = {f"objective-{i}-{what}" for i in (0, 1) for what in ("importance", "calibration", "profile-0")}
        assert {"history", "front", "tradeoff-0", "constraint-0", "paths"} | each <= set(places)
        assert browser.run("Array.from(document.querySelectorAll('main > section'), e => e.id)") == [
            "answers",
            *SECTIONS,
        ]
        assert browser.run("document.body.dataset.hacked") is None
        cards = browser.run("document.querySelector('#answers').innerText")
        assert "Use one of these" in cards
        assert "What does one cost in the other?" in cards
        assert f"For {SCRIPT}" in cards
        header = browser.run("document.querySelector('header').innerText")
        assert f"to maximize accuracy and minimize {SCRIPT}" in header
        assert browser.run("document.querySelector('#trial option:checked').innerText").startswith("trial ")
        assert "accuracy 0." in browser.run("document.querySelector('#trial').innerText")
        assert "maximised EHVI" in browser.run("document.querySelector('#trial-words').innerText")
        assert browser.run("document.documentElement.scrollWidth") <= 1280
        assert browser.messages == []


def test_the_figures_of_each_objective_are_published(
    answers: Overview, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: dict[str, Any] = {}
    notes: list[str] = []

    def sketched(record: Finding, _: str | None) -> Any:
        """Real figures are drawn in the browser."""
        return SimpleNamespace(layout=SimpleNamespace(meta={"finding": record.sentence}))

    def store(_: Study, figure: Any, *, graph_object_id: str) -> None:
        stored[graph_object_id] = figure

    package = SimpleNamespace(
        save_plotly_graph_object=store, get_note=lambda _: "", save_note=lambda _, text: notes.append(text)
    )
    # The real package takes seconds to import; the command line's test publishes with it.
    monkeypatch.setitem(sys.modules, "optuna_dashboard", package)
    monkeypatch.setattr(Finding, "_drawn", sketched)
    monkeypatch.setattr(dashboard, "fit", lambda *_: None)
    monkeypatch.setattr(gathering, "gather", lambda *_, **__: answers)
    findings = dashboard.publish(study)
    assert len(findings) == len(stored)
    assert findings[0] == pellucid.recommend(study).sentence
    each = {f"pellucid-objective-{i}-{what}" for i in (0, 1) for what in ("importance", "calibration", "profile-0")}
    assert {"pellucid-history", "pellucid-front", "pellucid-tradeoff-0", "pellucid-why"} | each <= set(stored)
    assert "## What does one cost in the other?" in notes[0]
    assert "Trials that may be on the front: [trial " in notes[0]


def test_doubts_are_about_all_objectives(answers: Overview) -> None:
    text = " ".join(doubts(answers))
    assert "3 of 17 trials failed" in text
    assert "infinite" not in text


def test_more_than_four_objectives_get_a_sentence(tmp_path: Path) -> None:
    five = optuna.create_study(directions=["minimize"] * 5)
    with pytest.raises(ValueError, match=r"up to 4 objectives, but this study has 5: ask about each of them"):
        pellucid.report(five, tmp_path / "report.html")
    five.optimize(lambda trial: (trial.suggest_float("x", 0, 1),) * 5, n_trials=5)
    with pytest.raises(ValueError, match=r"up to 4 objectives, but this study has 5: pass one of them as `objective`"):
        pellucid.explain_proposal(five, 4)
    assert "would have expected objective 4" in str(pellucid.explain_proposal(five, 4, objective=4))


@pytest.mark.parametrize("k", [2, 3])
def test_what_is_not_known_yet_is_said(tmp_path: Path, k: int) -> None:
    study = optuna.create_study(directions=["minimize"] * k)
    text = pellucid.report(study, tmp_path / "empty.html", progress=False).read_text(encoding="utf-8")
    assert "to minimize objective 0" in text
    assert "A front needs at least one finished trial with values" in text
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1),) * k, n_trials=2)
    text = pellucid.report(study, tmp_path / "few.html", progress=False).read_text(encoding="utf-8")
    assert "Importance needs at least 3 finished trials" in text
