"""The command `pellucid` with the commands that other distributions add."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli import app as module


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The installed plugins, for a test to fill. Groups that are added are removed again."""
    installed: list[EntryPoint] = []
    monkeypatch.setattr(module, "entry_points", lambda group: installed)
    monkeypatch.setattr(module.app, "registered_groups", [])
    module.application.cache_clear()
    yield installed
    module.application.cache_clear()


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, module.PLUGINS)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(module.application(), list(arguments))


greeter = typer.Typer(help="Commands that greet.")


@greeter.command()
def hello() -> None:
    typer.echo("Hello.")


@greeter.command()
def goodbye() -> None:
    typer.echo("Goodbye.")


def test_a_plugin_adds_its_commands(plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str]) -> None:
    plugins.append(entry("greet", f"{__name__}:greeter"))
    assert call("greet", "hello").stdout == "Hello.\n"
    assert "greet" in call("--help").stdout
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("no_such_package.commands:app", "ModuleNotFoundError: No module named 'no_such_package'"),
        (f"{__name__}:no_such_name", "AttributeError"),
        ("tests.cli.broken_plugin:app", "RuntimeError: two\\nlines"),
        (f"{__name__}:hello", "has to be a Typer application, but it is of type function"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_reported_and_left_out(
    plugins: list[EntryPoint], capsys: pytest.CaptureFixture[str], value: str, problem: str
) -> None:
    plugins += [entry("broken", value), entry("greet", f"{__name__}:greeter")]
    assert call("greet", "goodbye").stdout == "Goodbye.\n"
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.startswith("The command `broken` is left out: ")
    assert problem in warning
    assert "broken" not in call("--help").stdout
    result = call("tune", "no_such_script.py:objective", "--trials", "1")
    assert result.exit_code == 2
    assert "there is no file `no_such_script.py`" in result.stderr
