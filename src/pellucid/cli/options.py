"""Options that commands share, and the completion of study names."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT_STORAGE = "sqlite:///pellucid.db"


def complete_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names in the storage that stands on the command line; completion never complains and never makes a file."""
    from pellucid.cli.storage.places import has_studies, place_of
    from pellucid.cli.storage.studies import names_in, open_storage

    try:
        place = place_of(str(ctx.params.get("storage") or DEFAULT_STORAGE))
        if not place.exists or not has_studies(place):
            return []
        names = names_in(open_storage(place))
    except Exception:  # Whatever is wrong with the storage, the command itself will say it.
        return []
    return sorted(name for name in names if name.startswith(incomplete) and name.isprintable())


Storage = Annotated[
    str,
    typer.Option(
        "--storage", metavar="URL", help="Any storage URL of Optuna, or the path of a journal file (.log, .journal)."
    ),
]
StudyName = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        autocompletion=complete_study,
        show_default=False,
        help="Name of the study; may be left out when the storage has exactly one.",
    ),
]
