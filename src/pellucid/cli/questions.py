"""The questions that the command line asks about a study, and how each answer is printed.

All of them take the same view of the study, so that a model that several answers need is fitted once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pellucid.cli.errors import Mistake
from pellucid.cli.terminal import TextTable

if TYPE_CHECKING:
    from pellucid.goals import Goal
    from pellucid.records import (
        Finding,
        HsicImportance,
        NotKnown,
        ParameterRanges,
        ProposalExplanation,
        StoppingVerdict,
    )
    from pellucid.study.view import StudyView

Answer = TypeVar("Answer", bound="Finding")


class GoalName(str, Enum):
    BEST = "best"
    WORST = "worst"
    FRONT = "front"
    FAILED = "failed"


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """A question about a study, and how its answer is printed.

    key        of the answer in JSON;  title  the question, as it stands before the answer
    text       the answer in words;  table  details, printed if the question was asked with an option
    objective  its name, if the question is asked about each of several
    needed     whether it is an error if the user asks and there is no answer; if not, another answer may do
    """

    key: str
    title: str
    ask: Callable[[], Answer]
    text: Callable[[Answer], str] = str
    table: Callable[[Answer], TextTable] | None = None
    objective: str = ""
    needed: bool = True

    def answered(self) -> Answer | NotKnown:
        """The answer, or why there is none yet."""
        from pellucid.records import attempt

        return attempt(self.ask)


def objectives_data(view: StudyView) -> dict[str, Any]:
    """What a study optimises, for JSON. `direction`: null if there are several."""
    listed = [{"name": objective.name, "direction": objective.direction} for objective in view.objectives]
    return {"direction": None if view.several else view.objectives[0].direction, "objectives": listed}


def conclusions(view: StudyView) -> list[Question[Any]]:
    """The questions at the end of a run: what to use, whether to stop, and what stopping trials early saved."""
    return [*_decisions(view), *_stops(view)]


def _decisions(view: StudyView) -> list[Question[Any]]:
    """What to use, and whether to stop."""
    from pellucid.explain.recommend import recommendation_of
    from pellucid.explain.stopping import stopping_verdict_of

    if view.several:
        from pellucid.explain.front_stopping import front_verdict_of
        from pellucid.explain.fronts.answer import front_of

        return [
            Question("recommendation", "Best configurations", lambda: front_of(view)),
            Question("verdict", "Can I stop", lambda: front_verdict_of(view), text=_reply),
        ]
    return [
        Question("recommendation", "Best configuration", lambda: recommendation_of(view)),
        Question("verdict", "Can I stop", lambda: stopping_verdict_of(view), text=_reply),
    ]


def _stops(view: StudyView) -> list[Question[Any]]:
    """What stopping trials early saved and cost, if any was."""
    from pellucid.explain.pruning.record import pruning_record_of

    if view.several or not len(view.stopped):
        return []
    return [Question("pruning", "What stopping early saved", lambda: pruning_record_of(view))]


def overview(view: StudyView, objective: str | int | None) -> list[Question[Any]]:
    """The questions that are asked without options, in the order in which a person asks them.

    `objective`: only what concerns this one, or a constraint.
    """
    from pellucid.explain.calibration import calibration_of
    from pellucid.explain.importance.shares import shares_of
    from pellucid.explain.proposals.explanation import explanation_of
    from pellucid.explain.ranges import ranges_of

    about = view if objective is None else view.about(objective)
    part = objective is not None and (view.several or about.constraint is not None)
    # What is no good for one objective may be good for another, and for a constraint all that satisfies it is good.
    one = about.constraint is None and (part or not view.several)
    return [
        *([] if part else _decisions(view)),
        *_of_each("importance", "What matters", view, objective, shares_of),
        *([Question("ranges", "Which ranges to change", lambda: ranges_of(about), text=_advice)] if one else []),
        *([] if part else [*_tradeoffs(view), *_stops(view), *_failures(view)]),
        *_of_each("calibration", "Were predictions true", view, objective, calibration_of),
        Question(
            "proposal",
            "What was predicted last"
            if part
            else f"Why the last {'proposal' if _proposals(view) else 'configuration'}",
            lambda: explanation_of(about, _last_proposal(view), predicted=part),
        ),
    ]


def _failures(view: StudyView) -> list[Question[Any]]:
    """The settings at which trials fail, if any did."""
    from optuna.trial import TrialState

    from pellucid.explain.failures import failing_settings_of
    from pellucid.study.trials import interrupted

    if not any(trial.state == TrialState.FAIL and not interrupted(trial) for trial in view.trials):
        return []
    return [Question("failures", "Why trials fail", lambda: failing_settings_of(view), needed=False)]


def _tradeoffs(view: StudyView) -> list[Question[Any]]:
    """What one objective costs in another; of more than two, for every two of them."""
    from itertools import combinations

    from pellucid.explain.fronts.tradeoff import tradeoff_of
    from pellucid.pareto import MOST_OBJECTIVES

    if len(view.objectives) > MOST_OBJECTIVES:
        return []
    pairs = list(combinations(range(len(view.objectives)), 2))
    names = [" and ".join(view.objectives[i].name for i in pair) for pair in pairs]
    return [
        Question(
            "tradeoff",
            "What one costs in the other",
            lambda pair=pair: tradeoff_of(view, pair),  # type: ignore[misc]
            objective=name if len(pairs) > 1 else "",
        )
        for pair, name in zip(pairs, names, strict=True)
    ]


def requested(
    view: StudyView, trial: int | None, params: tuple[str, ...], goal: GoalName | None, objective: str | int | None
) -> list[Question[Any]]:
    """The questions that the options ask."""
    from pellucid.explain.effects.dependence import effects_of
    from pellucid.explain.effects.profile import profiles_of
    from pellucid.explain.importance.analysis import importance_for
    from pellucid.explain.proposals.explanation import explanation_of
    from pellucid.explain.pruning.explanation import pruning_explanation_of

    _check_named(view, trial, params)
    questions: list[Question[Any]] = []
    if trial is not None:
        number, predicted = trial, objective is not None
        about = view.about(objective) if predicted else view
        stopped = not predicted and number in view.stopped.numbers
        questions.append(
            Question(
                "proposal",
                "What was predicted" if predicted else "Why this configuration",
                lambda: explanation_of(about, number, predicted=predicted),
                table=_contributions,
                needed=not stopped,
            )
        )
        if stopped:
            ask_why = lambda: pruning_explanation_of(view, number)  # noqa: E731
            questions.append(Question("pruning", "Why it was stopped", ask_why, needed=False))
    if params:
        title = f"What {' and '.join(params)} {'does' if len(params) == 1 else 'do'}"
        if len(params) == 1:
            questions += _of_each(
                "profile", f"What {params[0]} can reach", view, objective, lambda about: profiles_of(about, params)[0]
            )
        questions += _of_each(
            "dependence", f"{title} on average", view, objective, lambda about: effects_of(about, [params])[0]
        )
    if goal is not None:
        chosen_goal = _goal(goal)
        if goal in (GoalName.FRONT, GoalName.FAILED):
            _check_whole(view, goal, objective)
            questions += _failures(view) if goal == GoalName.FAILED else []
            ask = lambda: importance_for(view, chosen_goal)  # noqa: E731
            questions.append(Question("importance", "What matters", ask, table=_importances))
        else:
            questions += _of_each(
                "importance",
                "What matters",
                view,
                objective,
                lambda about: importance_for(about, chosen_goal),
                table=_importances,
            )
    return questions


def _check_named(view: StudyView, trial: int | None, params: tuple[str, ...]) -> None:
    """Raise a mistake if the study has no such trial or parameter. One without any of them has no answer yet."""
    from pellucid.words import unknown_parameter

    if trial is not None and view.trials and trial not in view.by_number:
        raise Mistake(f"The study has no trial {trial}; its trials are 0 to {max(view.by_number)}.")
    for name in params:
        if view.distributions and name not in view.distributions:
            raise Mistake(unknown_parameter(name, view.distributions))


def _check_whole(view: StudyView, goal: GoalName, objective: str | int | None) -> None:
    """Raise a mistake if a goal of whole trials is asked about a part of what they return."""
    if objective is not None and (view.several or view.about(objective).constraint is not None):
        raise Mistake(
            f"--goal {goal.value} is about trials as a whole, but got --objective {objective}: "
            "leave --objective out, or use --goal best or worst."
        )


def _of_each(
    key: str,
    title: str,
    view: StudyView,
    objective: str | int | None,
    ask: Callable[[StudyView], Answer],
    table: Callable[[Answer], TextTable] | None = None,
) -> list[Question[Any]]:
    """A question about the objective that is named, or about each of them."""
    if objective is not None or not view.several:
        about = view if objective is None else view.about(objective)
        return [Question(key, title, lambda: ask(about), table=table)]
    return [
        Question(key, title, lambda about=about: ask(about), table=table, objective=about.objective.name)  # type: ignore[misc]
        for about in view.each
    ]


def _goal(name: GoalName) -> Goal:
    from pellucid.goals import best, failed, on_the_front, worst

    match name:
        case GoalName.BEST:
            return best()
        case GoalName.WORST:
            return worst()
        case GoalName.FRONT:
            return on_the_front()
        case GoalName.FAILED:
            return failed()


def _last_proposal(view: StudyView) -> int:
    """The newest trial that a model of pellucid proposed; if there is none, the newest complete trial."""
    from optuna.trial import TrialState

    from pellucid.words import NoAnswerYet

    proposed = _proposals(view)
    complete = [trial.number for trial in view.trials if trial.state == TrialState.COMPLETE]
    if not proposed and not complete:
        raise NoAnswerYet("The study has no finished trial yet, so there is no proposal to explain.")
    return max(proposed or complete)


def _proposals(view: StudyView) -> list[int]:
    """Numbers of the trials that a model of pellucid proposed."""
    return [number for number, receipt in view.own_receipts.items() if receipt.proposed]


# ---------------------------------------------------------------------- how answers are printed


def _reply(verdict: StoppingVerdict) -> str:
    return " ".join((verdict.reply, *verdict.notes))


def _advice(ranges: ParameterRanges) -> str:
    """Every piece of advice and what could not be judged; without advice, the sentence that says so."""
    return " ".join([*map(str, ranges.advice), *ranges.notes]) if ranges.advice else str(ranges)


def _contributions(explanation: ProposalExplanation) -> TextTable:
    """Every parameter of a proposal, the largest contribution first."""
    from pellucid.words import OBJECTIVE, called, number_text

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


def _importances(importance: HsicImportance) -> TextTable:
    from pellucid.words import number_text

    rows = [
        (
            parameter.name,
            number_text(parameter.index, ".3g"),
            f"{parameter.stderr:.2g}",
            f"{parameter.p_adjusted:.2g}",
            parameter.verdict,
        )
        for parameter in importance.parameters
    ]
    return TextTable(("parameter", "HSIC", "error", "p", "verdict"), tuple(rows))
