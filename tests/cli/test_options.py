"""A study is named in the same ways by every command, and help groups the options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.errors import Mistake
from pellucid.surfaces.cli.options import one_name
from pellucid.surfaces.cli.storage.naming import VARIABLE

URL = "sqlite:///studies.db"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def studies() -> None:
    for name in ("first", "second"):
        optuna.create_study(study_name=name, storage=URL)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("argument", "option", "name"),
    [(None, None, None), ("a", None, "a"), (None, "a", "a"), ("a", "a", "a"), ("", None, ""), (None, "", "")],
)
def test_a_name_is_an_argument_or_an_option(argument: str | None, option: str | None, name: str | None) -> None:
    assert one_name(argument, option) == name


def test_two_names_are_a_mistake() -> None:
    with pytest.raises(Mistake, match="takes one study; got `a` and --study `b`: leave one of them out"):
        one_name("a", "b")


@pytest.mark.usefixtures("studies")
def test_explain_takes_a_name_both_ways() -> None:
    answers = [
        call("explain", *name, "--storage", URL)
        for name in (["second"], ["--study", "second"], ["second", "--study", "second"])
    ]
    assert {answer.exit_code for answer in answers} == {0}
    assert len({answer.stdout for answer in answers}) == 1
    assert "Study `second`" in answers[0].stdout


@pytest.mark.usefixtures("studies")
@pytest.mark.parametrize("command", ["explain", "report", "publish"])
def test_every_command_about_a_study_takes_a_name_both_ways(command: str) -> None:
    result = call(command, "first", "--study", "second", "--storage", URL)
    assert result.exit_code == 2
    assert "got `first` and --study `second`" in result.stderr
    assert not Path("report.html").exists()
    result = call(command, "--study", "secnd", "--storage", URL)
    assert result.exit_code == 2
    assert "Did you mean `second`?" in result.stderr


@pytest.mark.usefixtures("studies")
@pytest.mark.parametrize(
    "words",
    [
        ["explain", "--storage", URL, "s"],
        ["explain", "--storage", URL, "--study", "s"],
        ["report", "--storage", URL, "--study", "s"],
        ["publish", "--storage", URL, "--study", "s"],
        ["tune", "script.py:objective", "--storage", URL, "--study", "s"],
        ["meta-train", "--storage", URL, "--study", "s"],
    ],
)
def test_names_are_completed_wherever_they_are_given(words: list[str]) -> None:
    result = CliRunner().invoke(app, prog_name="pellucid", env=completing(words))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.split() == ["second"]


@pytest.mark.usefixtures("studies")
@pytest.mark.parametrize(("words", "variables"), [(["--storage-file", "url.txt"], {}), ([], {VARIABLE: URL})])
def test_names_are_completed_if_no_option_has_the_address(words: list[str], variables: dict[str, str]) -> None:
    Path("url.txt").write_text(URL)
    result = CliRunner().invoke(app, prog_name="pellucid", env={**completing(["explain", *words, "s"]), **variables})
    assert (result.exit_code, result.stdout.split(), result.stderr) == (0, ["second"], "")


@pytest.mark.usefixtures("studies")
def test_names_are_completed_in_a_shell() -> None:
    """As a shell asks, in a process of its own: imports take longer than all of the completions above."""
    environment = {**os.environ, **completing(["tune", "script.py:objective", "--storage", URL, "--study", "s"])}
    run = [sys.executable, "-m", "pellucid.cli"]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["second"]


def completing(words: list[str]) -> dict[str, str]:
    """How a shell asks for the completions of the last word."""
    line = " ".join(["pellucid", *words])
    return {"_PELLUCID_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}


@pytest.mark.parametrize(
    ("command", "headings"),
    [
        ("tune", ["Search", "Study", "Running", "Output"]),
        ("explain", ["Study", "Question", "Output"]),
        ("report", ["Study", "Output"]),
        ("publish", ["Study"]),
        ("meta-train", ["Study", "Output", "Running"]),
        ("mcp", ["Study", "Output", "Running"]),
    ],
)
def test_help_groups_the_options(command: str, headings: list[str]) -> None:
    lines = call(command, "--help").stdout.splitlines()
    titles = [line.strip("╭╮─ ") for line in lines if line.startswith("╭")]
    assert [title for title in titles if title not in ("Arguments", "Options")] == headings
    own = lines[lines.index(next(line for line in lines if line.startswith("╭─ Options"))) + 1 :]
    assert own[0].startswith("│ --help"), "an option has no heading"
