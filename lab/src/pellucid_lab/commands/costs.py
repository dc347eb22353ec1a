"""``pellucid bench stopping``, ``report`` and ``pruning``: what stopping early, a report and a pruner cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.terminal import STOPPED, say, sentences
from pellucid_lab.base import require_modules
from pellucid_lab.options import Jobs, Quiet, TableFile
from pellucid_lab.terminal import collect, command_line, integers


def stopping(
    suite: Annotated[
        str, typer.Option(help="A suite whose problems all have the same unit, such as hpobench.")
    ] = "hpobench",
    tolerance: Annotated[float, typer.Option(help="`regret_below`, in the unit of the objective.")] = 0.005,
    budget: Annotated[int, typer.Option(min=2, help="Trials of a full run.")] = 100,
    seeds: Annotated[str, typer.Option(help="Like 0 or 0-4.")] = "0-4",
    patience: Annotated[int, typer.Option(min=1, help="`patience` of `StopWhen`.")] = 5,
    min_trials: Annotated[int, typer.Option(min=1, help="`min_trials` of `StopWhen`.")] = 20,
    out: Annotated[
        Path, typer.Option(help="File with one JSON line per run; runs that it already has are skipped.")
    ] = Path("stopping.jsonl"),
    jobs: Jobs = 2,
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.costs.stopping import StoppingRun, StoppingTask, markdown, run_stopping_task
        from pellucid_lab.problems.suites import find_suite, problem_names
        from pellucid_lab.runs.files import RunFile
        from pellucid_lab.runs.runner import complete
        from pellucid_lab.tables.grids import provenance_now, show_page

        chosen = find_suite(suite)
        require_modules(chosen.requires, f"the {suite} suite")
        names = problem_names(chosen, None, tuple(range(1, 25)), (1,), 8)
        tasks = [
            StoppingTask(suite, name, seed, chosen.n_init, budget, tolerance, patience, min_trials)
            for name in names
            for seed in integers(seeds, "--seeds")
        ]
        runs = complete("stopping", run_stopping_task, tasks, RunFile(out, StoppingRun), jobs, quiet)
        show_page(markdown(runs, provenance_now(command_line())), table, quiet)


def report(
    trials: Annotated[str, typer.Option(help="Sizes of the studies, like 100,1000.")] = "100,1000,5000",
    params: Annotated[str, typer.Option(help="Numbers of parameters, like 6,20; at least 5.")] = "6,20",
    live: Annotated[
        str | None, typer.Option(help="Instead: seconds of live pages for studies of these sizes, like 100,600.")
    ] = None,
    large: Annotated[
        str | None,
        typer.Option(help="Instead: seconds and peak memory of commands for studies of these sizes, like 6000,20000."),
    ] = None,
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        require_modules(("plotly",), "the benchmark of reports")
        if live is not None:
            _live_pages(integers(live, "--live"), table, quiet)
            return
        if large is not None:
            _large_studies(integers(large, "--large"), table, quiet)
            return
        from pellucid_lab.costs.report import FEWEST_PARAMS, cost_of, markdown, samplers_of
        from pellucid_lab.tables.grids import PACKAGES, provenance_now, show_page

        sizes, widths = integers(trials, "--trials"), integers(params, "--params")
        if min(widths) < FEWEST_PARAMS:
            raise Mistake(f"`--params` must be at least {FEWEST_PARAMS}, but got {min(widths)}.")
        reports = [(sampler, n, width) for width in widths for n in sizes for sampler in samplers_of(n)]
        costs, stopped = collect(
            "reports",
            (cost_of(*report) for report in reports),
            len(reports),
            quiet,
            lambda cost: f"{cost.sampler}, {cost.trials} trials",
        )
        show_page(markdown(costs, provenance_now(command_line(), (*PACKAGES, "plotly"))), table, quiet)
        if stopped:
            say(f"Stopped after {len(costs)} of {len(reports)} reports.")
            raise typer.Exit(STOPPED)


def _live_pages(sizes: Sequence[int], table: Path | None, quiet: bool) -> None:
    from pellucid_lab.costs.live import cost_of, markdown
    from pellucid_lab.tables.grids import PACKAGES, provenance_now, show_page

    costs, stopped = collect("studies", map(cost_of, sizes), len(sizes), quiet, lambda cost: f"{cost.trials} trials")
    show_page(markdown(costs, provenance_now(command_line(), (*PACKAGES, "plotly"))), table, quiet)
    if stopped:
        say(f"Stopped after {len(costs)} of {len(sizes)} studies.")
        raise typer.Exit(STOPPED)


def _large_studies(sizes: Sequence[int], table: Path | None, quiet: bool) -> None:
    from pellucid_lab.costs.large import SURFACES, costs_of, markdown, tasks_of
    from pellucid_lab.tables.grids import PACKAGES, provenance_now, show_page

    require_modules(("optuna_dashboard",), "the benchmark of large studies")
    tasks = tasks_of(sizes)
    measured = (cost for task in tasks for cost in costs_of(*task))
    total = len(tasks) * len(SURFACES)
    costs, stopped = collect("commands", measured, total, quiet, lambda cost: f"{cost.surface}, {cost.trials} trials")
    show_page(markdown(costs, provenance_now(command_line(), (*PACKAGES, "plotly"))), table, quiet)
    if stopped:
        say(f"Stopped after {len(costs)} of {total} commands.")
        raise typer.Exit(STOPPED)


def pruning(
    trials: Annotated[str, typer.Option(help="Sizes of the studies, like 100,1000.")] = "100,1000",
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.costs.pruning import cost_of, markdown
        from pellucid_lab.tables.grids import provenance_now, show_page

        sizes = integers(trials, "--trials")
        costs, stopped = collect(
            "studies", (cost_of(n) for n in sizes), len(sizes), quiet, lambda cost: f"{cost.trials} trials"
        )
        show_page(markdown(costs, provenance_now(command_line())), table, quiet)
        if stopped:
            say(f"Stopped after {len(costs)} of {len(sizes)} studies.")
            raise typer.Exit(STOPPED)


def running(
    trials: Annotated[str, typer.Option(help="Finished trials of the studies, like 100,500.")] = "100,500",
    stale: Annotated[str, typer.Option(help="Trials that run and never end, like 0,60.")] = "0,24,60,200",
    table: TableFile = None,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.costs.running import OTHER, OWN, RunningTask, cost_of_ask, markdown
        from pellucid_lab.tables.grids import provenance_now, show_page

        tasks = [
            RunningTask(storage, n, dead, asked_by)
            for storage in ("memory", "sqlite")
            for n in integers(trials, "--trials")
            for dead in integers(stale, "--stale")
            for asked_by in ((OWN, OTHER) if dead else (OWN,))
        ]
        costs, stopped = collect(
            "asks",
            map(cost_of_ask, tasks),
            len(tasks),
            quiet,
            lambda cost: f"{cost.task.trials} trials, {cost.task.stale} run",
        )
        show_page(markdown(costs, provenance_now(command_line())), table, quiet)
        if stopped:
            say(f"Stopped after {len(costs)} of {len(tasks)} studies.")
            raise typer.Exit(STOPPED)
