"""``pellucid reproduce hsic``: what matters for a goal, beside the source's tables."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pellucid.bench.terminal import command_line, sentences, write


def hsic(
    out: Annotated[Path, typer.Option(help="Folder for the tables.")] = Path("hsic"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table on standard output, only errors.")] = False,
) -> None:
    """The source's three examples, and what an analysis of ten thousand trials costs."""
    with sentences():
        import optuna

        from pellucid.bench import hsic_examples
        from pellucid.bench.output import page_markdown

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        grids = [
            hsic_examples.normalisation(),
            hsic_examples.interaction(),
            hsic_examples.conditional(),
            hsic_examples.cost(),
        ]
        note = (
            "The index of equation (9), with its standard error. Example 1: a parameter's own distribution must not "
            "count. Example 2: neither of two parameters matters alone. Example 3: x3 exists where x2 > t only."
        )
        write(
            out / "examples.md",
            page_markdown("HSIC towards a goal: the source's examples", note, grids, command_line()),
        )
        if as_json:
            typer.echo(json.dumps([asdict(grid) for grid in grids]))
        elif not quiet:
            from rich.console import Console

            from pellucid.bench.output import print_grids

            print_grids(grids, Console())
