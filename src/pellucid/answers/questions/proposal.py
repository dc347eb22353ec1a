"""Why a trial was proposed, or what was predicted of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from optuna.trial import TrialState

from pellucid.answers.base import Overview, Subject, TextTable
from pellucid.answers.catalogue import PROPOSAL, RECOMMENDATION
from pellucid.answers.finding import NotKnown
from pellucid.answers.history import History
from pellucid.answers.on_pages import HISTORY, PATHS
from pellucid.answers.pieces import Drawing, Picker, Piece, Trial, soft, text
from pellucid.answers.proposals.records import DesirabilityPaths
from pellucid.answers.recommend import Recommendation
from pellucid.provenance import ModelReceipt
from pellucid.study.trials import nobodys_choice, repeated
from pellucid.words import OBJECTIVE, NoAnswerYet, called, kind_of, number_text

if TYPE_CHECKING:
    from pellucid.answers.proposals.records import ProposalExplanation
    from pellucid.provenance import Receipt
    from pellucid.study.view import StudyView

# Explanations take longer with more trials and parameters, so the number of explained proposals shrinks with the
# product of both: together they take about a second. What a front gains takes ten times as long.
_MOST_EXPLAINED, _FEWEST_EXPLAINED, _WORK = 16, 1, 10_000
_MOST_OF_SEVERAL = 10
# Fewer explained proposals are no course of a run.
_FEWEST_ON_A_PATH = 4
_OVER_THE_RUN = "What each parameter contributed to the proposals over the run."


def proposal(overview: Overview, subject: Subject) -> ProposalExplanation:
    """Why this trial. That rests on what was known when it began, so that only the end of the trial changes it."""
    from pellucid.answers.proposals.explanation import explanation_of

    if subject.trial is None:
        raise NoAnswerYet("The study has no finished trial yet, so there is no proposal to explain.")
    view, kept = overview.view, overview.lasting
    trial = view.by_number.get(subject.trial)
    if subject.part or trial is None or not trial.state.is_finished():
        target = overview.target(subject) if subject.part else None
        return explanation_of(overview.beliefs, subject.trial, target=target)
    key = (PROPOSAL.key, subject.trial, trial.state, view.objectives)
    if key not in kept:
        kept[key] = explanation_of(overview.beliefs, subject.trial)
    return cast("ProposalExplanation", kept[key])


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


def over_the_run(overview: Overview, part: Subject) -> Sequence[Subject]:
    """The trial to use, and others that show the run."""
    others = spread(overview, part)
    use = overview.ask(RECOMMENDATION)
    used = [replace(overview.part, trial=use.trial)] if isinstance(use, Recommendation) else []
    return list(dict.fromkeys([*used, *others]))[: len(others)]


def spread(overview: Overview, _: Subject) -> Sequence[Subject]:
    """The best trial or the latest of the front, the last proposal, and proposals spread evenly over the run; fewer if
    explanations cost more."""
    view = overview.view
    ended = [trial.number for trial in view.trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    if not ended:
        return []
    width = max(len(trial.params) for trial in view.trials)
    limit = _MOST_OF_SEVERAL if view.several else _MOST_EXPLAINED
    most = max(_FEWEST_EXPLAINED, min(limit, _WORK // max(len(ended) * width, 1)))
    proposed = _proposed(view) or ended
    even = [proposed[round(i * (len(proposed) - 1) / max(most - 1, 1))] for i in range(most)]
    numbers = list(dict.fromkeys([*_best(overview), proposed[-1], *even]))[:most]
    return [replace(overview.part, trial=number) for number in numbers]


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


def explained(overview: Overview) -> dict[int, ProposalExplanation]:
    """The explanations over the run, by the number of their trial."""
    asked = {question.subject.trial: question.answered() for question in overview.shown(PROPOSAL)}
    return {
        number: answer for number, answer in asked.items() if number is not None and not isinstance(answer, NotKnown)
    }


def unexplained(overview: Overview) -> dict[int, str]:
    """Trials without an explanation, and why: no model proposed them, or they were asked about in vain."""
    from pellucid.answers.proposals.cases import without_proposal

    receipts = overview.view.own_receipts
    sampled = {number: without_proposal(receipt) for number, receipt in receipts.items() if not receipt.proposed}
    asked = {question.subject.trial: question.answered() for question in overview.shown(PROPOSAL)}
    missing = {
        number: answer.reason for number, answer in asked.items() if number is not None and isinstance(answer, NotKnown)
    }
    return {**sampled, **missing}


def words_about(overview: Overview, numbers: Iterable[int]) -> dict[int, list[str]]:
    """What is said about each of these trials: why it was proposed, and what its receipt says besides, or why that
    is not known. The reason begins with the words of the receipt if the trial was sampled."""
    known, reasons = explained(overview), unexplained(overview)
    words = {}
    for number in numbers:
        why, receipt = known.get(number), overview.view.own_receipts.get(number)
        said = None if receipt is None or not receipt.proposed else _unsaid(receipt, why)
        words[number] = [str(text) for text in (why, said, reasons.get(number)) if text]
    return words


def _unsaid(receipt: Receipt, why: ProposalExplanation | None) -> str:
    """What a receipt says without what the explanation has said already: of a ranking all, of a model its reasons."""
    if why is None or not any(kind_of(note) == "receipt" for note in why.notes):
        return str(receipt)
    return str(replace(receipt, phase="", turn="")) if isinstance(receipt, ModelReceipt) else ""


def paths(overview: Overview, _: Subject) -> DesirabilityPaths:
    """The explanations over the run, if there are enough for a line."""
    known = list(explained(overview).values())
    chosen = [explanation for explanation in known if explanation.proposed] or known
    if len(chosen) < _FEWEST_ON_A_PATH:
        raise NoAnswerYet(f"Fewer than {_FEWEST_ON_A_PATH} proposals are explained, which is no course of a run.")
    return DesirabilityPaths(tuple(sorted(chosen, key=lambda explanation: explanation.trial)), {}, _OVER_THE_RUN)


# ---------------------------------------------------------------------- on a page and in a note


def section(overview: Overview, _: Subject) -> Iterator[Piece]:
    """The reader picks a trial; the dashboard has the last one."""
    if not overview.view.trials:
        return
    yield from soft(without_reasons(overview))
    yield Picker()
    last = _last(overview)
    if last is not None:
        yield Drawing("why", last, on="dashboard")


def over_time(overview: Overview, _: Subject) -> Iterator[Piece]:
    known = overview.found(PATHS)
    if known is not None:
        yield Drawing("paths", known, top=60)


def _last(overview: Overview) -> ProposalExplanation | None:
    known = explained(overview)
    return known[max(known)] if known else None


def why_it_was_chosen(overview: Overview) -> str:
    """About the last trial, or the last one of a large study that is explained."""
    last, trials = _last(overview), overview.view.trials
    newest = trials[-1].number if trials else None
    latest = last is None or last.trial == newest
    return "Why the last configuration?" if latest else "Why one of the last configurations?"


def chapter(overview: Overview) -> Iterator[Piece]:
    last = _last(overview)
    if last is None:
        reasons = unexplained(overview)
        yield text(reasons[max(reasons)] if reasons else "No trial could be explained.")
        return
    yield text(last.sentence)
    yield text("See ", Trial(last.trial, f"trial {last.trial}"), ".")


def without_reasons(overview: Overview) -> list[str]:
    """Trials without a receipt of their own: repeated, enqueued by the user, or chosen by another sampler."""
    view = overview.view
    begun = [t for t in view.trials if not nobodys_choice(t) and t.state != TrialState.WAITING]
    without = [t for t in begun if view.own_receipts.get(t.number) is None]
    again = sum(repeated(t) is not None for t in without)
    enqueued = sum(repeated(t) is None and "fixed_params" in t.system_attrs for t in without)
    foreign = len(without) - again - enqueued
    reasons = []
    if foreign:
        who = "ran this study" if foreign == len(begun) else f"chose {foreign} of {len(begun)} trials"
        ours = "“why this trial” is our reconstruction" + ("" if foreign == len(begun) else " for those")
        use = "use `pellucid.BayesianSampler` to have reasons recorded"
        reasons.append(f"Another sampler {who}, so {ours}: {use}.")
    if enqueued:
        reasons.append(f"{enqueued} of {len(begun)} trials were enqueued: ask whoever chose them for the reasons.")
    if again:
        reasons.append(f"{again} of {len(begun)} trials repeat others whose processes had died: look at those for why.")
    return reasons
