"""``pellucid explain``: answers about a study, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.answers.base import GoalName, Subject, resolve
from pellucid.surfaces.cli.answers import (
    answers_data,
    answers_to,
    any_failed,
    check_known,
    dead,
    heading,
    named_objective,
    sentences_of,
    unknown_lines,
)
from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.options import OUTPUT, QUESTION, Storage, StorageFile, StudyName, StudyOption, one_name
from pellucid.surfaces.cli.questions import overview, requested
from pellucid.surfaces.cli.storage.naming import named_place
from pellucid.surfaces.cli.storage.places import Place
from pellucid.surfaces.cli.storage.studies import find_study, storage_sentences
from pellucid.surfaces.cli.terminal import BROKEN, print_json, print_lines, print_table, sentences
from pellucid.words import printable

if TYPE_CHECKING:
    from pellucid.study.view import StudyView
    from pellucid.surfaces.cli.answers import Answers


def explain(
    name: StudyName = None,
    study: StudyOption = None,
    storage: Storage = None,
    storage_file: StorageFile = None,
    trial: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            show_default=False,
            rich_help_panel=QUESTION,
            help="Why was the trial with this number proposed, or stopped early?",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=QUESTION,
            help="What does this parameter do? Give the option twice for the joint effect of two.",
        ),
    ] = None,
    goal: Annotated[
        GoalName | None,
        typer.Option(show_default=False, rich_help_panel=QUESTION, help="What matters for being among these trials?"),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            rich_help_panel=QUESTION,
            help="Only about this one of several objectives, or about a constraint.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print the answers as JSON on standard output.")
    ] = False,
) -> None:
    with sentences():
        params = tuple(param or ())
        _check_params(params)
        place = named_place(storage, storage_file)
        opened_study = find_study(place, one_name(name, study))
        with storage_sentences(place):
            from pellucid.answers.opening import beliefs_for_all

            beliefs, no_curves = beliefs_for_all(opened_study)
            view = beliefs.view
            named = named_objective(view, objective)
            by_option = requested(beliefs, Subject(trial=trial, params=params, goal=goal), named)
            answers = answers_to(by_option or overview(beliefs, named), no_curves)
            if by_option:
                check_known(answers)
            if as_json:
                print_json(answers_data(view, place, answers))
            else:
                _print_text(view, place, answers, detailed=bool(by_option))
        if any_failed(answers):
            raise typer.Exit(BROKEN)


def _check_params(params: tuple[str, ...]) -> None:
    if len(params) > 2 or len(set(params)) < len(params):
        listed = ", ".join(f"`{printable(name)}`" for name in params)
        raise Mistake(f"Give --param once, or twice with two different parameters; got {listed}.")


def _print_text(view: StudyView, place: Place, answers: Answers, *, detailed: bool) -> None:
    from pellucid.answers.finding import NotKnown

    print_lines(heading(view, place))
    if notice := dead(view).notice:
        print_lines(notice)
    for question, answer, text in sentences_of(answers):
        print_lines(text)
        if detailed and question.answer.table and not isinstance(answer, NotKnown):
            print_table(resolve(question.answer.table)(answer))
    print_lines(*unknown_lines(answers))
