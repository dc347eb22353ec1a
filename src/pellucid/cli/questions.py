"""The questions that the command line asks about a study: entries of the catalogue, each about one subject.

All of them share one overview of the study, so that what several answers need is computed once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from pellucid.answers.base import WHOLE, GoalName, Overview, Question, Subject, Takes
from pellucid.answers.catalogue import CATALOGUE
from pellucid.cli.errors import Mistake

if TYPE_CHECKING:
    from pellucid.beliefs import Beliefs
    from pellucid.study.view import StudyView


def objectives_data(view: StudyView) -> dict[str, Any]:
    """What a study optimises, for JSON. `direction`: null if there are several."""
    listed = [{"name": objective.name, "direction": objective.direction} for objective in view.objectives]
    return {"direction": None if view.several else view.objectives[0].direction, "objectives": listed}


def conclusions(beliefs: Beliefs) -> list[Question[Any]]:
    """The questions at the end of a run: what to use, whether to stop, and what stopping trials early saved."""
    answers = Overview(beliefs)
    return [question for answer in CATALOGUE if answer.concludes for question in answers.listed(answer)]


def overview(beliefs: Beliefs, objective: str | int | None) -> list[Question[Any]]:
    """The questions that are asked without options, in the order in which a person asks them.

    `objective`: only what concerns this one, or a constraint.
    """
    answers = Overview(beliefs, _named(beliefs.view, objective))
    return [question for answer in CATALOGUE for question in answers.listed(answer)]


def why_not_asked(beliefs: Beliefs, objective: str | int | None, keys: Collection[str]) -> str:
    """Why the overview asks no question with one of the keys."""
    answers = Overview(beliefs, _named(beliefs.view, objective))
    reasons = [answers.reason(answer) for answer in CATALOGUE if answer.key in keys and answer.listed is not None]
    return next(reason for reason in reasons if reason is not None)


def requested(
    beliefs: Beliefs, trial: int | None, params: tuple[str, ...], goal: GoalName | None, objective: str | int | None
) -> list[Question[Any]]:
    """The questions that the options ask."""
    view = beliefs.view
    _check_named(view, trial, params)
    if goal in (GoalName.FRONT, GoalName.FAILED):
        _check_whole(view, goal, objective)
    answers = Overview(beliefs, _named(beliefs.view, objective))
    asked = []
    if trial is not None:
        asked.append((Takes.TRIAL, Subject(trial=trial)))
    if params:
        asked.append((Takes.PARAMS, Subject(params=params)))
    if goal is not None:
        asked.append((Takes.GOAL, Subject(goal=goal)))
    questions = []
    for takes, named in asked:
        for answer in CATALOGUE:
            if answer.takes is takes:
                questions += answers.named(answer, named)
            elif named.goal is not None and answer.with_goal is named.goal:
                questions += answers.listed(answer)
    return questions


def _named(view: StudyView, objective: str | int | None) -> Subject:
    """An objective or a constraint that the user has named."""
    if objective is None:
        return WHOLE
    target = view.target(objective)
    return Subject(constraint=target.name) if target.is_constraint else Subject(objective=target.column)


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
    if objective is not None and (view.several or view.target(objective).is_constraint):
        raise Mistake(
            f"--goal {goal.value} is about trials as a whole, but got --objective {objective}: "
            "leave --objective out, or use --goal best or worst."
        )
