"""A title and the sentence after it read on: no sentence begins with the words that its title ends with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from typing import Any

import optuna
import pytest
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial
from tests.helpers import conditional

import pellucid
from pellucid.answers.base import GoalName, Overview, Question, Subject
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView
from pellucid.surfaces.cli.answers import answers_text, answers_to
from pellucid.surfaces.cli.questions import overview, requested
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.page.gather import gather
from pellucid.surfaces.page.note import note
from pellucid.surfaces.page.page import page
from pellucid.surfaces.trackers.contents import contents_of

# The longest run of words that is compared.
MOST = 4
ARTICLES = ("a", "an", "the")


def bowl(trial: Trial) -> float:
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.6) ** 2


def both(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    return x**2 + y, (x - 1) ** 2 + y


def stopped(trial: Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    for step in range(1, 9):
        trial.report(x + 1 / step, step)
        if trial.number > 8 and x > 0.5 and step > 5:
            raise optuna.TrialPruned
    return x + 0.125


def fails(trial: Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    if x > 0.6:
        raise RuntimeError("too large")
    return x


def constrained(trial: Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    trial.set_constraint("excess", x - 0.6)
    return (x - 0.8) ** 2


def ours(seed: int) -> BaseSampler:
    return pellucid.BayesianSampler(seed=seed, warn_independent_sampling=False)


KINDS: dict[str, tuple[Callable[[Trial], object], Callable[[int], BaseSampler], int, int]] = {
    "settled": (lambda trial: bowl(trial) + trial.suggest_float("z", 0, 1), ours, 1, 30),
    "begun": (bowl, ours, 1, 14),
    "sampled": (bowl, ours, 1, 5),
    "conditional": (conditional, ours, 1, 30),
    "another sampler": (conditional, lambda seed: TPESampler(seed=seed), 1, 20),
    "several": (both, ours, 2, 16),
    "stopped": (stopped, lambda seed: RandomSampler(seed=seed), 1, 25),
    "failing": (fails, lambda seed: RandomSampler(seed=seed), 1, 30),
    "constrained": (constrained, ours, 1, 20),
    "one": (bowl, ours, 1, 1),
    "empty": (bowl, ours, 1, 0),
    "empty of several": (both, ours, 2, 0),
}


@cache
def study_of(kind: str) -> Study:
    objective, sampler, n_objectives, n_trials = KINDS[kind]
    study = optuna.create_study(study_name=kind, directions=["minimize"] * n_objectives, sampler=sampler(0))
    study.optimize(objective, n_trials=n_trials, catch=(RuntimeError,))  # type: ignore[arg-type]
    return study


@cache
def gathered(kind: str) -> Overview:
    return gather(study_of(kind), progress=False)


def repeated(title: str, text: str) -> str:
    """The words at the end of the title with which the text begins, articles aside. A sentence is no title."""
    if title.endswith("."):
        return ""
    before, after = (re.findall(r"\w+", part.lower()) for part in (title, text))
    while after and after[0] in ARTICLES:
        after = after[1:]
    return next((" ".join(after[:k]) for k in range(1, MOST + 1) if before[-k:] == after[:k] and before), "")


def of_lines(text: str) -> Iterator[tuple[str, str]]:
    """Titles of lines as the command line prints them."""
    for line in text.splitlines()[1:]:
        title, found, rest = line.strip().partition(": ")
        if found:
            yield title, rest


def of_markdown(text: str) -> Iterator[tuple[str, str]]:
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = section.partition("\n")
        yield title, rest.strip()


class Headings(HTMLParser):
    """Titles of a page, each with the text after it."""

    TITLES = ("h2", "h3", "summary", "label")

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        self._title, self._inside, self._hidden, self._waiting = "", False, False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.TITLES:
            if self._waiting:  # A title right after another one.
                self.pairs.append((self._title, ""))
            self._before = self._title if self._waiting else ""
            self._title, self._inside = "", True
        self._hidden = self._hidden or tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.TITLES:
            self._inside, self._waiting = False, True
            if self._before:
                self.pairs.append((self._before, self._title))
        self._hidden = self._hidden and tag not in ("script", "style")

    def handle_data(self, data: str) -> None:
        if self._hidden or not data.strip():
            return
        if self._inside:
            self._title += data
        elif self._waiting:
            self.pairs.append((self._title, data))
            self._waiting = False


def of_page(html: str) -> list[tuple[str, str]]:
    parser = Headings()
    parser.feed(html)
    return parser.pairs


def asked(kind: str) -> Iterator[list[Question[Any]]]:
    """What the command line can ask about a study: without options, and with each of them."""
    beliefs = Beliefs(StudyView.whole(study_of(kind)))
    view = beliefs.view
    yield overview(beliefs, None)
    for trial in view.trials[-3:]:
        yield requested(beliefs, Subject(trial=trial.number), None)
        for objective in range(len(view.objectives)):
            yield requested(beliefs, Subject(trial=trial.number), objective)
    for name in {name for trial in view.trials for name in trial.params}:
        yield requested(beliefs, Subject(params=(name,)), None)
    if kind in ("failing", "several"):
        yield requested(beliefs, Subject(goal=GoalName.FAILED if kind == "failing" else GoalName.FRONT), None)


@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_the_command_line_read_on(kind: str) -> None:
    """The server for agents says the same lines."""
    view, lines = StudyView.whole(study_of(kind)), 0
    for questions in asked(kind):
        for title, text in of_lines(answers_text(view, place_of("sqlite:///a.db"), answers_to(questions))):
            assert repeated(title, text) == "", f"{title}: {text}"
            lines += 1
    assert lines > 2


@pytest.mark.parametrize("kind", KINDS)
def test_sections_of_the_note_read_on(kind: str) -> None:
    sections = list(of_markdown(note(gathered(kind), "trials/")))
    assert len(sections) >= 5
    for title, text in sections:
        assert repeated(title, text) == "", f"{title}: {text}"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("empty")])
def test_sections_of_trackers_read_on(kind: str) -> None:
    sections = list(of_markdown(contents_of(gathered(kind)).description))
    assert len(sections) >= 4
    for title, text in sections:
        assert repeated(title, text) == "", f"{title}: {text}"


@pytest.mark.parametrize("kind", KINDS)
def test_cards_and_sections_of_the_page_read_on(kind: str) -> None:
    pairs = of_page(page(gathered(kind)))
    assert len(pairs) >= 4
    for title, text in pairs:
        assert repeated(title, text) == "", f"{title}: {text}"


def test_these_studies_are_both_stopped_and_continued() -> None:
    """So that the replies to both verdicts are read."""
    verdicts = {pellucid.stopping_verdict(study_of(kind)).stop for kind in ("settled", "begun")}
    assert verdicts == {True, False}


@pytest.mark.parametrize(
    ("title", "text", "words"),
    [
        ("What to use", "Use x=1.", "use"),
        ("Can I stop?", "Stop: after 40 trials.", "stop"),
        ("Why trial 5", "Trial 5 was proposed.", "trial 5"),
        ("What x does at best", "The best value of x is 1.", "best"),
        ("What matters", "`x` matters most.", ""),
        ("Widen `x`.", "`x` has only been tried up to 3.", ""),
        ("Were predictions true", "Predictions were too sure.", ""),
        ("", "", ""),
    ],
)
def test_repeated_words_are_found(title: str, text: str, words: str) -> None:
    assert repeated(title, text) == words
