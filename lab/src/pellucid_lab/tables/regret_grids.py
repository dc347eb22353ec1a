"""Regret, ranks and wins as tables for the terminal, Markdown and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from pellucid_lab.base import Scale
from pellucid_lab.tables.found import found_grid
from pellucid_lab.tables.grids import Grid, page, provenance
from pellucid_lab.tables.regret import Duel, RegretTable

_REGRET_NOTE: dict[Scale, str] = {
    "log10": "Regret is log10(best value so far − optimum), cut at 1e-8.",
    "normalised": (
        "Regret is the distance from the best value so far to the best known value (the optimum of a table, or the "
        "best of all runs here), divided by the distance from the best known value to the problem's anchor (the worst "
        "value of a table, or the median of a random search): 0 is the best, 1 is a typical random configuration."
    ),
    "difference": (
        "Regret is the distance from the best value so far to the optimum if it is known, otherwise to the best value "
        "of all runs."
    ),
}

_PROTOCOL_NOTE = (
    "The columns give its mean and median over the runs after that many evaluations; lower is better, and equal "
    "values share a rank. All methods continue the same random initial design. Times are of the steps after it "
    "(milliseconds per ask, seconds of ask and tell per run), with one thread per process."
)


def regret_grids(table: RegretTable) -> list[Grid]:
    half = (table.n_init + table.n_steps + 1) // 2
    full = table.n_init + table.n_steps
    partial = table.common_cells < table.cells
    columns = ["method", "runs", "mean rank"]
    if partial:
        columns.append(f"rank on {table.common_cells}")
    columns += [f"mean@{half}", f"median@{half}", f"mean@{full}", f"median@{full}"]
    # Shown only if it differs: the best of 20,000 random configurations then counts among the best known values.
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
    name = f"{table.suite} {table.regime}".strip()
    title = f"{name}, {table.n_init} + {table.n_steps} evaluations, {table.cells} cells (problem × seed)"
    duels = tuple(
        (
            duel.method,
            *map(str, (duel.wins, duel.ties, duel.losses)),
            per_loss(duel),
            f"{100 * duel.win_rate:.0f}%" if duel.cells else "–",
        )
        for duel in table.duels
    )
    grids = [Grid(title, tuple(columns), tuple(rows))]
    if duels:
        head = ("against", "wins", "ties", "losses", "wins per loss", "win rate")
        grids.append(Grid(f"{table.reference} against each, final regret", head, duels))
    if table.found is not None:
        grids.append(found_grid(table.found))
    return grids


def problem_grid(table: RegretTable) -> Grid:
    methods = [row.method for row in table.rows]
    rows = tuple(
        (problem, *(_significant(means.get(method)) for method in methods)) for problem, means in table.by_problem
    )
    return Grid("Mean final regret per problem", ("problem", *methods), rows)


def regret_markdown(tables: Sequence[RegretTable]) -> str:
    return "\n".join(map(_regret_page, tables))


def _regret_page(table: RegretTable) -> str:
    first, *others = regret_grids(table)
    notes = [f"{_REGRET_NOTE[table.scale]} {_PROTOCOL_NOTE}"]
    if table.common_cells < table.cells:
        notes.append(
            f"Not every method ran everywhere: `mean rank` compares those with all {table.cells} cells, "
            f"`rank on {table.common_cells}` compares all methods on the cells they share; regret and time are "
            f"over each method's own runs."
        )
    dates = " to ".join(dict.fromkeys(table.dates))
    origin = provenance(table.commands, dates, table.versions, table.machines)
    return page(first.title, notes, [replace(first, title=""), *others, problem_grid(table)], origin)


def regret_json(tables: Sequence[RegretTable]) -> list[dict[str, Any]]:
    return [
        {
            **asdict(table),
            "duels": [{**asdict(duel), "win_rate": duel.win_rate if duel.cells else None} for duel in table.duels],
        }
        for table in tables
    ]


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _significant(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def per_loss(duel: Duel) -> str:
    """Wins per loss, as text."""
    if duel.wins == duel.losses == 0:
        return "–"
    return "no loss" if math.isinf(duel.wins_per_loss) else f"{duel.wins_per_loss:.1f}"
