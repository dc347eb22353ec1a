"""What the commands share: progress, sentences instead of tracebacks, and the lists that options take.

Exit codes: 0 done, 1 some runs failed, 2 the request is wrong, 3 nothing could run because something is missing,
130 stopped by Ctrl-C (what was finished is kept).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from pellucid.cli.errors import Mistake, Unavailable

# Options that the commands of `reproduce` share.
Jobs = Annotated[int, typer.Option(min=1, help="Processes, one thread each.")]
Figures = Annotated[bool, typer.Option(help="Draw the figures (needs the plots extra).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the tables as JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no table, only errors.")]


@contextmanager
def progress_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar with an estimate of the time left; the function moves it by one and names what was finished."""
    if quiet or total == 0:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    # Runs of slow peers take minutes: an estimate over rich's default of 30 s would see none of them end.
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
        console=Console(stderr=True),
        speed_estimate_period=3600,
    )
    with progress:
        bar = progress.add_task(what, total=total, last="")
        yield lambda name: progress.update(bar, advance=1, last=name)


def load_plots() -> ModuleType:
    """The room that draws, or the sentence that says how to get what it needs."""
    try:
        return import_module("pellucid.plots")
    except ImportError as error:
        raise Unavailable(
            "Figures are skipped: they need plotly; install with `pip install 'pellucid[plots]'`."
        ) from error


def save_figure(figure: Any, path: Path) -> None:
    """As a picture where there is a browser to draw it, as a page otherwise; the path comes without an ending."""
    plots = load_plots()
    plots.save(figure, Path(f"{path}{'.png' if plots.browser() is not None else '.html'}"))


def integers(text: str, option: str) -> tuple[int, ...]:
    """Numbers and ranges with commas: ``1-3,7`` is 1, 2, 3, 7."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise Mistake(f"{option} takes numbers and ranges with commas, like 1-3,7; got `{text}`.")
        numbers.extend(range(int(first), int(last) + 1) if dash else [int(first)])
    return tuple(dict.fromkeys(numbers))


def names_in(text: str, option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if "" in names:
        raise Mistake(f"{option} takes names with commas between them; got `{text}`.")
    return names


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def command_line() -> str:
    return shlex.join(["pellucid", *sys.argv[1:]])
