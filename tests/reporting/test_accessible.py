"""Reports of every kind of study can be used by everybody, and say nothing to the console or the network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import optuna
import pytest
from optuna.study import Study
from optuna.trial import Trial
from tests.accessible import barriers, findings
from tests.browser import NEEDS_BROWSER, Browser

import pellucid

pytestmark = [pytest.mark.pages, NEEDS_BROWSER]


def one_objective(trial: Trial) -> float:
    x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
    return (x - 0.3) ** 2 + 0.2 * y + 0.1 * (trial.suggest_categorical("kind", ["a", "b"]) == "a")


def two_objectives(trial: Trial) -> tuple[float, float]:
    x, waste = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return x**2 + waste, (x - 1) ** 2 + waste


def constrained(trial: Trial) -> float:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.set_constraint("memory", x + y - 0.8)
    return -x - 0.5 * y


def pruned(trial: Trial) -> float:
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    for epoch in range(1, 11):
        loss = abs(math.log10(rate) + 2) + 1 / epoch
        trial.report(loss, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def always_failing(trial: Trial) -> float:
    raise RuntimeError(f"no data for {trial.suggest_float('x', 0, 1)}")


def conditional(trial: Trial) -> float:
    """Fails at large rates."""
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    model = trial.suggest_categorical("model", ["linear", "tree"])
    if rate > 0.05:
        raise RuntimeError("diverged")
    return (math.log10(rate) + 2) ** 2 + (0.1 * trial.suggest_int("depth", 1, 8) if model == "tree" else 1.0)


@cache
def report(objective: Callable[[Trial], object], n_trials: int, folder: Path) -> Path:
    several = {"directions": ["minimize", "minimize"]} if objective is two_objectives else {}
    sampler = pellucid.BayesianSampler(seed=0, n_startup_trials=8)
    study: Study = optuna.create_study(sampler=sampler, pruner=pellucid.CurvePruner(), **several)
    study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,))  # type: ignore[arg-type]
    return pellucid.report(study, folder / f"{objective.__name__}-{n_trials}.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the reports."""
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.mark.parametrize(
    ("objective", "n_trials"),
    [
        (one_objective, 22),
        (one_objective, 0),
        (two_objectives, 12),
        (constrained, 20),
        (pruned, 20),
        (always_failing, 8),
        (conditional, 24),
    ],
)
def test_everybody_can_use_a_report(
    objective: Callable[[Trial], object], n_trials: int, browser: Browser, folder: Path
) -> None:
    page = report(objective, n_trials, folder)
    browser.messages.clear()
    browser.requests.clear()
    found = barriers(browser, lambda: browser.open(page))
    assert not found, found
    assert browser.messages == []
    assert {url for url in browser.requests if not url.startswith(("data:", "blob:"))} == {page.as_uri()}


def test_everybody_can_use_a_wide_report_in_dark_colours(browser: Browser, folder: Path) -> None:
    page = report(conditional, 24, folder)
    browser.show(dark=True)
    browser.open(page)
    assert findings(browser) == []


def test_what_cannot_be_used_is_found(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p style='color: #ddd'>Pale</p><img src='data:,'><script>console.log(1)</script>")
    browser.messages.clear()
    browser.visit(page.as_uri())
    assert {line.partition(" ")[0] for line in findings(browser)} >= {"color-contrast", "image-alt"}
    assert browser.messages == ['log: [{"type": "number", "value": 1, "description": "1"}]']
