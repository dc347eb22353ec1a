"""``pellucid bench hpob``: methods that may learn from other tasks, on the tables of HPO-B-v3."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.terminal import sentences
from pellucid_lab.options import AsJson, Figures, Jobs, Out, Quiet
from pellucid_lab.terminal import command_line, load_plots, names_in, save_figure, write

_PACKAGES = ("pellucid", "optuna", "numpy", "scipy", "scikit-learn")


def hpob(
    data: Annotated[
        str | None, typer.Option(help="Folder with the JSON files of HPO-B; default: hpob-data in $PELLUCID_DATA.")
    ] = None,
    spaces: Annotated[str | None, typer.Option(help="Ids of search spaces separated by commas; default: all.")] = None,
    methods: Annotated[
        str, typer.Option(help="Of random, gp, deep-ensemble, dgp, fsbo, rgpe, ranking; separated by commas.")
    ] = ("random,gp"),
    steps: Annotated[int, typer.Option(min=1, help="Configurations that each run looks up after its start.")] = 100,
    out: Out = Path("hpob"),
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        chosen = names_in(methods, "--methods")
        chosen_spaces = None if spaces is None else names_in(spaces, "--spaces")
        from pellucid_lab.papers.ranking import report
        from pellucid_lab.papers.ranking.hpob import HpobRun, check_methods, plan, regrets_of, run_hpob_task
        from pellucid_lab.problems.hpob import find_folder
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import page, provenance_now, show_grids

        check_methods(chosen)
        if figures:
            load_plots()
        tasks = plan(str(find_folder(data)), chosen_spaces, chosen, steps)
        runs = complete("hpob", run_hpob_task, tasks, RunFile(out / "hpob.jsonl", HpobRun), jobs, quiet)
        regrets = regrets_of(tasks, runs)
        grids = report.report_grids(regrets)
        write(out / "hpob.md", page("HPO-B-v3", [report.NOTE], grids, provenance_now(command_line(), _PACKAGES)))
        if figures:
            for name, figure in report.figures(regrets, "HPO-B-v3").items():
                save_figure(figure, out / f"hpob-{name}")
        show_grids(grids, as_json, quiet)
