"""What the commands share: lists in options, the progress bar, figures and files.

Exit codes: 0 done, 1 some runs failed, 2 the request is wrong, 3 a package or a file is missing, 130 stopped by Ctrl-C
(finished runs are kept).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.words import printable

Measurement = TypeVar("Measurement")


@contextmanager
def progress_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar with an estimate of the time left. Call the function after each item with the item's name."""
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

    # A run of a slow peer takes minutes: within rich's default window of 30 s none of them would end.
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
        yield lambda name: progress.update(bar, advance=1, last=printable(name))


def collect(
    what: str, measurements: Iterable[Measurement], total: int, quiet: bool, name: Callable[[Measurement], str]
) -> tuple[list[Measurement], bool]:
    """Measurements as they come, with a progress bar, and whether Ctrl-C ended them early."""
    collected: list[Measurement] = []
    try:
        with progress_bar(what, total, quiet) as advance:
            for measurement in measurements:
                collected.append(measurement)
                advance(name(measurement))
    except KeyboardInterrupt:
        return collected, True
    return collected, False


def load_plots() -> ModuleType:
    """The package `pellucid.answers.drawing`; raises `Unavailable` if plotly is missing."""
    try:
        return import_module("pellucid.answers.drawing")
    except ImportError as error:
        raise Unavailable(
            "Figures are skipped: they need plotly; install with `pip install 'pellucid[plots]'`, or pass --no-figures."
        ) from error


def save_figure(figure: Any, path: Path) -> None:
    """Save as PNG if a browser can render it, as HTML otherwise; `path` has no suffix."""
    plots = load_plots()
    plots.save(figure, Path(f"{path}{'.png' if plots.browser() is not None else '.html'}"))


def integers(text: str, option: str) -> tuple[int, ...]:
    """Numbers and ranges separated by commas: ``1-3,7`` is 1, 2, 3, 7."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise Mistake(f"{option} takes numbers and ranges separated by commas, like 1-3,7; got `{text}`.")
        numbers.extend(range(int(first), int(last) + 1) if dash else [int(first)])
    return tuple(dict.fromkeys(numbers))


def names_in(text: str, option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if "" in names:
        raise Mistake(f"{option} takes names separated by commas; got `{text}`.")
    return names


def choose(text: str, known: Sequence[str], option: str) -> tuple[str, ...]:
    """One of the known names, or all of them for ``all``."""
    if text not in (*known, "all"):
        raise Mistake(f"{option} is one of {', '.join(known)} or all; got `{text}`.")
    return tuple(known) if text == "all" else (text,)


def write(path: Path, text: str) -> None:
    from pellucid.files import make_folder, write_atomically

    make_folder(path.parent)
    write_atomically(path, text.encode())


def command_line() -> str:
    return shlex.join(["pellucid", *sys.argv[1:]])
