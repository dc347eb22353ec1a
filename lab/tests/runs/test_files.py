"""Files of runs: what a crash leaves behind, damaged lines, and the committed results."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from pellucid.surfaces.cli.errors import Mistake
from pellucid_lab.papers.hsic.searches import RandomNetwork, SearchRun
from pellucid_lab.papers.ranking.experiments import TransferRun
from pellucid_lab.runs.files import RunFile
from pellucid_lab.runs.regret import RegretRun, RegretTask, regret_file

RESULTS = Path(__file__).parents[2] / "results"


def run(method: str, last: float = 1.0) -> RegretRun:
    seconds = (0.001,) * 3
    return RegretRun("synthetic", "branin", method, 0, 2, 1, "minimize", (3.0, 2.0, last), seconds, seconds)


def file_with(path: Path, *runs: RegretRun) -> RunFile[RegretRun]:
    file = regret_file(path)
    file.append(runs)
    return file


def test_an_incomplete_last_line_is_ignored_and_removed_before_appending(tmp_path: Path) -> None:
    file = file_with(tmp_path / "runs.jsonl", run("pellucid"), run("random"))
    file.path.write_bytes(file.path.read_bytes()[:-40])
    assert [record.method for record in file.read()] == ["pellucid"]
    file.prepare()
    file.append([run("random", 0.5)])
    assert [record.values[-1] for record in file.read()] == [1, 0.5]


def test_a_file_with_only_an_incomplete_line_starts_again(tmp_path: Path) -> None:
    file = regret_file(tmp_path / "runs.jsonl")
    file.path.write_text('{"suite": "bb')
    assert file.read() == []
    file.prepare()
    assert file.path.read_bytes() == b""


def test_a_damaged_line_inside_the_file_is_named(tmp_path: Path) -> None:
    file = file_with(tmp_path / "runs.jsonl", run("pellucid"))
    file.path.write_text(file.path.read_text() + "not json\n" + file.path.read_text())
    with pytest.raises(Mistake, match=r"line 2 of .*runs\.jsonl .*remove that line or choose another file"):
        file.read()


@pytest.mark.parametrize("change", [{"values": [1.0]}, {"surprise": 1}, {"seed": None, "values": None}])
def test_a_line_that_is_not_a_run_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    file = regret_file(tmp_path / "runs.jsonl")
    file.path.write_text(json.dumps({**asdict(run("pellucid")), **change}) + "\n")
    with pytest.raises(Mistake, match="line 1"):
        file.read()


@pytest.mark.parametrize("line", ["[]", "1", "null", '"text"'])
def test_a_line_that_is_not_an_object_is_named(tmp_path: Path, line: str) -> None:
    file = regret_file(tmp_path / "runs.jsonl")
    file.path.write_text(line + "\n")
    with pytest.raises(Mistake, match="line 1"):
        file.read()


def test_failures_are_not_runs_and_the_last_run_of_a_key_counts(tmp_path: Path) -> None:
    file = regret_file(tmp_path / "runs.jsonl")
    task = RegretTask("synthetic", "branin", "pellucid", 0, 2, 1)
    file.append_failure(task, "ValueError: no", "Traceback", "2026-01-01")
    assert file.read() == []
    assert file.missing([task]) == [task]
    file.append([run("pellucid"), run("pellucid", 0.0)])
    assert [record.values[-1] for record in file.read()] == [0]
    assert file.missing([task]) == []
    assert [record.key for record in file.of([task])] == [task.key]


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        run("pellucid", float("nan"))


@pytest.mark.parametrize(
    ("name", "record", "count"),
    [
        ("engine/bbob", RegretRun, 247),
        ("engine/hpobench", RegretRun, 400),
        ("engine/rbv2", RegretRun, 600),
        ("hsic/runge-random", RandomNetwork, 2000),
        ("hsic/runge-searches", SearchRun, 31),
        ("ranking/lcbench", TransferRun, 290),
    ],
)
def test_committed_results_can_be_read(name: str, record: type, count: int) -> None:
    assert len(RunFile(RESULTS / f"{name}.jsonl", record).read()) == count
