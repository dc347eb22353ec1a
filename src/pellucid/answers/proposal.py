"""Why a trial was proposed, or what was predicted of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from optuna.trial import TrialState

from pellucid.answers.base import Overview, Subject, TextTable
from pellucid.answers.catalogue import HISTORY, PROPOSAL, RECOMMENDATION
from pellucid.records import DesirabilityPaths, History, NotKnown, Recommendation
from pellucid.words import OBJECTIVE, NoAnswerYet, called, number_text

if TYPE_CHECKING:
    from pellucid.records import ProposalExplanation
    from pellucid.study.view import StudyView

# Explanations take longer with more trials and parameters, so the number of explained proposals shrinks with the
# product of both: together they take about a second. What a front gains takes ten times as long.
_MOST_EXPLAINED, _FEWEST_EXPLAINED, _WORK = 16, 1, 10_000
_MOST_OF_SEVERAL = 10
# Fewer explained proposals are no course of a run.
_FEWEST_ON_A_PATH = 4
_OVER_THE_RUN = "What each parameter contributed to the proposals over the run."


def proposal(overview: Overview, subject: Subject) -> ProposalExplanation:
    from pellucid.explain.proposals.explanation import explanation_of

    if subject.trial is None:
        raise NoAnswerYet("The study has no finished trial yet, so there is no proposal to explain.")
    target = overview.target(subject) if subject.part else None
    return explanation_of(overview.beliefs, subject.trial, target=target)


def contributions(explanation: ProposalExplanation) -> TextTable:
    """Every parameter of a proposal, the largest contribution first."""
    terms = explanation.term_names
    unit = called(explanation.objective) if explanation.unit == OBJECTIVE else explanation.unit
    columns = ("parameter", "value", f"contribution ({unit})", f"{explanation.level:.0%} interval", *terms)
    rows = [
        (
            contribution.name,
            number_text(contribution.value) if isinstance(contribution.value, float) else str(contribution.value),
            number_text(contribution.total, "+.3g"),
            f"[{number_text(contribution.low, '.3g')}, {number_text(contribution.high, '.3g')}]",
            *(number_text(contribution.terms[term], "+.3g") for term in terms),
        )
        for contribution in sorted(explanation.contributions, key=lambda contribution: -abs(contribution.total))
    ]
    return TextTable(columns, tuple(rows))


# ---------------------------------------------------------------------- the trials that are explained


def last(overview: Overview, _: Subject) -> Sequence[Subject]:
    """The newest trial that a model of pellucid proposed; if there is none, the newest complete trial."""
    view = overview.view
    complete = [trial.number for trial in view.trials if trial.state == TrialState.COMPLETE]
    return [replace(overview.part, trial=max(_proposed(view) or complete, default=None))]


def over_the_run(overview: Overview, _: Subject) -> Sequence[Subject]:
    """The trial to use, the best one or the latest of the front, the last proposal, and proposals spread evenly over
    the run; fewer if explanations cost more."""
    view = overview.view
    ended = [trial.number for trial in view.trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    if not ended:
        return []
    width = max(len(trial.params) for trial in view.trials)
    limit = _MOST_OF_SEVERAL if view.several else _MOST_EXPLAINED
    most = max(_FEWEST_EXPLAINED, min(limit, _WORK // max(len(ended) * width, 1)))
    proposed = _proposed(view) or ended
    even = [proposed[round(i * (len(proposed) - 1) / max(most - 1, 1))] for i in range(most)]
    use = overview.ask(RECOMMENDATION)
    used = [use.trial] if isinstance(use, Recommendation) else []
    numbers = list(dict.fromkeys([*_best(overview), proposed[-1], *even]))[:most]
    return [replace(overview.part, trial=number) for number in list(dict.fromkeys([*used, *numbers]))[: len(numbers)]]


def _proposed(view: StudyView) -> list[int]:
    """Numbers of the trials that a model of pellucid proposed."""
    return [number for number, receipt in view.own_receipts.items() if receipt.proposed]


def _best(overview: Overview) -> list[int]:
    """The number of the best complete, feasible trial, or of the latest on the front, if there is one."""
    history = overview.ask(HISTORY)
    if isinstance(history, NotKnown):
        return []
    best = history.best_trial if isinstance(history, History) else max(history.front, default=None)
    return [] if best is None else [best]


def paths(overview: Overview, _: Subject) -> DesirabilityPaths:
    """The explanations over the run, if there are enough for a line."""
    asked = [overview.ask(PROPOSAL, question.subject) for question in overview.shown(PROPOSAL)]
    known = [answer for answer in asked if not isinstance(answer, NotKnown)]
    chosen = [explanation for explanation in known if explanation.proposed] or known
    if len(chosen) < _FEWEST_ON_A_PATH:
        raise NoAnswerYet(f"Fewer than {_FEWEST_ON_A_PATH} proposals are explained, which is no course of a run.")
    return DesirabilityPaths(tuple(sorted(chosen, key=lambda explanation: explanation.trial)), {}, _OVER_THE_RUN)
