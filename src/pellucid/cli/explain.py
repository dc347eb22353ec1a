"""``pellucid explain``: answers about a study, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.options import DEFAULT_STORAGE, Storage, StudyName
from pellucid.cli.questions import GoalName, Question, overview, requested
from pellucid.cli.storage.places import Place
from pellucid.cli.storage.studies import find_study, storage_sentences, trials_by_state
from pellucid.cli.terminal import json_text, print_table, sentences, shown

if TYPE_CHECKING:
    from pellucid.records import Finding, NotKnown
    from pellucid.study.view import StudyView


def explain(
    study: StudyName = None,
    storage: Storage = DEFAULT_STORAGE,
    trial: Annotated[
        int | None, typer.Option(min=0, show_default=False, help="Why was the trial with this number proposed?")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(show_default=False, help="What does this parameter do? Give two for their joint effect."),
    ] = None,
    goal: Annotated[
        GoalName | None, typer.Option(show_default=False, help="What matters for being among these trials?")
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
            from pellucid.explain.model import opened
            from pellucid.records import NotKnown

            by_option = requested(trial, params, goal)
            questions = by_option or overview()
            with opened(opened_study, "explain") as view:
                answers = {question.key: question.answered(view) for question in questions}
            unknown = {key: answer.reason for key, answer in answers.items() if isinstance(answer, NotKnown)}
            if by_option and unknown:  # The user asked for this answer by name, so a missing one is an error.
                raise Mistake(next(iter(unknown.values())))
            if as_json:
                _print_json(view, place, answers, unknown)
            else:
                _print_text(view, place, questions, answers, unknown, detailed=bool(by_option))


def _check_params(params: tuple[str, ...]) -> None:
    if len(params) > 2 or len(set(params)) < len(params):
        listed = ", ".join(f"`{shown(name)}`" for name in params)
        raise Mistake(f"Give --param once, or twice with two different parameters; got {listed}.")


def _print_json(
    view: StudyView, place: Place, answers: Mapping[str, Finding | NotKnown], unknown: Mapping[str, str]
) -> None:
    data = {
        "study": view.name,
        "storage": place.shown,
        "direction": view.direction,
        "counts": trials_by_state(view.trials),
        **{key: answer.to_dict() for key, answer in answers.items() if key not in unknown},
        "unknown": unknown,
    }
    typer.echo(json_text(data))


def _print_text(
    view: StudyView,
    place: Place,
    questions: Sequence[Question[Any]],
    answers: Mapping[str, Any],
    unknown: Mapping[str, str],
    *,
    detailed: bool,
) -> None:
    counts = trials_by_state(view.trials)
    counts["failed"] = counts.pop("fail")
    listed = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no trials"
    typer.echo(f"Study `{shown(view.name)}` in {place.shown} ({view.direction}): {listed}.")
    for question in questions:
        if question.key in unknown:
            continue
        answer = answers[question.key]
        typer.echo(f"{shown(question.title)}: {shown(question.text(answer))}")
        if detailed and question.table is not None:
            print_table(question.table(answer))
    if unknown:
        typer.echo("Not known yet:")
        titles = {question.key: question.title for question in questions}
        for key, reason in unknown.items():
            typer.echo(f"  {titles[key]}: {shown(reason)}")
