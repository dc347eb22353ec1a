"""Tables for people (terminal, Markdown) and for machines (JSON), laid out from the records of ``tables``."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from pellucid_lab.base import Scale
from pellucid_lab.runs.results import now, versions
from pellucid_lab.tables.regret import Duel, Table

if TYPE_CHECKING:
    from rich.console import Console

_REGRET_NOTE: dict[Scale, str] = {
    "log10": "Regret is log10(best value so far − optimum), cut at 1e-8.",
    "normalised": (
        "Regret is the distance from the best value so far to the best value known (the optimum of a table, the best "
        "of all runs here otherwise), divided by that between the best value and the problem's anchor (the worst of a "
        "table, the median of a random search otherwise): 0 is the best, 1 a typical random configuration."
    ),
    "difference": "Regret is the distance from the best value so far to the best value of all runs.",
}

_PROTOCOL_NOTE = (
    "Columns give its mean and median over the runs after that many evaluations; lower is better and equal "
    "values share a rank. All methods continue the same random initial design; times are of the steps after "
    "it (ms per ask, seconds of ask and tell per run), one thread per process."
)

# Load average per core from which other work takes a visible share of the only core a measurement uses.
BUSY = 0.3


@dataclass(frozen=True)
class Grid:
    """A titled table of ready-made strings; the first column is text, the others are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def regret_grids(table: Table) -> list[Grid]:
    half = (table.n_init + table.n_steps + 1) // 2
    full = table.n_init + table.n_steps
    partial = table.common_cells < table.cells
    columns = ["method", "runs", "mean rank"]
    if partial:
        columns.append(f"rank on {table.common_cells}")
    columns += [f"mean@{half}", f"median@{half}", f"mean@{full}", f"median@{full}"]
    # Only where it says something else: the best of 20,000 random configurations counted among the best known.
    searched = any(row.full_mean_with_search != row.full_mean for row in table.rows)
    if searched:
        columns.append(f"mean@{full}, 20,000 random included")
    columns += ["ms/ask", "s/run"]
    rows = []
    for row in table.rows:
        ranks = [_number(row.rank_all, 2)]
        if partial:
            ranks.append(_number(row.rank_common, 2))
        regrets = [row.half_mean, row.half_median, row.full_mean, row.full_median]
        if searched:
            regrets.append(row.full_mean_with_search)
        shown = [_significant(value) for value in regrets]
        rows.append((row.method, str(row.runs), *ranks, *shown, _number(row.ask_ms, 1), _number(row.sampler_s, 2)))
    title = f"{table.suite}, {table.n_init} + {table.n_steps} evaluations, {table.cells} cells (problem × seed)"
    duels = tuple(
        (
            duel.method,
            *map(str, (duel.wins, duel.ties, duel.losses)),
            _per_loss(duel),
            f"{100 * duel.win_rate:.0f} %" if duel.cells else "–",
        )
        for duel in table.duels
    )
    grids = [Grid(title, tuple(columns), tuple(rows))]
    if duels:
        head = ("against", "wins", "ties", "losses", "wins per loss", "win rate")
        grids.append(Grid(f"{table.reference} against each, final regret", head, duels))
    return grids


def problem_grid(table: Table) -> Grid:
    methods = [row.method for row in table.rows]
    rows = tuple(
        (problem, *(_significant(means.get(method)) for method in methods)) for problem, means in table.by_problem
    )
    return Grid("Mean final regret per problem", ("problem", *methods), rows)


def print_grids(grids: Sequence[Grid], console: Console) -> None:
    from rich.table import Table as RichTable

    for grid in grids:
        table = RichTable(title=grid.title, title_justify="left")
        for number, column in enumerate(grid.columns):
            table.add_column(column, justify="left" if number == 0 else "right", no_wrap=number == 0)
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)


def regret_markdown(tables: Sequence[Table]) -> str:
    parts = []
    for table in tables:
        first, *others = regret_grids(table)
        parts.append(f"# {first.title}\n")
        parts.append(f"{_REGRET_NOTE[table.scale]} {_PROTOCOL_NOTE}\n")
        if table.common_cells < table.cells:
            parts.append(
                f"Not every method ran everywhere: `mean rank` compares those with all {table.cells} cells, "
                f"`rank on {table.common_cells}` compares all on the cells they share; regret and time are "
                f"over each method's own runs.\n"
            )
        parts.append(grid_markdown(first))
        for grid in (*others, problem_grid(table)):
            parts.append(f"## {grid.title}\n")
            parts.append(grid_markdown(grid))
        parts.append(
            provenance(table.commands, " to ".join(dict.fromkeys(table.dates)), table.versions, table.machines)
        )
    return "\n".join(parts)


def regret_json(tables: Sequence[Table]) -> list[dict[str, Any]]:
    return [
        {
            **asdict(table),
            "duels": [{**asdict(duel), "win_rate": duel.win_rate if duel.cells else None} for duel in table.duels],
        }
        for table in tables
    ]


def grid_markdown(grid: Grid) -> str:
    rule = ["---", *["---:"] * (len(grid.columns) - 1)]
    lines = [grid.columns, tuple(rule), *grid.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def provenance(commands: Sequence[str], dates: str, versions: Mapping[str, str], machines: Sequence[str]) -> str:
    listed = "\n".join(commands)
    named = ", ".join(f"{package} {version}" for package, version in versions.items())
    return f"```sh\n{listed}\n```\n\n{dates} · {named} · {' and '.join(machines)}\n"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _significant(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _per_loss(duel: Duel) -> str:
    if duel.wins == duel.losses == 0:
        return "–"
    return "no loss" if math.isinf(duel.wins_per_loss) else f"{duel.wins_per_loss:.1f}"


_PACKAGES = ("pellucid", "optuna", "numpy", "scipy", "scikit-learn")


def page_markdown(
    title: str, note: str, grids: Sequence[Grid], command: str, packages: tuple[str, ...] = _PACKAGES
) -> str:
    """A page of tables that were made just now."""
    parts = [f"# {title}\n", f"{note}\n"]
    for grid in grids:
        parts += [f"## {grid.title}\n", grid_markdown(grid)]
    return "\n".join([*parts, provenance((command,), now(), versions(packages), (platform.platform(),))])


def show_grids(grids: Sequence[Grid], as_json: bool, quiet: bool) -> None:
    """Tables on standard output, for machines or for people."""
    if as_json:
        typer.echo(json.dumps([asdict(grid) for grid in grids]))
    elif not quiet:
        from rich.console import Console

        print_grids(grids, Console())
