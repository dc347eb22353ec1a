"""Why this trial: the trials that can be picked, and what the page says about each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optuna.trial import FrozenTrial

from pellucid.answers.base import Overview
from pellucid.answers.questions.proposal import explained, unexplained, words_about
from pellucid.answers.questions.trials import course
from pellucid.surfaces.page.figures import PageFigures
from pellucid.surfaces.page.markup import Markup, tag
from pellucid.surfaces.page.trial_table import last_report, returned
from pellucid.words import value_text

# A list of more trials is no help, and a page stays small with many parameters too.
_MOST_PICKED, _MOST_VALUES = 1000, 20_000


def picker(overview: Overview) -> Iterator[Markup]:
    """A list of trials, and places for what is said about the one that is picked."""
    chosen, trials, history = picks(overview), overview.view.trials, course(overview)
    numbers = list(explained(overview))
    first = numbers[0] if numbers else trials[chosen[-1]].number
    options = []
    for i in chosen:
        trial = trials[i]
        text = f"trial {trial.number}: {_outcome(overview, trial, history.states[i])}"
        if history.feasible and history.feasible[i] is False:
            text += ", not feasible"
        label = f"{text}, explained" if trial.number in numbers else text
        options.append(tag("option", label, value=str(trial.number), selected=trial.number == first))
    yield tag(
        "div",
        tag("label", "Pick one: ", for_="trial"),
        tag("button", "◀", type="button", id="before", aria_label="trial before"),
        tag("select", *options, id="trial"),
        tag("button", "▶", type="button", id="after", aria_label="trial after"),
        class_="picker",
    )
    if len(chosen) < len(trials):
        yield tag(
            "p",
            f"{len(chosen)} of {len(trials)} trials can be picked: the explained ones, and an even selection.",
            class_="soft",
        )
    yield tag("div", id="trial-words", aria_live="polite")
    yield tag("div", tag("div", id="trial-figure", role="img", aria_label="contributions"), class_="figure")
    yield tag("table", id="trial-params")
    yield copies(None)


def copies(trial: int | None) -> Markup:
    """Buttons that copy the configuration of a trial; without a number, of the trial that is picked."""
    kinds = (("python", "Python"), ("json", "JSON"), ("flags", "command line"))
    number = {} if trial is None else {"data_trial": str(trial)}
    buttons = [tag("button", label, type="button", data_copy=kind, **number) for kind, label in kinds]
    return tag("p", "Copy as ", *buttons, tag("span", class_="copied soft", role="status"), class_="copies")


def _outcome(overview: Overview, trial: FrozenTrial, state: str) -> str:
    """What a trial returned; with several objectives, by their names. Of one without a value, its state."""
    values = [value_text(value) for value in returned(trial)]
    if len(values) > 1:
        named = zip(overview.view.objectives, values, strict=True)
        return ", ".join(f"{objective.name} {value}" for objective, value in named)
    report = last_report(trial)
    if values or report is None:
        return values[0] if values else state
    return f"{state}, {value_text(report[1])} at step {report[0]}"


def picks(overview: Overview) -> list[int]:
    """Positions of the trials that can be picked: all, or the explained ones and an even selection."""
    trials = overview.view.trials
    n = len(trials)
    most = min(_MOST_PICKED, _MOST_VALUES // max([1, *(len(trial.params) for trial in trials)]))
    if n <= most:
        return list(range(n))
    numbers = explained(overview)
    even = {round(i * (n - 1) / (most - 1)) for i in range(most)}
    return sorted(even | {i for i, trial in enumerate(trials) if trial.number in numbers})


def picked(overview: Overview, figures: PageFigures) -> list[dict[str, Any]]:
    """What the page says about each trial that can be picked. Its values are in the table of all trials."""
    numbers = [overview.view.trials[i].number for i in picks(overview)]
    known, missing, words = explained(overview), unexplained(overview), words_about(overview, numbers)
    picked: list[dict[str, Any]] = []
    for number in numbers:
        why = known.get(number)
        figure = None if why is None else figures.keep(f"trial-{number}", why)
        picked.append({"number": number, "words": words[number], "figure": figure, "explicable": number not in missing})
    return picked
