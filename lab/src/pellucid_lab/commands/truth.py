"""``pellucid bench truth``: how true the answers are on ordinary studies of problems whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.terminal import sentences
from pellucid_lab.options import AsJson, Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, integers, names_in, write

if TYPE_CHECKING:
    from pellucid_lab.truth.studies import TruthTask

_SETS = {"design": "0-2", "reported": "100-104"}


def truth(
    problems: Annotated[
        str, typer.Option(help="design, reported, or names of problems separated by commas.")
    ] = "reported",
    samplers: Annotated[
        str, typer.Option(help="Methods separated by commas.")
    ] = "pellucid,optuna-tpe,optuna-gp,random",
    seeds: Annotated[
        str | None, typer.Option(help="Like 0 or 0-4; default: 0-2 for design, 100-104 otherwise.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per study; studies that it already has are skipped.")
    ] = Path("truth.jsonl"),
    studies: Annotated[
        Path, typer.Option(help="Folder in which studies of other samplers are kept, to be asked again.")
    ] = Path(".cache/truth"),
    jobs: Jobs = 2,
    table: TableFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import page, provenance_of, show_grids
        from pellucid_lab.truth.measures import TruthRun, run_truth_task
        from pellucid_lab.truth.tables import truth_grids

        file = RunFile(out, TruthRun)
        complete("truth", run_truth_task, _tasks(problems, samplers, seeds, studies), file, jobs, quiet)
        runs = file.read()
        grids = truth_grids(runs)
        count = len({run.problem for run in runs})
        note = (
            f"{len(runs)} studies of {count} problems, asked after 40 to 150 trials. ± is one standard error; "
            "the number of cases is in brackets. Widths are shares of the distance from a typical value to the optimum."
        )
        if table is not None:
            write(table, page("Are the answers true?", [note], grids, provenance_of(runs)))
        show_grids(grids, as_json, quiet)


def _tasks(problems: str, samplers: str, seeds: str | None, studies: Path) -> list[TruthTask]:
    """Every sampler on every problem, exact and noisy; seed by seed, so that a part of them is a smaller bench."""
    from pellucid_lab.methods.samplers import find_method
    from pellucid_lab.truth.problems import SETS, find_problem
    from pellucid_lab.truth.studies import SAMPLERS, TruthTask

    names = tuple(SETS[problems]) if problems in SETS else names_in(problems, "--problems")
    chosen = names_in(samplers, "--samplers")
    for name in names:
        find_problem(name)
    for method in chosen:
        find_method(method)
        if method not in SAMPLERS:
            raise Mistake(f"--samplers takes some of {', '.join(SAMPLERS)}; got `{method}`.")
    numbers = integers(seeds if seeds is not None else _SETS.get(problems, _SETS["reported"]), "--seeds")
    return [
        TruthTask(name, noisy, method, seed, str(studies), command_line())
        for seed in numbers
        for name in names
        for noisy in (False, True)
        for method in chosen
    ]
