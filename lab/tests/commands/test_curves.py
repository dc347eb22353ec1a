"""`pellucid bench curves` from the command line: a small run, its continuation, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.tests.helpers import call

from pellucid_lab.runs.curves import curve_file

RUN = ("bench", "curves", "--problems", "schedule-scales", "--seeds", "0", "--init", "2", "--budget", "4", "--jobs=1")


def test_a_run_its_table_and_its_continuation(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    out, table = tmp_path / "deep" / "runs.jsonl", tmp_path / "table.md"
    options = ("--samplers", "random", "--pruners", "none,sha", "--out", str(out), "--table", str(table))
    first = call(*RUN, *options, "--json", "--quiet")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)[0]["title"] == "trainings: methods on 1 cells (problem × seed)"
    runs = {run.method: run for run in curve_file(out).read()}
    assert runs["random+none"].finals[:4] == runs["random+sha"].finals[:4]
    assert "| random+sha |" in table.read_text()

    lines = out.read_text().splitlines(keepends=True)
    out.write_text(lines[0] + lines[1][:60])
    second = call(*RUN, *options)
    assert second.exit_code == 0, second.output
    assert "1 of 2 runs are already in" in second.stderr
    assert {run.method: run.finals for run in curve_file(out).read()} == {
        method: run.finals for method, run in runs.items()
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--problems", "spiral"], "The problems with curves are lcbench-3945"),
        (["--problems", "schedule-scales", "--samplers", "smac"], "--samplers takes some of pellucid"),
        (["--problems", "schedule-scales", "--pruners", "guess"], "The pruners are none"),
        (["--problems", "schedule-scales", "--budget", "8"], "--budget counts all complete trainings"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(arguments, sentence, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("bench", "curves", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == []
