"""The ``pellucid`` command. Every room brings its own commands; this file only joins them."""

from __future__ import annotations

from typing import Annotated

import typer

from pellucid.bench.commands import app as bench
from pellucid.bench.reproduce import app as reproduce

app = typer.Typer(
    name="pellucid",
    no_args_is_help=True,
    help="Hyperparameter optimisation you can see through.",
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")
app.add_typer(reproduce, name="reproduce")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pellucid {version('pellucid')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    app()
