"""Tables for people (terminal, Markdown) and for machines (JSON), and the line that says how they were made."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from pellucid.surfaces.cli.terminal import print_json, print_lines
from pellucid.words import printable
from pellucid_lab.runs.provenance import now, versions
from pellucid_lab.terminal import write


@dataclass(frozen=True)
class Grid:
    """A table of finished strings; the first column is text, the others are numbers. A page shows the title as a
    heading unless it is empty."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class StampedRun(Protocol):
    """A run that says how it was made."""

    @property
    def date(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def machine(self) -> str: ...
    @property
    def versions(self) -> Mapping[str, str]: ...


def grid_markdown(grid: Grid) -> str:
    rule = ["---", *["---:"] * (len(grid.columns) - 1)]
    lines = [grid.columns, tuple(rule), *grid.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def page(title: str, notes: Sequence[str], grids: Sequence[Grid], provenance: str, after: Sequence[str] = ()) -> str:
    """A page of Markdown: a title, paragraphs, tables, paragraphs ``after`` them, and how the page was made."""
    parts = [f"# {title}\n", *(f"{note}\n" for note in notes)]
    for grid in grids:
        parts += [f"## {grid.title}\n"] if grid.title else []
        parts.append(grid_markdown(grid))
    parts += [f"{sentence}\n" for sentence in after]
    return "\n".join([*parts, provenance])


# ---------------------------------------------------------------------- how a page was made

PACKAGES = ("pellucid", "optuna", "numpy", "scipy")


def provenance(commands: Sequence[str], dates: str, versions: Mapping[str, str], machines: Sequence[str]) -> str:
    listed = "\n".join(commands)
    named = ", ".join(f"{package} {version}" for package, version in versions.items())
    return f"```sh\n{listed}\n```\n\n{dates} · {named} · {' and '.join(machines)}\n"


def provenance_now(command: str, packages: Sequence[str] = PACKAGES) -> str:
    """Of a page whose numbers were all computed by this command."""
    return provenance((command,), now(), versions(packages), (platform.platform(),))


def provenance_of(runs: Sequence[StampedRun], seconds: float | None = None) -> str:
    """Of a page about runs, which took that many seconds of one core if it is known."""
    dates = sorted(run.date for run in runs)
    commands = tuple(dict.fromkeys(run.command for run in runs))
    machines = tuple(dict.fromkeys(run.machine for run in runs))
    text = provenance(commands, f"{dates[0]} to {dates[-1]}", runs[0].versions, machines)
    return text if seconds is None else text.rstrip("\n") + f" · {seconds / 60:.0f} minutes of one core\n"


# ---------------------------------------------------------------------- output


def print_grids(grids: Sequence[Grid]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for grid in grids:
        table = Table(title=printable(grid.title) or None, title_justify="left")
        for number, column in enumerate(grid.columns):
            table.add_column(printable(column), justify="left" if number == 0 else "right", no_wrap=number == 0)
        for row in grid.rows:
            table.add_row(*map(printable, row))
        console.print(table)


def show_grids(grids: Sequence[Grid], as_json: bool, quiet: bool) -> None:
    """Tables on standard output: as JSON, as text, or not at all."""
    if as_json:
        print_json([asdict(grid) for grid in grids])
    elif not quiet:
        print_grids(grids)


def show_page(text: str, file: Path | None, quiet: bool) -> None:
    """A page of Markdown into a file, if one is named, and on standard output."""
    if file is not None:
        write(file, text)
    if not quiet:
        print_lines(*text.split("\n"))
