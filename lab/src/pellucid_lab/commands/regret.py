"""``pellucid bench regret`` and ``pellucid bench table``: methods on problems, and the tables of such runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.terminal import print_json, say, sentences
from pellucid_lab.options import AsJson, Data, Jobs, Quiet, TableFile
from pellucid_lab.terminal import command_line, integers, names_in, write

Reference = Annotated[str, typer.Option(help="The method whose wins and losses are counted.")]


def regret(
    suite: Annotated[
        str, typer.Option(help="bbob, synthetic, hpobench, lcbench, rbv2_xgboost, sklearn, choices or models.")
    ] = "bbob",
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per run; runs that it already has are skipped.")
    ] = Path("regret.jsonl"),
    methods: Annotated[str | None, typer.Option(help="Names separated by commas; default: those of the suite.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Problems by name; default: those of the suite.")] = None,
    functions: Annotated[str, typer.Option(help="BBOB functions, like 1-24 or 1,8,15.")] = "1-24",
    instances: Annotated[str, typer.Option(help="Instances of BBOB functions or of choices, like 1,2.")] = "1,2",
    dim: Annotated[int, typer.Option(min=2, help="Dimension of the BBOB functions.")] = 8,
    seeds: Annotated[str | None, typer.Option(help="Like 0 or 0-4; default: those of the suite.")] = None,
    init: Annotated[
        int | None, typer.Option(min=1, help="Random evaluations at the start, the same for every method.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Evaluations that the method proposes.")] = None,
    jobs: Jobs = 2,
    data: Data = None,
    table: TableFile = None,
    reference: Reference = "pellucid",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.problems.suites import find_suite, problem_names
        from pellucid_lab.runs.regret import plan_regret, regret_file, run_regret_task
        from pellucid_lab.runs.runner import run_missing, stop_on_failures

        chosen = find_suite(suite)
        names = problem_names(
            chosen,
            names_in(tasks, "--tasks") if tasks is not None else None,
            integers(functions, "--functions"),
            integers(instances, "--instances"),
            dim,
        )
        planned, notes = plan_regret(
            chosen,
            names,
            names_in(methods, "--methods") if methods is not None else chosen.methods,
            integers(seeds, "--seeds") if seeds is not None else chosen.seeds,
            chosen.n_init if init is None else init,
            chosen.n_steps if steps is None else steps,
            data,
            command_line(),
        )
        for note in notes:
            say(note)
        if not planned:
            raise Unavailable("Nothing to run: every requested method is skipped.")
        failures = run_missing("runs", run_regret_task, planned, regret_file(out), jobs, quiet)
        _show(out, table, reference, as_json, quiet)
        stop_on_failures(failures, len(planned))


def tabulate(
    file: Annotated[Path, typer.Argument(help="File that `pellucid bench regret` wrote.")],
    table: TableFile = None,
    reference: Reference = "pellucid",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        if not file.is_file():
            raise Mistake(f"The file of runs has to exist; there is no {file}.")
        _show(file, table, reference, as_json, quiet)


def _show(file: Path, table: Path | None, reference: str, as_json: bool, quiet: bool) -> None:
    from pellucid_lab.runs.regret import regret_file
    from pellucid_lab.tables.grids import print_grids
    from pellucid_lab.tables.regret import make_tables
    from pellucid_lab.tables.regret_grids import regret_grids, regret_json, regret_markdown

    tables = make_tables(regret_file(file).read(), reference)
    if table is not None:
        write(table, regret_markdown(tables))
    if as_json:
        print_json(regret_json(tables))
    elif not quiet:
        for regret_table in tables:
            print_grids(regret_grids(regret_table))
