"""The command ``pellucid``, joined from one module per command.

Only typer and the standard library are imported before a command runs, so that help and completion answer at once.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pellucid.surfaces.cli.explain import explain
from pellucid.surfaces.cli.mcp.command import mcp
from pellucid.surfaces.cli.meta_train import meta_train
from pellucid.surfaces.cli.publish import publish
from pellucid.surfaces.cli.redaction import forget, guard_logs, redacted, remember_arguments
from pellucid.surfaces.cli.report import report
from pellucid.surfaces.cli.streams import OutputLost, open_closed_streams, told_if_lost
from pellucid.surfaces.cli.terminal import EXIT_CODES, FAILED, print_lines, say
from pellucid.surfaces.cli.tune.command import tune
from pellucid.words import printable, printable_lines, printable_traceback

# Other distributions add commands under this entry-point group: each entry is a Typer application.
PLUGINS = "pellucid.commands"
# Headings of the commands in `pellucid --help`.
_SEARCH, _ANSWERS, _ADDED = "Search", "Answers about a study", "Commands of other packages"

# The base of all errors about the arguments of a command, which typer does not export.
_UsageError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """The commands. What they do not say themselves has no secrets either, and nothing that controls a terminal: usage
    errors quote an argument that was given in the wrong place, and a traceback ends with a message of a library."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        forget()
        remember_arguments(args)
        guard_logs()
        with _harmless():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _harmless():
            return super().invoke(ctx)


@contextmanager
def _harmless() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = printable(redacted(error.message))
        raise
    except (typer.Exit, typer.Abort, OutputLost):
        raise
    except Exception as error:
        lines = printable_lines(redacted(printable_traceback(error)))
        if lines == traceback.format_exc().rstrip("\n"):
            raise
        say(*lines.split("\n"))
        raise typer.Exit(FAILED) from None


app = typer.Typer(
    name="pellucid",
    cls=_Commands,
    no_args_is_help=True,
    help="Hyperparameter optimisation you can see through.",
    epilog="Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    pretty_exceptions_enable=False,
)
# `help`, because docstrings are gone with PYTHONOPTIMIZE=2.
app.command(
    rich_help_panel=_SEARCH,
    help="Tune an objective: run it in worker processes, on a study that keeps everything.\n\n"
    "The same command continues a study that was stopped. It runs your code: tune only what you trust.",
)(tune)
app.command(
    rich_help_panel=_SEARCH,
    help="Learn from earlier studies: a model for `pellucid.RankingSampler(model=FILE)`.",
)(meta_train)
app.command(
    rich_help_panel=_ANSWERS,
    help="Explain a study of any sampler: what to use, whether to stop, what matters, and why a trial was proposed.\n\n"
    "Without options, it prints an overview in a few lines.",
)(explain)
app.command(
    rich_help_panel=_ANSWERS,
    help="Write a report of a study: one HTML file that needs no network. Or show one that renews itself (--serve).",
)(report)
app.command(
    rich_help_panel=_ANSWERS,
    help="Add pellucid's findings to a study, for Optuna Dashboard to show.",
)(publish)
app.command(
    rich_help_panel=_ANSWERS,
    help="Answer an agent's questions about the studies of a storage, over standard input and output (MCP).\n\n"
    "The agent's program starts this command itself.",
)(mcp)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print_lines(f"pellucid {version('pellucid')}")
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
        commands = _loaded(plugin)
        if commands is not None:
            app.add_typer(commands, name=plugin.name, rich_help_panel=_ADDED)
    return app


def _loaded(plugin: EntryPoint) -> typer.Typer | None:
    """The commands of a plugin; None, after a warning, if they cannot be loaded."""
    try:
        commands = plugin.load()
    except Exception as error:  # A plugin can raise any error; the other commands must still work.
        problem = f"it cannot be imported ({type(error).__name__}: {error})"
    else:
        if isinstance(commands, typer.Typer):
            return commands
        problem = f"a plugin has to be a Typer application, but it is of type {type(commands).__name__}"
    package = f" of {plugin.dist.name}" if plugin.dist is not None else ""
    say(f"The command `{plugin.name}`{package} is left out: {problem}. Reinstall or remove that package.")
    return None


def run() -> None:
    open_closed_streams()
    with told_if_lost():
        application()(prog_name="pellucid")
