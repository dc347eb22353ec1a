"""`pellucid bench constrained` from the command line: a small run, its continuation, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.tests.helpers import call

from pellucid_lab.runs.constrained import constrained_file

RUN = ("bench", "constrained", "--problems", "townsend", "--seeds", "0", "--init", "4", "--trials", "7", "--jobs", "1")


def test_a_run_its_table_and_its_continuation(tmp_path: Path) -> None:
    out, table = tmp_path / "deep" / "runs.jsonl", tmp_path / "table.md"
    options = ("--methods", "random,optuna-tpe", "--out", str(out), "--table", str(table))
    first = call(*RUN, *options, "--json", "--quiet")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)[0]["title"].startswith("Methods")
    runs = {run.method: run for run in constrained_file(out).read()}
    assert runs["random"].values[:4] == runs["optuna-tpe"].values[:4]
    assert "townsend (boundary)" in table.read_text()

    # A crash in the middle of a write: only the run that was lost is made again, and it is the same run.
    lines = out.read_text().splitlines(keepends=True)
    out.write_text(lines[0] + lines[1][:60])
    second = call(*RUN, *options)
    assert second.exit_code == 0, second.output
    assert "1 of 2 runs are already in" in second.stderr
    again = {run.method: run for run in constrained_file(out).read()}
    assert out.read_text().startswith(lines[0])
    assert {method: run.values for method, run in again.items()} == {method: run.values for method, run in runs.items()}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--problems", "spiral"], "The constrained problems are townsend"),
        (["--problems", "arc", "--methods", "smac"], "--methods takes methods that read constraints"),
        (["--problems", "arc", "--trials", "8"], "--trials counts all trials"),
        (["--problems", "arc", "--seeds", "2-1"], "--seeds takes numbers and ranges"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(arguments, sentence, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("bench", "constrained", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == []
