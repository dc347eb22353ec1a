"""`pellucid bench moo` from the command line: a small run, its continuation, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.tests.helpers import call

from pellucid_lab.runs.several import several_file

RUN = ("bench", "moo", "--problems", "tnk", "--seeds", "0", "--init", "4", "--trials", "7", "--jobs", "1")


def test_a_run_its_table_and_its_continuation(tmp_path: Path) -> None:
    out, table = tmp_path / "deep" / "runs.jsonl", tmp_path / "table.md"
    options = ("--out", str(out), "--table", str(table))
    first = call(*RUN, "--methods", "random", *options, "--json", "--quiet")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)[0]["title"] == "Methods, and their mean volume over 1 common runs"
    lines = out.read_text()

    second = call(*RUN, "--methods", "random,optuna-tpe", *options)
    assert second.exit_code == 0, second.output
    assert "1 of 2 runs are already in" in second.stderr
    assert out.read_text().startswith(lines)
    runs = {run.method: run for run in several_file(out).read()}
    assert runs["random"].values["f1"][:4] == runs["optuna-tpe"].values["f1"][:4]
    assert "| tnk |" in table.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--problems", "zdt5"], "The problems with several objectives are shifted-zdt1"),
        (["--problems", "zdt1", "--methods", "smac"], "--methods takes methods that read several objectives"),
        (["--problems", "zdt1", "--trials", "8"], "--trials counts all trials"),
        (["--problems", "zdt1", "--seeds", "2-1"], "--seeds takes numbers and ranges"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("bench", "moo", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {sentence}")
    assert not list(tmp_path.iterdir())
