"""``pellucid bench forecasts``: how true predictions of learning curves are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.terminal import sentences
from pellucid_lab.options import Data, Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, integers, names_in


def forecasts(
    problems: Annotated[
        str, typer.Option(help="design, reported, trainings, or names of problems separated by commas.")
    ] = "reported",
    samplers: Annotated[
        str, typer.Option(help="Some of pellucid, optuna-tpe and random.")
    ] = "pellucid,optuna-tpe,random",
    seeds: Annotated[str, typer.Option(help="Like 0 or 0-9.")] = "100-104",
    data: Data = None,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per study; studies that it already has are skipped.")
    ] = Path("forecasts.jsonl"),
    jobs: Jobs = 2,
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.problems.curves import SETS, check_curves
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import page, provenance_of, show_page
        from pellucid_lab.truth.forecasts import ForecastRun, ForecastTask, forecast_grids, run_forecast_task

        names = SETS[problems] if problems in SETS else names_in(problems, "--problems")
        for name in names:
            check_curves(name, data)
        tasks = [
            ForecastTask(name, sampler, seed, data, command_line())
            for seed in integers(seeds, "--seeds")
            for name in names
            for sampler in names_in(samplers, "--samplers")
        ]
        file = RunFile(out, ForecastRun)
        complete("forecasts", run_forecast_task, tasks, file, jobs, quiet)
        runs = file.read()  # Of other problems, too.
        notes = [
            "Studies of 60 trials, ten of them random, that `CurvePruner()` pruned (`keep=0.05`). After every report, "
            "the model says the chance that the trial ends better than the best complete one so far, and an interval "
            "of its last value. Stopped trials were trained to the end for the record, which the study never saw. "
            "Predictions of one trial are not independent.",
        ]
        text = page("Are predictions of learning curves true?", notes, forecast_grids(runs), provenance_of(runs))
        show_page(text, table, quiet)
