"""``pellucid report``: one offline file about a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.errors import Mistake
from pellucid.cli.extras import require_plots
from pellucid.cli.options import DEFAULT_STORAGE, OUTPUT, Quiet, Storage, StudyName, StudyOption, one_name
from pellucid.cli.storage.studies import find_study, storage_sentences
from pellucid.cli.terminal import sentences, shown

if TYPE_CHECKING:
    from optuna.study import Study


def report(
    name: StudyName = None,
    study: StudyOption = None,
    storage: Storage = DEFAULT_STORAGE,
    out: Annotated[Path, typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="The file to write.")] = Path(
        "report.html"
    ),
    quiet: Quiet = False,
) -> None:
    """Write a report of a study: one HTML file that needs no network."""
    with sentences():
        check_report(out)
        opened, place = find_study(storage, one_name(name, study))
        with storage_sentences(place):
            written = write_report(opened, out, quiet)
        if not quiet:
            typer.echo(f"The report is in {shown(str(written))}.")


def check_report(path: Path) -> None:
    """Raise Mistake if a report cannot be written to this path, before hours are spent on the study."""
    if path.is_dir():
        raise Mistake(f"A report is a file; `{shown(str(path))}` is a folder: name a file in it.")
    if not path.absolute().parent.is_dir():
        raise Mistake(f"The folder of a report has to exist; there is no `{shown(str(path.parent))}`: create it.")
    require_plots("A report")


def write_report(study: Study, path: Path, quiet: bool) -> Path:
    from pellucid.reporting import report as write

    try:
        return write(study, path, progress=not quiet)
    except ValueError as error:
        raise Mistake(str(error)) from None
