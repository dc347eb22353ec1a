"""``pellucid explain``: answers about a study, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.options import DEFAULT_STORAGE, Storage, StudyName
from pellucid.cli.questions import GoalName, Question, objectives_data, overview, requested
from pellucid.cli.storage.places import Place
from pellucid.cli.storage.studies import find_study, storage_sentences, trials_by_state
from pellucid.cli.terminal import json_text, print_table, sentences, shown

if TYPE_CHECKING:
    from pellucid.records import Finding, NotKnown
    from pellucid.study.view import StudyView

    Answers = Sequence[tuple[Question[Any], Finding | NotKnown]]


def explain(
    study: StudyName = None,
    storage: Storage = DEFAULT_STORAGE,
    trial: Annotated[
        int | None,
        typer.Option(min=0, show_default=False, help="Why was the trial with this number proposed, or stopped early?"),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(show_default=False, help="What does this parameter do? Give two for their joint effect."),
    ] = None,
    goal: Annotated[
        GoalName | None, typer.Option(show_default=False, help="What matters for being among these trials?")
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", show_default=False, help="Only about this one of several objectives, or about a constraint."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON on standard output.")] = False,
) -> None:
    """Explain a study of any sampler: what to use, whether to stop, what matters, and why a trial was proposed.

    Without options, it prints an overview in a few lines.
    """
    with sentences():
        params = tuple(param or ())
        _check_params(params)
        opened_study, place = find_study(storage, study)
        with storage_sentences(place):
            from pellucid.explain.model import view_of
            from pellucid.numerics import one_thread

            view = view_of(opened_study)
            named = _objective(view, objective)
            by_option = requested(view, trial, params, goal, named)
            with one_thread:
                answers = [(question, question.answered()) for question in by_option or overview(view, named)]
            if by_option:
                _check_known(answers)
            if as_json:
                _print_json(view, place, answers)
            else:
                _print_text(view, place, answers, detailed=bool(by_option))


def _check_known(answers: Answers) -> None:
    """Raise Mistake if an answer is missing that the user asked for by name, or if all of them are."""
    from pellucid.records import NotKnown

    unknown = [(question, answer) for question, answer in answers if isinstance(answer, NotKnown)]
    missing = [answer for question, answer in unknown if question.needed or len(unknown) == len(answers)]
    if missing:
        raise Mistake(missing[0].reason)


def _check_params(params: tuple[str, ...]) -> None:
    if len(params) > 2 or len(set(params)) < len(params):
        listed = ", ".join(f"`{shown(name)}`" for name in params)
        raise Mistake(f"Give --param once, or twice with two different parameters; got {listed}.")


def _objective(view: StudyView, name: str | None) -> str | int | None:
    """An objective or a constraint as the user named it, or the number of an objective."""
    if name is None:
        return None
    names = {*(objective.name for objective in view.objectives), *view.observations.constraints.names}
    named = int(name) if name.isdecimal() and name not in names else name
    try:
        view.about(named)
    except ValueError as error:
        raise Mistake(str(error)) from None
    return named


def _print_json(view: StudyView, place: Place, answers: Answers) -> None:
    """Answers by their key; those about each of several objectives by its name below that."""
    from pellucid.records import NotKnown

    known: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for question, answer in answers:
        part, value = (unknown, answer.reason) if isinstance(answer, NotKnown) else (known, answer.to_dict())
        if question.objective:
            part.setdefault(question.key, {})[question.objective] = value
        else:
            part[question.key] = value
    data = {
        "study": view.name,
        "storage": place.shown,
        **objectives_data(view),
        "counts": trials_by_state(view.trials),
        **known,
        "unknown": unknown,
    }
    typer.echo(json_text(data))


def _print_text(view: StudyView, place: Place, answers: Answers, *, detailed: bool) -> None:
    from pellucid.records import NotKnown

    counts = trials_by_state(view.trials)
    counts["failed"] = counts.pop("fail")
    listed = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"
    typer.echo(f"Study `{shown(view.name)}` in {place.shown} ({shown(_aims(view))}): {listed}.")
    unknown = [(question, answer) for question, answer in answers if isinstance(answer, NotKnown)]
    for question, answer in answers:
        if isinstance(answer, NotKnown):
            continue
        typer.echo(f"{shown(question.title)}: {shown(question.text(answer))}")
        if detailed and question.table is not None:
            print_table(question.table(answer))
    if unknown:
        typer.echo("Not known yet:")
        for question, answer in unknown:
            what = f"{question.title} ({question.objective})" if question.objective else question.title
            typer.echo(f"  {shown(what)}: {shown(str(answer))}")


def _aims(view: StudyView) -> str:
    """ "maximize accuracy, minimize latency"; without a name, the direction alone."""
    from pellucid.records import OBJECTIVE

    return ", ".join(
        objective.direction if objective.name == OBJECTIVE else f"{objective.direction} {objective.name}"
        for objective in view.objectives
    )
