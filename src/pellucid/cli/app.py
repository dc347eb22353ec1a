"""The ``pellucid`` command: one small file per command, joined here.

Nothing but typer and the standard library is imported until a command runs, so that help and completion answer at once.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Annotated

import typer

from pellucid.cli.explain import explain
from pellucid.cli.meta_train import meta_train
from pellucid.cli.publish import publish
from pellucid.cli.report import report
from pellucid.cli.tune.command import tune

# Other distributions add commands under this entry-point group: each entry is a Typer application.
PLUGINS = "pellucid.commands"

app = typer.Typer(
    name="pellucid",
    no_args_is_help=True,
    help="Hyperparameter optimisation you can see through.",
    pretty_exceptions_enable=False,
)
app.command()(tune)
app.command()(explain)
app.command()(report)
app.command()(publish)
app.command()(meta_train)


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


@cache
def application() -> typer.Typer:
    """The command line with the commands that other installed distributions add."""
    for plugin in sorted(entry_points(group=PLUGINS), key=lambda entry: entry.name):
        app.add_typer(plugin.load(), name=plugin.name)
    return app


def run() -> None:
    application()(prog_name="pellucid")
