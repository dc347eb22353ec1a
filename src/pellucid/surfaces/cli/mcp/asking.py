"""The questions of the command line, asked by an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pellucid.answers.base import WHOLE, Answer, GoalName, Question, Subject
from pellucid.surfaces.cli.answers import (
    answers_data,
    answers_text,
    answers_to,
    check_any_known,
    check_known,
    named_objective,
)
from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.mcp.session import Returned, Session
from pellucid.surfaces.cli.questions import objectives_data, overview, requested, why_not_asked
from pellucid.surfaces.cli.storage.studies import load, names_in, reading, trials_by_state
from pellucid.words import printable

if TYPE_CHECKING:
    from pellucid.beliefs import Beliefs
    from pellucid.study.view import StudyView
    from pellucid.surfaces.cli.answers import Answers

# Studies that are listed: counting the trials of one takes a look at all of them.
MOST_STUDIES = 50


def list_studies(session: Session, containing: str | None) -> Returned:
    """The studies of the storage, in the order of their names."""
    from pellucid.study.view import StudyView

    with reading(session.place) as storage:
        every = sorted(names_in(storage))
        names = [name for name in every if containing is None or containing.lower() in name.lower()]
        views = [StudyView.whole(load(storage, name)) for name in names[:MOST_STUDIES]]
        studies = [_listed(view) for view in views]
    left = len(names) - len(studies)
    lines = [_listing(len(every), len(names), containing, session.place.shown), *map(_line, studies)]
    if left:
        lines.append(f"{left} more were left out; name a part of the name in `containing` to see them.")
    data = {"storage": session.place.shown, "count": len(names), "studies": studies, "more": left}
    return Returned("\n".join(lines), data)


def _listed(view: StudyView) -> dict[str, Any]:
    counts = {state: count for state, count in trials_by_state(view.trials).items() if count}
    return {"name": view.name, "objectives": objectives_data(view)["objectives"], "counts": counts}


def _listing(every: int, named: int, containing: str | None, place: str) -> str:
    studies = f"{every} {'study' if every == 1 else 'studies'}"
    if containing is None:
        return f"{place} has {studies}."
    return f"{place} has {studies}, {named} of them with `{printable(containing)}` in the name."


def _line(study: dict[str, Any]) -> str:
    aims = ", ".join(f"{objective['direction']} {objective['name']}" for objective in study["objectives"])
    counts = study["counts"]
    complete = f"{counts.get('complete', 0)} of {sum(counts.values())} trials complete" if counts else "no trials"
    return f"`{printable(study['name'])}` ({printable(aims)}): {complete}"


def overview_of(session: Session, study: str | None, objective: str | None) -> Returned:
    """All answers that need no option. What is not known yet is a part of it."""
    return _answer(session, study, objective, overview, lambda _answers: None)


def asked_of(session: Session, among: Sequence[Answer[Any]], given: Mapping[str, Any]) -> Returned:
    """The answers of some entries of the catalogue, about what the agent has named."""
    goal = given.get("goal")
    named = Subject(
        trial=given.get("trial"),
        params=tuple(given.get("params") or ()),
        goal=None if goal is None else GoalName(goal),
    )

    def questions(beliefs: Beliefs, objective: str | int | None) -> list[Question[Any]]:
        asked = overview(beliefs, objective, among) if named == WHOLE else requested(beliefs, named, objective, among)
        if not asked:
            raise Mistake(why_not_asked(beliefs, among, named, objective) or "This study has no such answer.")
        return asked

    check = check_any_known if named == WHOLE else _check_asked
    return _answer(session, given["study"], given.get("objective"), questions, check)


def _check_asked(answers: Answers) -> None:
    check_known(answers)
    check_any_known(answers)


def _answer(
    session: Session,
    study: str | None,
    objective: str | None,
    questions: Callable[[Beliefs, str | int | None], list[Question[Any]]],
    check: Callable[[Any], None],
) -> Returned:
    from pellucid.answers.opening import beliefs_for_all

    with session.study(study) as opened:
        beliefs, no_curves = beliefs_for_all(opened)
        view = beliefs.view
        answers = answers_to(questions(beliefs, named_objective(view, objective)), no_curves)
        check(answers)
        text, data = answers_text(view, session.place, answers), answers_data(view, session.place, answers)
    return Returned(text, data)
