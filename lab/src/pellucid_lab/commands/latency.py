"""``pellucid bench latency``: milliseconds per ask, all methods side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.surfaces.cli.errors import Mistake, Unavailable
from pellucid.surfaces.cli.terminal import FAILED, STOPPED, print_json, print_lines, say, sentences
from pellucid_lab.options import AsJson, Quiet, TableFile
from pellucid_lab.terminal import collect, command_line, integers, names_in, write

if TYPE_CHECKING:
    from pellucid_lab.costs.latency import LatencyPlan


def latency(
    n: Annotated[
        str, typer.Option("--n", help="Numbers of finished trials in the study, separated by commas.")
    ] = "50,100,200,280,500,1000",
    dim: Annotated[int, typer.Option(min=2, help="Number of parameters.")] = 8,
    function: Annotated[int, typer.Option(min=1, max=24, help="BBOB function of the trials.")] = 15,
    methods: Annotated[
        str, typer.Option(help="Names separated by commas; times are divided by those of the first.")
    ] = "pellucid,optuna-gp,botorch,smac",
    repeats: Annotated[int, typer.Option(min=1, help="Timed steps; slow methods may do fewer.")] = 7,
    max_n: Annotated[
        str | None, typer.Option("--max-n", help="Leave slow methods out above some n, like botorch=280,smac=280.")
    ] = None,
    full_run: Annotated[
        bool, typer.Option(help="Also time a complete run of 24 + 256 evaluations of the first method.")
    ] = True,
    out: Annotated[Path | None, typer.Option(help="Write every timing as JSON to this file.")] = None,
    table: TableFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    with sentences():
        from pellucid_lab.costs.latency import assemble, measure
        from pellucid_lab.costs.latency_tables import (
            latency_grids,
            latency_json,
            latency_markdown,
            latency_sentences,
        )
        from pellucid_lab.costs.load import load_per_core
        from pellucid_lab.tables.grids import print_grids

        plan = _plan(n, dim, function, methods, repeats, max_n, full_run)
        load = load_per_core()
        total = len(plan.blocks()) + full_run
        results, stopped = collect("latency", measure(plan), total, quiet, lambda result: result.method)
        record = assemble(plan, results, load, command_line())
        if out is not None:
            write(out, json.dumps(latency_json(record), indent=1) + "\n")
        if table is not None:
            write(table, latency_markdown(record))
        if as_json:
            print_json(latency_json(record))
        elif not quiet:
            print_grids(latency_grids(record))
            for sentence in latency_sentences(record):
                print_lines(sentence)
        if stopped:
            say(f"Stopped after {len(results)} of {total} measurements.")
            raise typer.Exit(STOPPED)
        if any(result.error is not None for result in results):
            raise typer.Exit(FAILED)


def _plan(
    n: str, dim: int, function: int, methods: str, repeats: int, max_n: str | None, full_run: bool
) -> LatencyPlan:
    from pellucid_lab.base import require_modules
    from pellucid_lab.costs.latency import LatencyPlan
    from pellucid_lab.methods.samplers import find_method, usable_methods

    require_modules(("ioh",), "the latency benchmark")
    usable, notes = usable_methods(names_in(methods, "--methods"))
    for note in notes:
        say(note)
    if not usable:
        raise Unavailable("Nothing to run: every requested method is skipped.")
    limits = _limits(max_n) if max_n is not None else {}
    for name in limits:
        find_method(name)
    sizes = integers(n, "--n")
    if min(sizes) < 1:
        raise Mistake(f"--n lists numbers of finished trials, each at least 1; got {min(sizes)}.")
    return LatencyPlan(tuple(method.name for method in usable), sizes, dim, function, repeats, limits, full_run)


def _limits(text: str) -> dict[str, int]:
    limits = {}
    for part in text.split(","):
        name, _, size = part.strip().partition("=")
        if not name or not size.isdecimal():
            raise Mistake(f"--max-n takes METHOD=N separated by commas, like botorch=280,smac=280; got `{text}`.")
        limits[name] = int(size)
    return limits
