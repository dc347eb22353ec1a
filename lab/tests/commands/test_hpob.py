"""`pellucid bench hpob` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.tests import helpers
from lab.tests.helpers import hpob_content, write_hpob

from pellucid.answers import drawing as plots
from pellucid_lab.papers.ranking.hpob import HpobRun
from pellucid_lab.runs.files import RunFile


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_hpob(hpob_content(), tmp_path / "data")


def call(*arguments: str):
    return helpers.call("bench", "hpob", *arguments)


def test_the_command_runs_continues_and_notices_other_data(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "browser", lambda: None)  # Pages are written faster than pictures.
    out = tmp_path / "out"
    arguments = ("--data", str(folder), "--steps", "6", "--jobs", "1", "--out", str(out))
    first = call(*arguments, "--spaces", "5527", "--methods", "random", "--no-figures", "--quiet")
    assert first.exit_code == 0, first.output
    assert first.output == ""
    assert len(RunFile(out / "hpob.jsonl", HpobRun).read()) == 2

    second = call(*arguments, "--json")
    assert second.exit_code == 0, second.output
    assert "2 of 10 runs are already in" in second.stderr
    grids = {grid["title"]: grid for grid in json.loads(second.stdout)}
    table = grids["Mean regret after … steps, 25 runs of 5 tasks"]
    assert table["columns"] == ["method", "1", "5", "6"]
    regrets = {row[0]: [float(value) for value in row[1:]] for row in table["rows"]}
    assert regrets["gp"][-1] < regrets["random"][-1]
    assert [row[0] for row in grids["Mean regret after 6 steps, by search space"]["rows"]] == ["4796", "5527"]
    page = (out / "hpob.md").read_text(encoding="utf-8")
    assert "with tasks as blocks" in page
    assert "## Average rank" in page
    for name in ("ranks", "regret", "differences-5", "differences-6"):
        assert (out / f"hpob-{name}.html").stat().st_size > 5000

    before = (out / "hpob.jsonl").read_bytes()
    third = call(*arguments, "--no-figures")
    assert third.exit_code == 0, third.output
    assert "10 of 10 runs are already in" in third.stderr
    assert "Average rank" in third.stdout
    assert (out / "hpob.jsonl").read_bytes() == before

    files = hpob_content()
    files["meta-test-dataset.json"]["4796"]["29"]["y"][0] = 0.123
    write_hpob(files, folder)
    fourth = call(*arguments, "--methods", "random", "--no-figures")
    assert fourth.exit_code == 0, fourth.output
    assert "4 of 5 runs are already in" in fourth.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--methods", "magic"], "The methods are random, gp, deep-ensemble, dgp, fsbo, rgpe, ranking; got `magic`"),
        (["--methods", "random,"], "--methods takes names separated by commas"),
        (["--spaces", "1"], "has no search space `1`; it has 4796, 5527"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, folder: Path, tmp_path: Path
) -> None:
    result = call("--data", str(folder), "--out", str(tmp_path / "out"), *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_damage_and_missing_data_end_the_command_with_their_sentence(folder: Path, tmp_path: Path) -> None:
    missing = call("--data", str(tmp_path / "nothing"), "--out", str(tmp_path / "out"))
    assert missing.exit_code == 3
    assert missing.stderr.startswith("HPO-B is skipped: it needs meta-test-dataset.json, but")
    (folder / "bo-initializations.json").write_text("{")
    damaged = call("--data", str(folder), "--out", str(tmp_path / "out"))
    assert damaged.exit_code == 2
    assert "has to be JSON" in damaged.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_of_the_file_that_was_cut_short_is_run_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--data", str(folder), "--steps", "2", "--jobs", "1", "--out", str(out), "--methods", "random",
                 "--spaces", "5527", "--no-figures", "--quiet")  # fmt: skip
    assert call(*arguments).exit_code == 0
    whole = RunFile(out / "hpob.jsonl", HpobRun).read()
    text = (out / "hpob.jsonl").read_text()
    (out / "hpob.jsonl").write_text(text[:-10])
    assert call(*arguments).exit_code == 0
    assert [run.regret for run in RunFile(out / "hpob.jsonl", HpobRun).read()] == [run.regret for run in whole]
