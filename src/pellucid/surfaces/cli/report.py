"""``pellucid report``: one offline file about a study, or a page that renews itself."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.extras import require_plots
from pellucid.surfaces.cli.options import OUTPUT, Quiet, Storage, StorageFile, StudyName, StudyOption, one_name
from pellucid.surfaces.cli.serving import DEFAULT_PORT, serve_report
from pellucid.surfaces.cli.storage.naming import named_place
from pellucid.surfaces.cli.storage.studies import find_study, storage_sentences
from pellucid.surfaces.cli.terminal import print_lines, sentences

if TYPE_CHECKING:
    from optuna.study import Study

_DEFAULT_FILE = Path("report.html")


def report(
    name: StudyName = None,
    study: StudyOption = None,
    storage: Storage = None,
    storage_file: StorageFile = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=str(_DEFAULT_FILE), rich_help_panel=OUTPUT, help="The file to write."
        ),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option(
            "--serve",
            rich_help_panel=OUTPUT,
            help="Show the report to browsers on this machine, and renew it as trials arrive, until Ctrl-C. No file is "
            "written.",
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            show_default=f"{DEFAULT_PORT}, or a free one",
            rich_help_panel=OUTPUT,
            help="With --serve: the port. 0 is any free one.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        if serve:
            _check_served(out)
        else:
            _check_written(out, port)
        place = named_place(storage, storage_file, quiet=quiet)
        opened = find_study(place, one_name(name, study))
        if serve:
            serve_report(opened, place, port, quiet)
            return
        with storage_sentences(place):
            written = write_report(opened, out or _DEFAULT_FILE, quiet)
        if not quiet:
            print_lines(f"The report is in {written}.")


def _check_served(out: Path | None) -> None:
    if out is not None:
        raise Mistake(f"--serve writes no file, but --out names `{out}`: leave one of them out.")
    require_plots("A report")


def _check_written(out: Path | None, port: int | None) -> None:
    if port is not None:
        raise Mistake(f"--port is the port of --serve, which is missing; got {port}: add --serve, or leave --port out.")
    check_report(out or _DEFAULT_FILE)


def check_report(path: Path) -> None:
    """Raise Mistake if a report cannot be written to this path, before hours are spent on the study."""
    with suppress(FileNotFoundError):
        path.stat()  # Raises OSError if the name is too long.
    if path.is_dir():
        raise Mistake(f"A report is a file; `{path}` is a folder: name a file in it.")
    if not path.absolute().parent.is_dir():
        raise Mistake(f"The folder of a report has to exist; there is no `{path.parent}`: create it.")
    require_plots("A report")


def write_report(study: Study, path: Path, quiet: bool) -> Path:
    from pellucid.surfaces.page import report as write
    from pellucid.words import Unanswered

    try:
        return write(study, path, progress=not quiet)
    except Unanswered as reason:
        raise Mistake(str(reason)) from None
