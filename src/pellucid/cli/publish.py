"""``pellucid publish``: the key figures of a study, for Optuna's dashboard."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from pellucid.cli.errors import Mistake, Unavailable
from pellucid.cli.options import DEFAULT_STORAGE, Storage, StudyName
from pellucid.cli.storage.studies import find_study, storage_sentences
from pellucid.cli.terminal import sentences, shown

_MISSING = "Publishing needs the package `optuna_dashboard`: install it with `pip install 'pellucid[dashboard]'`."


def publish(study: StudyName = None, storage: Storage = DEFAULT_STORAGE) -> None:
    """Add pellucid's findings to a study, where Optuna's dashboard shows them."""
    with sentences():
        found, place = find_study(storage, study)
        if find_spec("optuna_dashboard") is None:
            raise Unavailable(_MISSING)
        if find_spec("plotly") is None:
            raise Unavailable("Figures need plotly, which is not installed: `pip install 'pellucid[plots]'` brings it.")
        from pellucid.dashboard import publish as write

        with storage_sentences(place):
            try:
                titles = write(found)
            except ValueError as error:
                raise Mistake(str(error)) from None
        typer.echo(f"Published in {place.shown}:")
        for title in titles:
            typer.echo(f"  {shown(title)}")
