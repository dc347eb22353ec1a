"""The questions that the command line asks about a study, and how each answer is printed.

All of them take the same view of the study, so that a model that several answers need is fitted once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pellucid.cli.terminal import TextTable

if TYPE_CHECKING:
    from pellucid.goals import Goal
    from pellucid.records import (
        Finding,
        HsicImportance,
        NotKnown,
        ParameterRanges,
        ProposalExplanation,
    )
    from pellucid.study.view import StudyView

Answer = TypeVar("Answer", bound="Finding")


class GoalName(str, Enum):
    BEST = "best"
    WORST = "worst"
    FAILED = "failed"


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """A question about a study, and how its answer is printed.

    key     of the answer in JSON;  title  the question, as it stands before the answer
    text    the answer in words;  table  details, printed if the question was asked with an option
    """

    key: str
    title: str
    ask: Callable[[StudyView], Answer]
    text: Callable[[Answer], str] = str
    table: Callable[[Answer], TextTable] | None = None

    def answered(self, view: StudyView) -> Answer | NotKnown:
        """The answer, or why there is none yet."""
        from pellucid.records import attempt

        return attempt(lambda: self.ask(view))


def conclusions() -> list[Question[Any]]:
    """The questions at the end of a run: what to use, and whether to stop."""
    from pellucid.explain.recommend import recommendation_of
    from pellucid.explain.stopping import stopping_verdict_of

    return [
        Question("recommendation", "What to use", recommendation_of),
        Question("verdict", "Can I stop", stopping_verdict_of),
    ]


def overview() -> list[Question[Any]]:
    from pellucid.explain.calibration import calibration_of
    from pellucid.explain.importance.shares import shares_of
    from pellucid.explain.proposals.explanation import explanation_of
    from pellucid.explain.ranges import ranges_of

    return [
        *conclusions(),
        Question("importance", "What matters", shares_of),
        Question("ranges", "Which ranges to change", ranges_of, text=_advice),
        Question("calibration", "Were predictions true", calibration_of),
        Question("proposal", "Why the last proposal", lambda view: explanation_of(view, _last_proposal(view))),
    ]


def requested(trial: int | None, params: tuple[str, ...], goal: GoalName | None) -> list[Question[Any]]:
    """The questions that the options ask."""
    from pellucid.explain.effects.dependence import effects_of
    from pellucid.explain.effects.profile import profiles_of
    from pellucid.explain.importance.analysis import importance_for
    from pellucid.explain.proposals.explanation import explanation_of

    questions: list[Question[Any]] = []
    if trial is not None:
        number = trial
        questions.append(
            Question("proposal", f"Why trial {number}", lambda view: explanation_of(view, number), table=_contributions)
        )
    if params:
        title = f"What {' and '.join(params)} {'does' if len(params) == 1 else 'do'}"
        if len(params) == 1:
            questions.append(Question("profile", f"{title} at best", lambda view: profiles_of(view, params)[0]))
        questions.append(Question("dependence", f"{title} on average", lambda view: effects_of(view, [params])[0]))
    if goal is not None:
        chosen_goal = _goal(goal)
        questions.append(
            Question("importance", "What matters", lambda view: importance_for(view, chosen_goal), table=_importances)
        )
    return questions


def _goal(name: GoalName) -> Goal:
    from pellucid.goals import best, failed, worst

    match name:
        case GoalName.BEST:
            return best()
        case GoalName.WORST:
            return worst()
        case GoalName.FAILED:
            return failed()


def _last_proposal(view: StudyView) -> int:
    """The newest trial that a model of pellucid proposed; if there is none, the newest complete trial."""
    from optuna.trial import TrialState

    proposed = [number for number, receipt in view.own_receipts.items() if receipt.proposed]
    complete = [trial.number for trial in view.trials if trial.state == TrialState.COMPLETE]
    if not proposed and not complete:
        raise ValueError("The study has no finished trial yet, so there is no proposal to explain.")
    return max(proposed or complete)


# ---------------------------------------------------------------------- how answers are printed


def _advice(ranges: ParameterRanges) -> str:
    """Every piece of advice and what could not be judged; without advice, the sentence that says so."""
    return " ".join([*map(str, ranges.advice), *ranges.notes]) if ranges.advice else str(ranges)


def _contributions(explanation: ProposalExplanation) -> TextTable:
    """Every parameter of a proposal, the largest contribution first."""
    terms = explanation.term_names
    columns = ("parameter", "value", f"contribution ({explanation.unit})", f"{explanation.level:.0%} interval", *terms)
    rows = [
        (
            contribution.name,
            f"{contribution.value:.4g}" if isinstance(contribution.value, float) else str(contribution.value),
            f"{contribution.total:+.3g}",
            f"[{contribution.low:.3g}, {contribution.high:.3g}]",
            *(f"{contribution.terms[term]:+.3g}" for term in terms),
        )
        for contribution in sorted(explanation.contributions, key=lambda contribution: -abs(contribution.total))
    ]
    return TextTable(columns, tuple(rows))


def _importances(importance: HsicImportance) -> TextTable:
    rows = [
        (
            parameter.name,
            f"{parameter.index:.3g}",
            f"{parameter.stderr:.2g}",
            f"{parameter.p_adjusted:.2g}",
            parameter.verdict,
        )
        for parameter in importance.parameters
    ]
    return TextTable(("parameter", "HSIC", "error", "p", "verdict"), tuple(rows))
