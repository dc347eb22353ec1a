"""``pellucid bench``: the commands. Only typer is imported here; everything slow waits until a command runs.

Exit codes: 0 done, 1 some runs failed, 2 the request is wrong, 3 nothing could run because something is
missing, 130 stopped by Ctrl-C (what was finished is kept).
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.bench.base import BenchError, Job, Unavailable

if TYPE_CHECKING:
    from pellucid.bench.latency import FullRun, Timing
    from pellucid.bench.results import Failure

app = typer.Typer(no_args_is_help=True, help="Compare samplers: regret over problems, milliseconds per ask.")

FAILED, WRONG, MISSING, STOPPED = 1, 2, 3, 130

Data = Annotated[str | None, typer.Option(help="Folder with the YAHPO data; default: $PELLUCID_DATA, ../shared/data.")]
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
    with _sentences():
        from pellucid.bench.problems import find_suite, problem_names
        from pellucid.bench.runner import plan_jobs

        chosen = find_suite(suite)
        names = problem_names(
            chosen,
            _names(tasks, "--tasks") if tasks is not None else None,
            _integers(functions, "--functions"),
            _integers(instances, "--instances"),
            dim,
        )
        planned, notes = plan_jobs(
            chosen,
            names,
            _names(methods, "--methods") if methods is not None else chosen.methods,
            _integers(seeds, "--seeds") if seeds is not None else chosen.seeds,
            chosen.n_init if init is None else init,
            chosen.n_steps if steps is None else steps,
            data,
            _command_line(),
        )
        for note in notes:
            _say(note)
        if not planned:
            raise Unavailable("Nothing to run: every method that was asked for is skipped.")
        failures = _run(planned, out, jobs, quiet)
        _show_regret(out, table, reference, as_json, quiet)
        if failures:
            _say(f"{len(failures)} of {len(planned)} runs failed; repeat the command to try them again:")
            for one in failures:
                _say(f"  {one.problem} {one.method} seed {one.seed}: {one.error}")
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
    with _sentences():
        if not file.is_file():
            raise BenchError(f"The file of runs has to exist; there is no {file}.")
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
    with _sentences():
        from pellucid.bench.base import require_modules
        from pellucid.bench.latency import Plan, assemble, load_per_core, measure
        from pellucid.bench.methods import find_method, usable_methods

        require_modules(("ioh",), "the latency benchmark")
        usable, notes = usable_methods(_names(methods, "--methods"))
        for note in notes:
            _say(note)
        if not usable:
            raise Unavailable("Nothing to run: every method that was asked for is skipped.")
        limits = _limits(max_n) if max_n is not None else {}
        for name in limits:
            find_method(name)
        sizes = _integers(n, "--n")
        if min(sizes) < 1:
            raise BenchError(f"--n lists numbers of finished trials, each at least 1; got {min(sizes)}.")
        plan = Plan(tuple(one.name for one in usable), sizes, dim, function, repeats, limits, full_run)
        results: list[Timing | FullRun] = []
        stopped = False
        load = load_per_core()
        total = len(plan.blocks()) + full_run
        try:
            with _progress("latency", total, quiet) as advance:
                for one in measure(plan):
                    results.append(one)
                    advance(one.method)
        except KeyboardInterrupt:
            stopped = True
        record = assemble(plan, results, load, _command_line())

        from pellucid.bench import output

        if out is not None:
            _write(out, json.dumps(output.latency_json(record), indent=1) + "\n")
        if table is not None:
            _write(table, output.latency_markdown(record))
        if as_json:
            typer.echo(json.dumps(output.latency_json(record)))
        elif not quiet:
            from rich.console import Console

            output.print_grids(output.latency_grids(record), Console())
            for sentence in output.latency_sentences(record):
                typer.echo(sentence)
        if stopped:
            _say(f"Stopped after {len(results)} of {total} measurements.")
            raise typer.Exit(STOPPED)
        if any(one.error is not None for one in results):
            raise typer.Exit(FAILED)


def _run(planned: list[Job], out: Path, processes: int, quiet: bool) -> list[Failure]:
    from pellucid.bench.results import Failure
    from pellucid.bench.runner import pending, run_jobs

    left = pending(planned, out)
    if len(left) < len(planned) and not quiet:
        _say(f"{len(planned) - len(left)} of {len(planned)} runs are already in {out}.")
    failures = []
    done = 0
    try:
        with _progress("runs", len(left), quiet) as advance:
            for record in run_jobs(left, out, processes):
                done += 1
                advance(f"{record.problem} {record.method}")
                if isinstance(record, Failure):
                    failures.append(record)
    except KeyboardInterrupt:
        _say(f"Stopped: {done} of {len(left)} runs were added to {out}; the same command continues.")
        raise typer.Exit(STOPPED) from None
    return failures


def _show_regret(file: Path, table: Path | None, reference: str, as_json: bool, quiet: bool) -> None:
    from pellucid.bench import output
    from pellucid.bench.results import read_runs
    from pellucid.bench.tables import make_tables

    tables = make_tables(read_runs(file), reference)
    if table is not None:
        _write(table, output.regret_markdown(tables))
    if as_json:
        typer.echo(json.dumps(output.regret_json(tables)))
    elif not quiet:
        from rich.console import Console

        for one in tables:
            output.print_grids(output.regret_grids(one), Console())


@contextmanager
def _progress(what: str, total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar with an estimate of the time left; the function moves it by one and names what was finished."""
    if quiet or total == 0:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    # Runs of slow peers take minutes: an estimate over rich's default of 30 s would see none of them end.
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
        console=Console(stderr=True),
        speed_estimate_period=3600,
    )
    with progress:
        bar = progress.add_task(what, total=total, last="")
        yield lambda name: progress.update(bar, advance=1, last=name)


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn what the user can mend into one sentence and an exit code."""
    try:
        yield
    except BenchError as error:
        _say(f"Error: {error}")
        raise typer.Exit(WRONG) from None
    except Unavailable as reason:
        _say(str(reason))
        raise typer.Exit(MISSING) from None
    except OSError as error:
        if error.filename is None:
            raise
        _say(f"Error: {error.filename} cannot be used ({error.strerror}); choose another path.")
        raise typer.Exit(WRONG) from None


def _integers(text: str, option: str) -> tuple[int, ...]:
    """Numbers and ranges with commas: ``1-3,7`` is 1, 2, 3, 7."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise BenchError(f"{option} takes numbers and ranges with commas, like 1-3,7; got `{text}`.")
        numbers.extend(range(int(first), int(last) + 1) if dash else [int(first)])
    return tuple(dict.fromkeys(numbers))


def _names(text: str, option: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if "" in names:
        raise BenchError(f"{option} takes names with commas between them; got `{text}`.")
    return names


def _limits(text: str) -> dict[str, int]:
    limits = {}
    for part in text.split(","):
        name, _, size = part.strip().partition("=")
        if not name or not size.isdecimal():
            raise BenchError(f"--max-n takes METHOD=N with commas, like botorch=280,smac=280; got `{text}`.")
        limits[name] = int(size)
    return limits


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _command_line() -> str:
    return shlex.join(["pellucid", *sys.argv[1:]])


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
