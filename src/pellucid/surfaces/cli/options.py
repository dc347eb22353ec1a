"""Options that several commands have, the headings that help groups them under, and the completion of study names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.storage.naming import DEFAULT_STORAGE, VARIABLE, named_place

# Headings in the help of a command, in the order in which commands declare their options.
STUDY, SEARCH, QUESTION, RUNNING, OUTPUT = "Study", "Search", "Question", "Running", "Output"


def complete_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of studies in the storage on the command line. Raises nothing and creates no file."""
    from pellucid.surfaces.cli.storage.places import has_studies
    from pellucid.surfaces.cli.storage.studies import names_in, open_storage

    try:
        place = named_place(ctx.params.get("storage"), ctx.params.get("storage_file"), quiet=True)
        if not place.exists or not has_studies(place):
            return []
        names = names_in(open_storage(place))
    except Exception:  # The command itself reports what is wrong with the storage.
        return []
    return sorted(name for name in names if name.startswith(incomplete) and name.isprintable())


Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        show_default=DEFAULT_STORAGE,
        rich_help_panel=STUDY,
        help="Where studies are kept: a storage URL of Optuna, the path of a journal file (.log, .journal), or "
        f"grpc://HOST:PORT of a proxy. Wins over --storage-file, which wins over the variable {VARIABLE}.",
    ),
]
StorageFile = Annotated[
    Path | None,
    typer.Option(
        "--storage-file",
        metavar="FILE",
        show_default=False,
        rich_help_panel=STUDY,
        help=f"A file with the URL instead: like the variable {VARIABLE}, it keeps a password out of the list of "
        "processes.",
    ),
]
StudyName = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        autocompletion=complete_study,
        show_default=False,
        help="Name of the study; optional if the storage has exactly one.",
    ),
]
StudyOption = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="NAME",
        autocompletion=complete_study,
        show_default=False,
        rich_help_panel=STUDY,
        help="Another way to name the study.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="Print only errors.")]


def one_name(argument: str | None, option: str | None) -> str | None:
    """The name of a study, given as an argument, with --study, or both ways. Raises Mistake for two names."""
    if argument is not None and option is not None and argument != option:
        raise Mistake(f"A command takes one study; got `{argument}` and --study `{option}`: leave one of them out.")
    return option if argument is None else argument
