"""``pellucid bench curves``: samplers and pruners on trainings that can be stopped early."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.errors import Unavailable
from pellucid.surfaces.cli.terminal import say, sentences
from pellucid_lab.options import AsJson, Data, Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, integers, names_in, write

_SEEDS = {"design": "0-4", "reported": "100-104"}


def curves(
    problems: Annotated[
        str, typer.Option(help="design, reported, trainings, or names of problems separated by commas.")
    ] = "reported",
    samplers: Annotated[
        str, typer.Option(help="Some of pellucid, ei, optuna-gp, optuna-tpe and random.")
    ] = "pellucid,optuna-gp,optuna-tpe",
    pruners: Annotated[
        str,
        typer.Option(
            help="Some of none, median, median-5, patient, sha, hyperband, wilcoxon, curve (`CurvePruner()`), "
            "curve-20 (`keep=0.2`) and curve-100 (`keep=1`), each with every sampler."
        ),
    ] = "none,median,median-5,patient,sha,hyperband,wilcoxon,curve,curve-20,curve-100",
    seeds: Annotated[
        str | None, typer.Option(help="Like 0 or 0-9; default: 0-4 for design, 100-104 otherwise.")
    ] = None,
    init: Annotated[int, typer.Option(min=1, help="Random starts, the same for every method.")] = 10,
    budget: Annotated[
        int, typer.Option(min=2, help="Steps of a run, in complete trainings: 40 is 2,080 epochs of lcbench.")
    ] = 40,
    data: Data = None,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per run; runs that it already has are skipped.")
    ] = Path("curves.jsonl"),
    jobs: Jobs = 2,
    table: TableFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.problems.curves import SETS
        from pellucid_lab.runs.curves import curve_file, plan_curves, run_curve_task
        from pellucid_lab.runs.runner import run_missing, stop_on_failures
        from pellucid_lab.tables.curves import curve_grids, curve_page
        from pellucid_lab.tables.grids import show_grids

        planned, notes = plan_curves(
            SETS[problems] if problems in SETS else names_in(problems, "--problems"),
            names_in(samplers, "--samplers"),
            names_in(pruners, "--pruners"),
            integers(seeds if seeds is not None else _SEEDS.get(problems, _SEEDS["reported"]), "--seeds"),
            init,
            budget,
            data,
            command_line(),
        )
        for note in notes:
            say(note)
        if not planned:
            raise Unavailable("Nothing to run: every requested problem or sampler is skipped.")
        file = curve_file(out)
        failures = run_missing("runs", run_curve_task, planned, file, jobs, quiet)
        runs = [run for run in file.read() if (run.n_init, run.budget) == (init, budget)]
        if runs:
            if table is not None:
                write(table, curve_page(runs))
            show_grids(curve_grids(runs), as_json, quiet)
        stop_on_failures(failures, len(planned))
