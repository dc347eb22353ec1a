"""Why this trial: the trials that can be picked, and what the page says about each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from optuna.trial import FrozenTrial

from pellucid.provenance import ModelReceipt, Receipt
from pellucid.records import ProposalExplanation
from pellucid.reporting.answers import copies
from pellucid.reporting.figures import PageFigures
from pellucid.reporting.gather import StudyAnswers
from pellucid.reporting.markup import Markup, tag
from pellucid.reporting.trial_table import last_report, returned
from pellucid.words import kind_of, value_text

# A list of more trials is no help, and a page stays small with many parameters too.
_MOST_PICKED, _MOST_VALUES = 1000, 20_000


def picker(study: StudyAnswers) -> Iterator[Markup]:
    """A list of trials, and places for what is said about the one that is picked."""
    chosen = picks(study)
    explained = {explanation.trial for explanation in study.explanations}
    first = study.explanations[0].trial if study.explanations else study.trials[chosen[-1]].number
    options = []
    for i in chosen:
        trial = study.trials[i]
        text = f"trial {trial.number}: {_outcome(study, trial, study.history.states[i])}"
        if study.history.feasible and study.history.feasible[i] is False:
            text += ", not feasible"
        label = f"{text}, explained" if trial.number in explained else text
        options.append(tag("option", label, value=str(trial.number), selected=trial.number == first))
    yield tag(
        "div",
        tag("label", "Pick one: ", for_="trial"),
        tag("button", "◀", type="button", id="before", aria_label="trial before"),
        tag("select", *options, id="trial"),
        tag("button", "▶", type="button", id="after", aria_label="trial after"),
        class_="picker",
    )
    if len(chosen) < len(study.trials):
        yield tag(
            "p",
            f"{len(chosen)} of {len(study.trials)} trials can be picked: the explained ones, and an even selection.",
            class_="soft",
        )
    yield tag("div", id="trial-words", aria_live="polite")
    yield tag("div", tag("div", id="trial-figure", role="img", aria_label="contributions"), class_="figure")
    yield tag("table", id="trial-params")
    yield copies(None)


def _outcome(study: StudyAnswers, trial: FrozenTrial, state: str) -> str:
    """What a trial returned; with several objectives, by their names. Of one without a value, its state."""
    values = [value_text(value) for value in returned(trial)]
    if len(values) > 1:
        return ", ".join(f"{each.name} {value}" for each, value in zip(study.each, values, strict=True))
    report = last_report(trial)
    if values or report is None:
        return values[0] if values else state
    return f"{state}, {value_text(report[1])} at step {report[0]}"


def picks(study: StudyAnswers) -> list[int]:
    """Positions of the trials that can be picked: all, or the explained ones and an even selection."""
    n = len(study.trials)
    most = min(_MOST_PICKED, _MOST_VALUES // max([1, *(len(trial.params) for trial in study.trials)]))
    if n <= most:
        return list(range(n))
    explained = {explanation.trial for explanation in study.explanations}
    even = {round(i * (n - 1) / (most - 1)) for i in range(most)}
    return sorted(even | {i for i, trial in enumerate(study.trials) if trial.number in explained})


def picked(study: StudyAnswers, figures: PageFigures) -> list[dict[str, Any]]:
    """What the page says about each trial that can be picked. Its values are in the table of all trials."""
    explained = {explanation.trial: explanation for explanation in study.explanations}
    trials: list[dict[str, Any]] = []
    for i in picks(study):
        trial, receipt = study.trials[i], study.receipts[i]
        why = explained.get(trial.number)
        reason = study.unexplained.get(trial.number)
        # The reason begins with the words of the receipt if the trial was sampled.
        said = None if receipt is None or not receipt.proposed else _unsaid(receipt, why)
        words = [str(text) for text in (why, said, reason) if text]
        figure = None if why is None else figures.keep(f"trial-{trial.number}", why)
        trials.append({"number": trial.number, "words": words, "figure": figure, "explicable": reason is None})
    return trials


def _unsaid(receipt: Receipt, why: ProposalExplanation | None) -> str:
    """What a receipt says without what the explanation has said already: of a ranking all, of a model its reasons."""
    if why is None or not any(kind_of(note) == "receipt" for note in why.notes):
        return str(receipt)
    return str(replace(receipt, phase="", turn="")) if isinstance(receipt, ModelReceipt) else ""
