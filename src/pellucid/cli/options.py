"""Options that several commands have, and the completion of study names."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT_STORAGE = "sqlite:///pellucid.db"


def complete_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of studies in the storage on the command line. Raises nothing and creates no file."""
    from pellucid.cli.storage.places import has_studies, place_of
    from pellucid.cli.storage.studies import names_in, open_storage

    try:
        place = place_of(str(ctx.params.get("storage") or DEFAULT_STORAGE))
        if not place.exists or not has_studies(place):
            return []
        names = names_in(open_storage(place))
    except Exception:  # The command itself reports what is wrong with the storage.
        return []
    return sorted(name for name in names if name.startswith(incomplete) and name.isprintable())


Storage = Annotated[
    str,
    typer.Option(
        "--storage",
        metavar="URL",
        help="A storage URL of Optuna, the path of a journal file (.log, .journal), or grpc://HOST:PORT of a proxy.",
    ),
]
StudyName = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        autocompletion=complete_study,
        show_default=False,
        help="Name of the study; optional if the storage has exactly one.",
    ),
]
