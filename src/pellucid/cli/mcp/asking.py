"""The questions of the command line, asked by an agent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from pellucid.answers.base import GoalName, Question
from pellucid.cli.answers import answers_data, answers_text, answers_to, check_any_known, check_known, named_objective
from pellucid.cli.errors import Mistake
from pellucid.cli.mcp.session import Answer, Session
from pellucid.cli.questions import objectives_data, overview, requested, why_not_asked
from pellucid.cli.storage.studies import load, names_in, reading, trials_by_state
from pellucid.words import printable

if TYPE_CHECKING:
    from pellucid.beliefs import Beliefs
    from pellucid.cli.answers import Answers
    from pellucid.study.view import StudyView

# Studies that are listed: counting the trials of one takes a look at all of them.
MOST_STUDIES = 50


def list_studies(session: Session, containing: str | None) -> Answer:
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
    return Answer("\n".join(lines), data)


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


def overview_of(session: Session, study: str | None, objective: str | None) -> Answer:
    """All answers that need no option. What is not known yet is a part of it."""
    return _answer(session, study, objective, overview, lambda _answers: None)


def part_of_overview(session: Session, study: str | None, objective: str | None, keys: Collection[str]) -> Answer:
    """Those answers of the overview that have one of the keys."""

    def part(beliefs: Beliefs, named: str | int | None) -> list[Question[Any]]:
        questions = [question for question in overview(beliefs, named) if question.key in keys]
        if not questions:
            raise Mistake(why_not_asked(beliefs, named, keys))
        return questions

    return _answer(session, study, objective, part, check_any_known)


def front(session: Session, study: str | None) -> Answer:
    """What to use and what it costs, of a study with several objectives."""

    def part(beliefs: Beliefs, named: str | int | None) -> list[Question[Any]]:
        if not beliefs.view.several:
            raise Mistake("A front needs several objectives, but this study has one; call `recommend` instead.")
        return [question for question in overview(beliefs, named) if question.key in ("recommendation", "tradeoff")]

    return _answer(session, study, None, part, check_any_known)


def by_option(
    session: Session,
    study: str | None,
    objective: str | None,
    *,
    trial: int | None = None,
    params: Sequence[str] = (),
    goal: str | None = None,
) -> Answer:
    """The questions that an option of `pellucid explain` asks."""
    chosen = None if goal is None else GoalName(goal)
    return _answer(
        session,
        study,
        objective,
        lambda beliefs, named: requested(beliefs, trial, tuple(params), chosen, named),
        _check_asked,
    )


def _check_asked(answers: Answers) -> None:
    check_known(answers)
    check_any_known(answers)


def _answer(
    session: Session,
    study: str | None,
    objective: str | None,
    questions: Callable[[Beliefs, str | int | None], list[Question[Any]]],
    check: Callable[[Any], None],
) -> Answer:
    from pellucid.explain.model import beliefs_for_all

    with session.study(study) as opened:
        beliefs, no_curves = beliefs_for_all(opened)
        view = beliefs.view
        answers = answers_to(questions(beliefs, named_objective(view, objective)), no_curves)
        check(answers)
        text, data = answers_text(view, session.place, answers), answers_data(view, session.place, answers)
    return Answer(text, data)
