"""``pellucid bench faults``: what a study survives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.terminal import FAILED, say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, names_in, write


def faults(
    kinds: Annotated[
        str,
        typer.Option(
            help="Some of statements, kills, parents, forks, disks, readonly, locked, restarts, clocks, receipts, "
            "models, names and distributions, or all."
        ),
    ] = "all",
    kills: Annotated[int, typer.Option(min=20, help="Kills at random moments; one in twenty of tune's parent.")] = 1000,
    receipts: Annotated[int, typer.Option(min=10, help="Receipts that are changed.")] = 100_000,
    models: Annotated[int, typer.Option(min=10, help="Model files that are changed.")] = 20_000,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per task; tasks that it already has are skipped.")
    ] = Path("faults.jsonl"),
    jobs: Jobs = 1,
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        require_modules(("plotly", "psycopg2", "torch"), "the benchmark of faults")
        from pellucid_lab.faults.base import FaultRecord
        from pellucid_lab.faults.plan import RUNS, Sizes, planned, run_fault_task
        from pellucid_lab.faults.tables import failures, fault_grid, fault_page
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import show_grids

        chosen = tuple(RUNS) if kinds == "all" else names_in(kinds, "--kinds")
        tasks = planned(chosen, Sizes(kills, receipts, models), command_line())
        file = RunFile(out, FaultRecord)
        complete("tasks", run_fault_task, tasks, file, jobs, quiet)
        records = file.of(tasks)
        if table is not None:
            write(table, fault_page(records))
        show_grids([fault_grid(records)], False, quiet)
        if failed := failures(records):
            say(f"Failed: {failed}. The table says what went wrong.")
            raise typer.Exit(FAILED)
