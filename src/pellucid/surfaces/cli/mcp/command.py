"""``pellucid mcp``: the command."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.extras import require_mcp
from pellucid.surfaces.cli.options import OUTPUT, RUNNING, Storage, StorageFile
from pellucid.surfaces.cli.storage.naming import named_place
from pellucid.surfaces.cli.terminal import say, sentences


def mcp(
    storage: Storage = None,
    storage_file: StorageFile = None,
    reports: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            show_default=False,
            rich_help_panel=OUTPUT,
            help="Where reports are written; without it, to a temporary folder that is removed in the end.",
        ),
    ] = None,
    allow_tune: Annotated[
        bool,
        typer.Option(
            "--allow-tune", rich_help_panel=RUNNING, help="Let the agent enqueue trials. Nothing else ever writes."
        ),
    ] = False,
) -> None:
    with sentences(), ExitStack() as stack:
        require_mcp("The server for agents")
        place = named_place(storage, storage_file)
        folder = stack.enter_context(TemporaryDirectory(prefix="pellucid-")) if reports is None else _checked(reports)
        from pellucid.surfaces.cli.mcp.server import serve
        from pellucid.surfaces.cli.mcp.session import Session

        _end_on_signals(stack)
        say(f"Answering questions about {place.shown} on standard input and output, for an agent; Ctrl-C ends this.")
        serve(Session(place, Path(folder), temporary=reports is None, may_enqueue=allow_tune))


def _end_on_signals(stack: ExitStack) -> None:
    """End the process at once on Ctrl-C and SIGTERM: nothing else ends a thread that waits for input.

    Storages undo what was half written. A shell reports 130 for Ctrl-C, as after other commands.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        stack.close()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _checked(folder: Path) -> Path:
    """Raise Mistake unless the folder exists. The path is absolute, because an agent has another working folder."""
    if not folder.is_dir():
        raise Mistake(f"--reports takes a folder that exists; there is no folder `{folder}`: create it.")
    return folder.absolute()
