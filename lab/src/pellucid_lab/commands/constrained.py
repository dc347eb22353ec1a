"""``pellucid bench constrained``: methods on problems whose constraints only an evaluation shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.errors import Unavailable
from pellucid.surfaces.cli.terminal import say, sentences
from pellucid_lab.options import AsJson, Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, integers, names_in, write

_SEEDS = {"design": "0-4", "reported": "100-109"}


def constrained(
    problems: Annotated[
        str, typer.Option(help="design, reported, or names of problems separated by commas.")
    ] = "reported",
    methods: Annotated[
        str, typer.Option(help="Some of pellucid, optuna-gp, optuna-tpe and random.")
    ] = "pellucid,optuna-gp,optuna-tpe,random",
    seeds: Annotated[
        str | None, typer.Option(help="Like 0 or 0-9; default: 0-4 for design, 100-109 otherwise.")
    ] = None,
    init: Annotated[int, typer.Option(min=1, help="Random trials at the start, the same for every method.")] = 10,
    trials: Annotated[int, typer.Option(min=2, help="All trials of a run, those at the start included.")] = 60,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per run; runs that it already has are skipped.")
    ] = Path("constrained.jsonl"),
    jobs: Jobs = 2,
    table: TableFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.problems.constrained import SETS
        from pellucid_lab.runs.constrained import constrained_file, plan_constrained, run_constrained_task
        from pellucid_lab.runs.runner import run_missing, stop_on_failures
        from pellucid_lab.tables.constrained import constrained_grids, constrained_page
        from pellucid_lab.tables.grids import show_grids

        planned, notes = plan_constrained(
            SETS[problems] if problems in SETS else names_in(problems, "--problems"),
            names_in(methods, "--methods"),
            integers(seeds if seeds is not None else _SEEDS.get(problems, _SEEDS["reported"]), "--seeds"),
            init,
            trials,
            command_line(),
        )
        for note in notes:
            say(note)
        if not planned:
            raise Unavailable("Nothing to run: every requested method is skipped.")
        file = constrained_file(out)
        failures = run_missing("runs", run_constrained_task, planned, file, jobs, quiet)
        runs = [run for run in file.read() if (run.n_init, run.n_trials) == (init, trials)]
        if runs:
            if table is not None:
                write(table, constrained_page(runs))
            show_grids(constrained_grids(runs), as_json, quiet)
        stop_on_failures(failures, len(planned))
