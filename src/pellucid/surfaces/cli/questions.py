"""The questions that the command line asks about a study: entries of the catalogue, each about one subject.

All of them share one overview of the study, so that what several answers need is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pellucid.answers.base import WHOLE, Answer, GoalName, Overview, Question, Subject, Takes
from pellucid.answers.catalogue import CATALOGUE
from pellucid.surfaces.cli.errors import Mistake

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


def overview(
    beliefs: Beliefs, objective: str | int | None, among: Sequence[Answer[Any]] = CATALOGUE
) -> list[Question[Any]]:
    """The questions that are asked without options, in the order in which a person asks them.

    `objective`: only what concerns this one, or a constraint.
    """
    answers = Overview(beliefs, _named(beliefs.view, objective))
    return [question for answer in among for question in answers.listed(answer)]


def why_not_asked(
    beliefs: Beliefs, among: Sequence[Answer[Any]], named: Subject, objective: str | int | None
) -> str | None:
    """Why none of these entries asks a question about what a user has named."""
    answers = Overview(beliefs, _named(beliefs.view, objective))
    reasons = [answers.reason(answer, named) for answer in among]
    return next((reason for reason in reasons if reason is not None), None)


def requested(
    beliefs: Beliefs, named: Subject, objective: str | int | None, among: Sequence[Answer[Any]] = CATALOGUE
) -> list[Question[Any]]:
    """The questions about a trial, about parameters and about a goal that a user has named, in this order."""
    _check_named(beliefs.view, named)
    if named.goal in (GoalName.FRONT, GoalName.FAILED):
        _check_whole(beliefs.view, named.goal, objective)
    answers = Overview(beliefs, _named(beliefs.view, objective))
    asked = []
    if named.trial is not None:
        asked.append((Takes.TRIAL, Subject(trial=named.trial)))
    if named.params:
        asked.append((Takes.PARAMS, Subject(params=named.params)))
    if named.goal is not None:
        asked.append((Takes.GOAL, Subject(goal=named.goal)))
    questions = []
    for takes, subject in asked:
        for answer in CATALOGUE:
            if answer.takes is takes and answer in among:
                questions += answers.named(answer, subject)
            elif subject.goal is not None and answer.with_goal is subject.goal:
                questions += answers.listed(answer)
    return questions


def _named(view: StudyView, objective: str | int | None) -> Subject:
    """An objective or a constraint that the user has named."""
    if objective is None:
        return WHOLE
    target = view.target(objective)
    return Subject(constraint=target.name) if target.is_constraint else Subject(objective=target.column)


def _check_named(view: StudyView, named: Subject) -> None:
    """Raise a mistake if the study has no such trial or parameter. One without any of them has no answer yet."""
    from pellucid.words import unknown_parameter

    if named.trial is not None and view.trials and named.trial not in view.by_number:
        raise Mistake(f"The study has no trial {named.trial}; its trials are 0 to {max(view.by_number)}.")
    for name in named.params:
        if view.distributions and name not in view.distributions:
            raise Mistake(unknown_parameter(name, view.distributions))


def _check_whole(view: StudyView, goal: GoalName, objective: str | int | None) -> None:
    """Raise a mistake if a goal of whole trials is asked about a part of what they return."""
    if objective is not None and (view.several or view.target(objective).is_constraint):
        raise Mistake(
            f"--goal {goal.value} is about trials as a whole, but got --objective {objective}: "
            "leave --objective out, or use --goal best or worst."
        )
