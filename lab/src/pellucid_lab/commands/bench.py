"""``pellucid bench``: the commands. Only typer is imported here; everything slow waits until a command runs.

Exit codes: 0 done, 1 some runs failed, 2 the request is wrong, 3 nothing could run because something is
missing, 130 stopped by Ctrl-C (what was finished is kept).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.errors import Mistake, Unavailable
from pellucid.cli.terminal import FAILED, STOPPED, say, sentences
from pellucid_lab.commands.hpob import hpob
from pellucid_lab.commands.ranking import ranking
from pellucid_lab.terminal import command_line, integers, names_in, progress_bar, write

if TYPE_CHECKING:
    from pellucid_lab.costs.latency import FullRun, Timing

app = typer.Typer(no_args_is_help=True, help="Compare samplers: regret over problems, milliseconds per ask.")

Data = Annotated[str | None, typer.Option(help="Folder with the YAHPO data; default: $PELLUCID_DATA.")]
TableFile = Annotated[Path | None, typer.Option("--table", help="Write the tables as Markdown to this file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the tables as JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no tables, only errors.")]
Reference = Annotated[str, typer.Option(help="The method whose wins and losses are counted.")]


@app.command()
def regret(
    suite: Annotated[str, typer.Option(help="bbob, synthetic, hpobench, lcbench, rbv2_xgboost or sklearn.")] = "bbob",
    out: Annotated[Path, typer.Option(help="JSON lines, one per run; runs already there are skipped.")] = Path(
        "regret.jsonl"
    ),
    methods: Annotated[str | None, typer.Option(help="Names with commas; default: the suite's own.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Problems by name, with commas; default: the suite's own.")] = None,
    functions: Annotated[str, typer.Option(help="BBOB functions, like 1-24 or 1,8,15.")] = "1-24",
    instances: Annotated[str, typer.Option(help="BBOB instances, like 1,2.")] = "1,2",
    dim: Annotated[int, typer.Option(min=2, help="BBOB dimension.")] = 8,
    seeds: Annotated[str | None, typer.Option(help="Like 0 or 0-4; default: the suite's own.")] = None,
    init: Annotated[
        int | None, typer.Option(min=1, help="Random evaluations first, the same for every method.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Evaluations the method proposes.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 2,
    data: Data = None,
    table: TableFile = None,
    reference: Reference = "pellucid",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run methods on problems and tabulate ranks, wins, regret and time.

    Repeat the command to continue after a stop, or with other methods or problems to add to the same file.
    """
    with sentences():
        from pellucid_lab.problems.suites import find_suite, problem_names
        from pellucid_lab.runs.runner import plan_jobs

        chosen = find_suite(suite)
        names = problem_names(
            chosen,
            names_in(tasks, "--tasks") if tasks is not None else None,
            integers(functions, "--functions"),
            integers(instances, "--instances"),
            dim,
        )
        planned, notes = plan_jobs(
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
            raise Unavailable("Nothing to run: every method that was asked for is skipped.")
        from pellucid_lab.runs.planned import run_planned

        failures = run_planned(planned, out, jobs, quiet)
        _show_regret(out, table, reference, as_json, quiet)
        if failures:
            say(f"{len(failures)} of {len(planned)} runs failed; repeat the command to try them again:")
            for one in failures:
                say(f"  {one.problem} {one.method} seed {one.seed}: {one.error}")
            raise typer.Exit(FAILED)


@app.command(name="table")
def tabulate(
    file: Annotated[Path, typer.Argument(help="JSON lines written by `pellucid bench regret`.")],
    table: TableFile = None,
    reference: Reference = "pellucid",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tabulate a file of runs again, without running anything."""
    with sentences():
        if not file.is_file():
            raise Mistake(f"The file of runs has to exist; there is no {file}.")
        _show_regret(file, table, reference, as_json, quiet)


@app.command()
def latency(
    n: Annotated[
        str, typer.Option("--n", help="Finished trials in the study, with commas.")
    ] = "50,100,200,280,500,1000",
    dim: Annotated[int, typer.Option(min=2, help="Dimensions.")] = 8,
    function: Annotated[int, typer.Option(min=1, max=24, help="BBOB function of the trials.")] = 15,
    methods: Annotated[
        str, typer.Option(help="Names with commas; the others are divided by the first.")
    ] = "pellucid,optuna-gp,botorch,smac",
    repeats: Annotated[int, typer.Option(min=1, help="Timed steps; slow methods may do fewer.")] = 7,
    max_n: Annotated[
        str | None, typer.Option("--max-n", help="Leave slow methods out above some n: botorch=280,smac=280.")
    ] = None,
    full_run: Annotated[
        bool, typer.Option(help="Also time a complete 24 + 256 evaluation run of the first method.")
    ] = True,
    out: Annotated[Path | None, typer.Option(help="Write every timing as JSON to this file.")] = None,
    table: TableFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Milliseconds per ask against the number of trials, all methods side by side in one run."""
    with sentences():
        from pellucid_lab.base import require_modules
        from pellucid_lab.costs.latency import Plan, assemble, load_per_core, measure
        from pellucid_lab.methods.samplers import find_method, usable_methods

        require_modules(("ioh",), "the latency benchmark")
        usable, notes = usable_methods(names_in(methods, "--methods"))
        for note in notes:
            say(note)
        if not usable:
            raise Unavailable("Nothing to run: every method that was asked for is skipped.")
        limits = _limits(max_n) if max_n is not None else {}
        for name in limits:
            find_method(name)
        sizes = integers(n, "--n")
        if min(sizes) < 1:
            raise Mistake(f"--n lists numbers of finished trials, each at least 1; got {min(sizes)}.")
        plan = Plan(tuple(one.name for one in usable), sizes, dim, function, repeats, limits, full_run)
        results: list[Timing | FullRun] = []
        stopped = False
        load = load_per_core()
        total = len(plan.blocks()) + full_run
        try:
            with progress_bar("latency", total, quiet) as advance:
                for one in measure(plan):
                    results.append(one)
                    advance(one.method)
        except KeyboardInterrupt:
            stopped = True
        record = assemble(plan, results, load, command_line())

        from pellucid_lab.costs import latency_tables
        from pellucid_lab.tables import output

        if out is not None:
            write(out, json.dumps(latency_tables.latency_json(record), indent=1) + "\n")
        if table is not None:
            write(table, latency_tables.latency_markdown(record))
        if as_json:
            typer.echo(json.dumps(latency_tables.latency_json(record)))
        elif not quiet:
            from rich.console import Console

            output.print_grids(latency_tables.latency_grids(record), Console())
            for sentence in latency_tables.latency_sentences(record):
                typer.echo(sentence)
        if stopped:
            say(f"Stopped after {len(results)} of {total} measurements.")
            raise typer.Exit(STOPPED)
        if any(one.error is not None for one in results):
            raise typer.Exit(FAILED)


@app.command()
def stopping(
    suite: Annotated[
        str, typer.Option(help="A suite whose problems all have one unit, such as hpobench.")
    ] = "hpobench",
    tolerance: Annotated[float, typer.Option(help="`regret_below`, in the unit of the objective.")] = 0.005,
    budget: Annotated[int, typer.Option(min=2, help="Trials of a full run.")] = 100,
    seeds: Annotated[str, typer.Option(help="Like 0 or 0-4.")] = "0-4",
    patience: Annotated[int, typer.Option(min=1)] = 5,
    min_trials: Annotated[int, typer.Option(min=1)] = 20,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 2,
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    """How much of a budget `StopWhen` saves, and what that costs."""
    with sentences():
        from pellucid_lab.base import require_modules
        from pellucid_lab.costs import stopping as runs
        from pellucid_lab.problems.suites import find_suite, problem_names
        from pellucid_lab.runs.results import now, versions

        chosen = find_suite(suite)
        require_modules(chosen.requires, f"the {suite} suite")
        names = problem_names(chosen, None, tuple(range(1, 25)), (1,), 8)
        tasks = [
            runs.Task(suite, name, seed, chosen.n_init, budget, tolerance, patience, min_trials)
            for name in names
            for seed in integers(seeds, "--seeds")
        ]
        endings = []
        with progress_bar("stopping", len(tasks), quiet) as advance:
            for ending in runs.run_tasks(tasks, jobs):
                endings.append(ending)
                advance(ending.problem)
        text = runs.markdown(tasks, endings)
        used = versions(("pellucid", "optuna", "numpy", "scipy"))
        text += f"\n```sh\n{command_line()}\n```\n\n{now()} · " + ", ".join(f"{k} {v}" for k, v in used.items()) + "\n"
        if table is not None:
            write(table, text)
        if not quiet:
            typer.echo(text)


@app.command(name="report")
def report_cost(
    trials: Annotated[str, typer.Option(help="Sizes of studies, like 100,1000.")] = "100,1000",
    params: Annotated[int, typer.Option(min=5, help="Parameters of every study.")] = 20,
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    """Seconds and megabytes of a report, for a random study and one of pellucid."""
    with sentences():
        from pellucid_lab.base import require_modules
        from pellucid_lab.runs.results import now, versions

        require_modules(("plotly",), "reports")
        from pellucid_lab.costs import report as runs

        wanted = [(sampler, n) for n in integers(trials, "--trials") for sampler in runs.SAMPLERS]
        costs = []
        with progress_bar("reports", len(wanted), quiet) as advance:
            for sampler, n in wanted:
                costs.append(runs.cost_of(sampler, n, params))
                advance(f"{sampler}, {n} trials")
        used = versions(("pellucid", "optuna", "numpy", "scipy", "plotly"))
        text = runs.markdown(costs)
        text += f"\n```sh\n{command_line()}\n```\n\n{now()} · " + ", ".join(f"{k} {v}" for k, v in used.items()) + "\n"
        if table is not None:
            write(table, text)
        if not quiet:
            typer.echo(text)


app.command()(hpob)
app.command()(ranking)


def _show_regret(file: Path, table: Path | None, reference: str, as_json: bool, quiet: bool) -> None:
    from pellucid_lab.runs.results import read_runs
    from pellucid_lab.tables import output
    from pellucid_lab.tables.regret import make_tables

    tables = make_tables(read_runs(file), reference)
    if table is not None:
        write(table, output.regret_markdown(tables))
    if as_json:
        typer.echo(json.dumps(output.regret_json(tables)))
    elif not quiet:
        from rich.console import Console

        for one in tables:
            output.print_grids(output.regret_grids(one), Console())


def _limits(text: str) -> dict[str, int]:
    limits = {}
    for part in text.split(","):
        name, _, size = part.strip().partition("=")
        if not name or not size.isdecimal():
            raise Mistake(f"--max-n takes METHOD=N with commas, like botorch=280,smac=280; got `{text}`.")
        limits[name] = int(size)
    return limits
