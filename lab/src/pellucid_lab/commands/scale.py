"""``pellucid bench scale``: what an ask costs in large studies, and whether a choice of the trials is enough."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.terminal import sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, integers


def scale(
    n: Annotated[int, typer.Option("--n", min=20, help="Trials of the studies that two models continue.")] = 3000,
    dims: Annotated[str, typer.Option(help="Numbers of parameters of these studies, like 5,8.")] = "5,8",
    functions: Annotated[str, typer.Option(help="Their BBOB functions, like 1-24.")] = "1,2,6,8,12,15,20,21",
    instance: Annotated[int, typer.Option(min=1, help="Their BBOB instance.")] = 3,
    seeds: Annotated[str, typer.Option(help="Like 0 or 0-4.")] = "10",
    steps: Annotated[int, typer.Option(min=3, help="Asks of every run.")] = 30,
    costs: Annotated[bool, typer.Option(help="Also measure asks of studies of up to 10,000 trials.")] = True,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per run; runs that it already has are skipped.")
    ] = Path("scale.jsonl"),
    jobs: Jobs = 1,
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        require_modules(("ioh",), "the scale benchmark")
        from pellucid_lab.costs.scale import ScaleRun, ScaleTask, cost_tasks, markdown, run_scale_task
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import PACKAGES, provenance_now, show_page

        timed = cost_tasks(function=8, steps=steps) if costs else []
        continued = [
            ScaleTask(n, dim, 0, function, instance, seed, steps, exact)
            for seed in integers(seeds, "--seeds")
            for dim in integers(dims, "--dims")
            for function in integers(functions, "--functions")
            for exact in (True, False)
        ]
        file = RunFile(out, ScaleRun)
        complete("scale", run_scale_task, [*timed, *continued], file, jobs, quiet)
        text = markdown(file.of(timed), file.of(continued), provenance_now(command_line(), (*PACKAGES, "ioh")))
        show_page(text, table, quiet)
