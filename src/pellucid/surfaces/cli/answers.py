"""Questions about a study, asked and answered: as sentences, and as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pellucid.answers.agreement import lead
from pellucid.answers.base import WHOLE, Question
from pellucid.answers.on_pages import CURVES
from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.questions import objectives_data
from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.cli.storage.studies import trials_by_state
from pellucid.words import printable

if TYPE_CHECKING:
    from pellucid.answers.finding import Finding, NotKnown
    from pellucid.study.liveness import DeadTrials
    from pellucid.study.view import StudyView

    Answers = Sequence[tuple[Question[Any], Finding | NotKnown]]


def answers_to(questions: Sequence[Question[Any]], no_curves: NotKnown | None = None) -> Answers:
    """Every question with its answer, or with why there is none. `no_curves`: why learning curves could not be judged,
    on which the others rest."""
    from pellucid.numerics import one_thread

    with one_thread:
        answers: list[tuple[Question[Any], Finding | NotKnown]] = [(each, each.answered()) for each in questions]
    if no_curves is not None:
        answers.append((Question(questions[0].overview, CURVES, WHOLE, CURVES.title), no_curves))
    return answers


def check_known(answers: Answers) -> None:
    """Raise Mistake if an answer is missing that the user asked for by name, or if all of them are. One that failed is
    no mistake of the user."""
    if any_failed(answers):
        return
    unknown = _unknown(answers)
    missing = [answer for question, answer in unknown if question.needed or len(unknown) == len(answers)]
    if missing:
        raise Mistake(missing[0].reason)


def check_any_known(answers: Answers) -> None:
    """Raise Mistake if all answers are missing. One that failed comes first."""
    missing = sorted((answer for _, answer in _unknown(answers)), key=lambda answer: not answer.failed)
    if missing and len(missing) == len(answers):
        raise Mistake(missing[0].reason)


def any_failed(answers: Answers) -> bool:
    return any(answer.failed for _, answer in _unknown(answers))


def named_objective(view: StudyView, name: str | None) -> str | int | None:
    """An objective or a constraint as the user named it, or the number of an objective."""
    if name is None:
        return None
    names = {target.name for target in (*view.objectives, *view.constraints)}
    named = int(name) if name.isdecimal() and name not in names else name
    try:
        view.target(named)
    except ValueError as error:
        raise Mistake(str(error)) from None
    return named


# ---------------------------------------------------------------------- as data


def answers_data(view: StudyView, place: Place, answers: Answers) -> dict[str, Any]:
    """Answers by their key; those about each of several objectives by its name below that."""
    from pellucid.answers.finding import NotKnown

    gone = dead(view)
    known: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    failed: dict[str, Any] = {}
    for question, answer in answers:
        if isinstance(answer, NotKnown):
            _put(failed if answer.failed else unknown, question, answer.reason)
        else:
            _put(known, question, answer.to_dict())
    return {
        "study": view.name,
        "storage": place.shown,
        **objectives_data(view),
        "counts": trials_by_state(view.trials),
        "dead": {"trials": list(gone.numbers), "notice": gone.notice},
        **known,
        "unknown": unknown,
        "failed": failed,
    }


def _put(part: dict[str, Any], question: Question[Any], value: Any) -> None:
    if question.label:
        part.setdefault(question.key, {})[question.label] = value
    else:
        part[question.key] = value


# ---------------------------------------------------------------------- as sentences


def heading(view: StudyView, place: Place) -> str:
    """The study, what it optimises and how many trials it has."""
    return f"Study `{printable(view.name)}` in {place.shown} ({printable(_aims(view))}): {_counted(view)}."


def dead(view: StudyView) -> DeadTrials:
    """Running trials whose process may be gone."""
    from datetime import datetime

    from pellucid.study.liveness import dead_trials

    return dead_trials(view, datetime.now())


def sentences_of(answers: Answers) -> Iterator[tuple[Question[Any], Finding | NotKnown, str]]:
    """Every answer that is known, has failed or will never be, and its sentence, with those notes that no earlier
    answer had."""
    from pellucid.answers.finding import NotKnown

    said: set[str] = set()
    for question, answer in answers:
        if isinstance(answer, NotKnown):
            if answer.final:
                yield question, answer, f"{printable(_subject(question))}: {printable(answer.reason)}"
            continue
        notes = [note for note in answer.notes if note not in said]
        said.update(notes)
        text = " ".join(filter(None, (lead(question), answer.reply, *notes)))
        yield question, answer, f"{printable(question.title)}: {printable(text)}"


def unknown_lines(answers: Answers) -> list[str]:
    """What is not known yet, and why; nothing if all is known."""
    unknown = [(question, answer) for question, answer in _unknown(answers) if not answer.final]
    lines = [f"  {printable(_subject(question))}: {printable(str(answer))}" for question, answer in unknown]
    return ["Not known yet:", *lines] if lines else []


def answers_text(view: StudyView, place: Place, answers: Answers) -> str:
    """All answers, without tables."""
    known = [text for _, _, text in sentences_of(answers)]
    lines = [heading(view, place), dead(view).notice, *known, *unknown_lines(answers)]
    return "\n".join(line for line in lines if line)


def _unknown(answers: Answers) -> list[tuple[Question[Any], NotKnown]]:
    from pellucid.answers.finding import NotKnown

    return [(question, answer) for question, answer in answers if isinstance(answer, NotKnown)]


def _subject(question: Question[Any]) -> str:
    return f"{question.title} ({question.label})" if question.label else question.title


def _counted(view: StudyView) -> str:
    """ "40 complete, 2 failed"."""
    counts = trials_by_state(view.trials)
    counts["failed"] = counts.pop("fail")
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"


def _aims(view: StudyView) -> str:
    """ "maximize accuracy, minimize latency"; without a name, the direction alone."""
    from pellucid.words import OBJECTIVE

    return ", ".join(
        objective.direction if objective.name == OBJECTIVE else f"{objective.direction} {objective.name}"
        for objective in view.objectives
    )
