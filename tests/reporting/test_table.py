"""The table of all trials and the configurations to copy, in a real browser."""

from __future__ import annotations

import ast
import json
import shlex
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import create_trial
from tests.browser import Browser, in_a_browser

from pellucid.answers.base import Overview
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView
from pellucid.surfaces.page.page import page
from pellucid.surfaces.page.trial_table import _rounded

# Values whose type a careless copy loses: 1.0 is not 1, "1" is not 1, and None and True are no words.
CHOICES = ["it's", "1", 1, 1.5, True, None, 'a "b" $HOME', "--x=1"]
ROWS = "Array.from(document.querySelectorAll('#rows tr:not([aria-hidden]) td:first-child'), e => Number(e.innerText))"


def study_of(n: int) -> optuna.Study:
    kinds: dict[str, BaseDistribution] = {
        "share of rows": FloatDistribution(0, 1),
        "rate": FloatDistribution(1e-12, 1e30, log=True),
        "depth": IntDistribution(1, 40),
        "huge": IntDistribution(0, 2**60),
        "kind": CategoricalDistribution(CHOICES),
    }
    study = optuna.create_study(study_name="table", sampler=RandomSampler(seed=0))
    trials = []
    for i in range(n):
        params = {"share of rows": (0.0, 1.0, 0.1 + 0.2)[i % 3], "rate": (1e-7, 3.0, 1e22)[i % 3], "depth": 1 + i % 40,
                  "huge": 2**60 - i % 7, "kind": CHOICES[i % len(CHOICES)]}  # fmt: skip
        given = {name: kind for name, kind in kinds.items() if name != "depth" or i % 5}
        chosen = {name: value for name, value in params.items() if name in given}
        trials.append(create_trial(params=chosen, distributions=given, value=float((i * 37) % n)))
    study.add_trials(trials)
    return study


def written(study: optuna.Study, path: Path) -> Path:
    """A page without the slow answers."""
    answers = Overview(Beliefs(StudyView.whole(study)), whole=False)
    path.write_text(page(answers), encoding="utf-8")
    return path


def copied(browser: Browser, number: int, language: str) -> str:
    return str(browser.run(f"report.configuration({number}, '{language}')"))


@in_a_browser
def test_a_configuration_is_copied_as_it_was(tmp_path: Path) -> None:
    study = study_of(48)
    with Browser(tmp_path) as browser:
        browser.open(written(study, tmp_path / "page.html"))
        for trial in study.trials:
            name, _, literal = copied(browser, trial.number, "python").partition(" = ")
            assert name == "params"
            assert typed(ast.literal_eval(literal)) == typed(trial.params)
            assert typed(json.loads(copied(browser, trial.number, "json"))) == typed(trial.params)
            flags = dict(
                flag.removeprefix("--").split("=", 1) for flag in shlex.split(copied(browser, trial.number, "flags"))
            )
            assert flags.keys() == trial.params.keys()
            assert flags["kind"] == str(trial.params["kind"])
            assert float(flags["share of rows"]) == trial.params["share of rows"]
            assert int(flags["huge"]) == trial.params["huge"]


def typed(params: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    return {name: (type(value).__name__, value) for name, value in params.items()}


@in_a_browser
def test_buttons_copy_to_the_clipboard(tmp_path: Path) -> None:
    study = study_of(30)
    with Browser(tmp_path) as browser:
        browser.open(written(study, tmp_path / "page.html"), "#trial-7")
        browser.allow_clipboard()
        browser.click("#why [data-copy=json]")
        browser.wait("document.querySelector('#why .copied').innerText === 'Copied trial 7.'")
        assert json.loads(browser.run("navigator.clipboard.readText()")) == study.trials[7].params
        assert browser.messages == []


@in_a_browser
def test_trials_are_sorted_and_filtered(tmp_path: Path) -> None:
    study = study_of(60)

    def asked(browser: Browser, text: str, count: int) -> list[int]:
        browser.run(f"(e => {{ e.value = {json.dumps(text)}; e.dispatchEvent(new Event('input')); }})("
                    "document.querySelector('#filter'))")  # fmt: skip
        browser.wait(f"document.querySelector('#count').innerText.startsWith('{count} ')")
        return list(browser.run(ROWS))

    with Browser(tmp_path) as browser:
        browser.open(written(study, tmp_path / "page.html"))
        titles = browser.run("Array.from(document.querySelectorAll('#titles th'), e => e.innerText)")
        assert [title.split(" ▲")[0] for title in titles] == ["trial", "state", "objective", "seconds", "share of rows",
                                                              "rate", "huge", "kind", "depth"]  # fmt: skip
        browser.click("#titles th:nth-child(3) button")
        first = browser.run(ROWS)[0]
        assert study.trials[first].value == 0.0
        assert browser.run("document.querySelector('#titles th:nth-child(3)').ariaSort") == "ascending"
        browser.click("#titles th:nth-child(3) button")
        assert study.trials[browser.run(ROWS)[0]].value == 59.0
        browser.click("#titles th:nth-child(1) button")
        deep = [t.number for t in study.trials if t.params.get("depth", 0) > 38]
        assert asked(browser, "depth > 38", len(deep)) == deep
        both = [t.number for t in study.trials if t.params.get("depth", 99) <= 5 and t.params["rate"] == 3.0]
        assert asked(browser, "Depth<=5 rate=3", len(both)) == both
        words = [t.number for t in study.trials if t.params["kind"] == "it's"]
        assert asked(browser, "IT'S", len(words)) == words
        asked(browser, "nothing has this", 0)
        asked(browser, "", 60)
        browser.click("#rows tr:nth-child(3) a")
        browser.wait("document.querySelector('#trial').value === '2'")
        assert browser.messages == []


@in_a_browser
def test_five_thousand_trials_have_few_rows_and_any_can_be_picked(tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(written(study_of(5000), tmp_path / "page.html"))
        assert browser.run("document.querySelectorAll('#rows tr').length") < 60
        browser.run("document.querySelector('#table').scrollTop = 30 * 4990")
        browser.wait(f"{ROWS}.includes(4999)")
        assert browser.run("document.querySelectorAll('#rows tr').length") < 60
        browser.run("location.hash = '#trial-4998'")
        browser.wait("document.querySelector('#trial').value === '4998'")
        assert "share of rows" in browser.run("document.querySelector('#trial-params').innerText")
        assert browser.messages == []


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_infinities_are_text(value: float) -> None:
    assert _rounded(value) == str(value)
    assert _rounded(None) is None
    assert _rounded(0.1 + 0.2) == 0.3
