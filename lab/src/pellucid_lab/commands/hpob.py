"""``pellucid bench hpob``: methods that may learn from other tasks, on the tables of HPO-B-v3."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.terminal import sentences
from pellucid_lab.terminal import AsJson, Figures, Jobs, Quiet, command_line, load_plots, names_in, save_figure, write


def hpob(
    data: Annotated[
        str | None, typer.Option(help="Folder with HPO-B's JSON files; default: hpob-data in $PELLUCID_DATA.")
    ] = None,
    spaces: Annotated[str | None, typer.Option(help="Search spaces by id, with commas; default: all.")] = None,
    methods: Annotated[
        str, typer.Option(help="Of random, gp, deep-ensemble, dgp, fsbo, rgpe, ranking; with commas.")
    ] = ("random,gp"),
    steps: Annotated[int, typer.Option(min=1, help="Configurations each run looks up after its start.")] = 100,
    out: Annotated[Path, typer.Option(help="Folder for runs, tables and figures.")] = Path("hpob"),
    jobs: Jobs = 2,
    figures: Figures = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Regret, average ranks and critical differences of methods on the test tasks of HPO-B-v3.

    Every task is searched by every method from the published starts. Repeat the command to continue after a stop, or
    with other methods to add them.
    """
    with sentences():
        chosen = names_in(methods, "--methods")
        wanted = None if spaces is None else names_in(spaces, "--spaces")
        from pellucid_lab.papers.ranking import hpob as hpob_runs
        from pellucid_lab.problems.hpob import find_folder
        from pellucid_lab.runs.resumable import read, run_with_bar

        hpob_runs.check_methods(chosen)
        if figures:
            load_plots()
        planned = hpob_runs.plan(str(find_folder(data)), wanted, chosen, steps)
        file = out / "hpob.jsonl"
        done = {one.key for one in read(file, hpob_runs.Found)}
        run_with_bar("hpob", hpob_runs.run_job, planned, done, file, jobs, quiet)
        regrets = hpob_runs.regrets_of(planned, read(file, hpob_runs.Found))

        from pellucid_lab.papers.ranking import report as transfer_report
        from pellucid_lab.tables.output import page_markdown

        grids = transfer_report.report_grids(regrets)
        write(out / "hpob.md", page_markdown("HPO-B-v3", transfer_report.NOTE, grids, command_line()))
        if figures:
            for name, figure in transfer_report.figures(regrets, "HPO-B-v3").items():
                save_figure(figure, out / f"hpob-{name}")
        from pellucid_lab.tables.output import show_grids

        show_grids(grids, as_json, quiet)
