"""``pellucid bench fronts``: how true the answers about several objectives are, on problems whose fronts are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.terminal import sentences
from pellucid_lab.options import AsJson, Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, integers, names_in, write

_SEEDS = {"design": "0-5", "reported": "100-104"}


def fronts(
    problems: Annotated[
        str, typer.Option(help="design, reported, or names of problems separated by commas.")
    ] = "reported",
    seeds: Annotated[
        str | None, typer.Option(help="Like 0 or 0-9; default: 0-5 for design, 100-104 otherwise.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per study; studies that it already has are skipped.")
    ] = Path("fronts.jsonl"),
    jobs: Jobs = 2,
    table: TableFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Chances of being on the front, intervals, exchange rates, roles, compromises and what matters for being on the
    front against the truth, on studies of 60 trials.

    Rules and constants are chosen on the design problems and seeds; errors are reported on the others.
    """
    with sentences():
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import page, provenance_of, show_grids
        from pellucid_lab.truth.front_runs import FrontRun, FrontTask, run_front_task
        from pellucid_lab.truth.front_tables import front_grids
        from pellucid_lab.truth.fronts import FRONTS, NOISE, check_front

        names = FRONTS[problems] if problems in FRONTS else names_in(problems, "--problems")
        for name in names:
            check_front(name)
        numbers = integers(seeds if seeds is not None else _SEEDS.get(problems, _SEEDS["reported"]), "--seeds")
        tasks = [
            FrontTask(name, noisy, seed, command_line())
            for seed in numbers
            for name in names
            for noisy in (False, True)
        ]
        file = RunFile(out, FrontRun)
        runs = complete("fronts", run_front_task, tasks, file, jobs, quiet)
        note = (
            f"{len(runs)} studies of 60 trials on {len(names)} problems with two objectives, by BayesianSampler with "
            f"its defaults. Noisy studies have normal noise with an sd of {NOISE:.0%} of the length of the front in "
            "every objective. Widths are shares of that length; how far compromises are behind is a share of the "
            "length of the front that was observed."
        )
        grids = front_grids(runs)
        if table is not None:
            write(table, page("Are answers about several objectives true?", [note], grids, provenance_of(runs)))
        show_grids(grids, as_json, quiet)
