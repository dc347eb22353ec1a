"""``pellucid bench fronts``: how true the answers about several objectives are, on problems whose fronts are known;
``pellucid bench dense-fronts``: how much of a dense front is named."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.terminal import STOPPED, say, sentences
from pellucid_lab.options import AsJson, Jobs, Quiet, TableFile
from pellucid_lab.terminal import collect, command_line, integers, names_in, write

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


def dense_fronts(
    trials: Annotated[str, typer.Option(help="Trials of the studies, like 20,100,600.")] = "20,100,600",
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.tables.grids import page, provenance_now, show_page
        from pellucid_lab.truth.dense_fronts import dense_front, dense_grid, dense_summary, dense_tasks

        tasks = dense_tasks(integers(trials, "--trials"))
        fronts, stopped = collect(
            "dense fronts", map(dense_front, tasks), len(tasks), quiet, lambda front: str(front.task.shape)
        )
        note = (
            "Trials on a known front, evenly along it with two objectives and spread over it with more. Noise is "
            "normal, with this share of the front's length as its sd. *Named*: members and those that were *thinned* "
            "because a member is nearly equal. *Least span*: the length of the members' true outcomes as a share of "
            "that of the trials truly on the front, in the objective where it is least. *After one more*: the length "
            "of the members' true outcomes after one more trial on the true front, as a share of their length before."
        )
        notes = [note, dense_summary(fronts)]
        show_page(
            page("How much of a dense front is named?", notes, [dense_grid(fronts)], provenance_now(command_line())),
            table,
            quiet,
        )
        if stopped:
            say(f"Stopped after {len(fronts)} of {len(tasks)} studies.")
            raise typer.Exit(STOPPED)
