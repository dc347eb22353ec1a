"""`pellucid bench stopping`, `scale`, `report` and `pruning` from the command line."""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires
from pathlib import Path

import optuna
import pytest
from lab.tests.helpers import call
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from packaging.requirements import Requirement

import pellucid
from pellucid_lab.costs import large


def test_the_table_of_stopping(tmp_path: Path) -> None:
    table = tmp_path / "stopping.md"
    arguments = (
        "bench", "stopping", "--seeds", "0", "--budget", "24", "--tolerance", "10", "--patience", "1", "--min-trials",
        "20", "--out", str(tmp_path / "stopping.jsonl"), "--table", str(table),
    )  # fmt: skip
    result = call(*arguments, "--quiet")
    assert result.exit_code == 0, result.output
    text = table.read_text(encoding="utf-8")
    assert "| all | 8 | 83% |" in text, "a tolerance of 10 lets every run stop at 20 of 24 trials"
    assert "the model sees room to improve" in text
    again = call(*arguments)
    assert again.exit_code == 0, again.output
    assert "8 of 8 runs are already in" in again.stderr
    assert "| all | 8 | 83% |" in again.stdout


def test_the_table_of_report_costs(tmp_path: Path) -> None:
    table = tmp_path / "report.md"
    done = call("bench", "report", "--trials", "15", "--params", "5", "--table", str(table))
    assert done.exit_code == 0, done.output
    assert "| random | 15 | 5 |" in table.read_text()
    assert "| pellucid | 15 | 5 |" in done.stdout
    assert "```sh" in table.read_text()


def test_the_table_of_live_pages(tmp_path: Path) -> None:
    table = tmp_path / "live.md"
    done = call("bench", "report", "--live", "12", "--table", str(table))
    assert done.exit_code == 0, done.output
    assert re.search(r"^\| 12 \|( \d+\.\d \|){4} \d+\.\d \(12\) \|$", table.read_text(), re.MULTILINE)


def test_the_table_of_commands_on_large_studies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(large, "KINDS", large.KINDS[:1])
    monkeypatch.setattr(large, "SURFACES", ("explain",))
    table = tmp_path / "large.md"
    done = call("bench", "report", "--large", "30", "--table", str(table))
    assert done.exit_code == 0, done.output
    row = re.search(r"^\| one objective \| 30 \| explain \|(.*)\|$", table.read_text(), re.MULTILINE)
    assert row is not None
    seconds, loading, peak, loaded = map(float, row.group(1).split("|"))
    assert seconds > 0.0
    assert loading > 0.0
    assert 30.0 < loaded < peak, "megabytes"


def test_a_command_that_fails_on_a_large_study_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SURFACES", ("nonsense",))
    with pytest.raises(RuntimeError, match="nonsense ended with 2"):
        list(large.costs_of(large.KINDS[0], 10))


@pytest.mark.parametrize("kind", large.KINDS)
def test_every_kind_of_large_study_can_be_written_and_asked(kind: str, tmp_path: Path) -> None:
    journal = str(tmp_path / "study.log")
    large.write_study(kind, 60, journal)
    study = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(journal)))
    assert len(study.trials) == 60
    assert bool(pellucid.receipts(study)) == (kind == large.KINDS[-1])
    assert pellucid.history(study).sentence


def test_without_plotly_reports_name_an_extra_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    result = call("bench", "report")
    assert result.exit_code == 3
    assert result.stderr.startswith("the benchmark of reports is skipped: it needs plotly; install with ")
    ((distribution, extra),) = re.findall(r"`pip install '([\w-]+)\[(\w+)\]'`", result.stderr)
    requirements = [Requirement(text) for text in requires(distribution) or ()]
    markers = [each.marker for each in requirements if each.name == "plotly"]
    assert any(marker is not None and marker.evaluate({"extra": extra}) for marker in markers)


def test_the_table_of_large_studies(tmp_path: Path) -> None:
    table = tmp_path / "scale.md"
    arguments = (
        "bench", "scale", "--n", "40", "--dims", "2", "--functions", "1", "--steps", "3", "--no-costs", "--out",
        str(tmp_path / "scale.jsonl"), "--table", str(table),
    )  # fmt: skip
    result = call(*arguments, "--quiet")
    assert result.exit_code == 0, result.output
    text = table.read_text(encoding="utf-8")
    assert "| f01-i3-d2 | 10 |" in text
    assert "in 0 of 1 runs, a worse one in 0, and the same in the others" in text, "up to the limit, both are the same"
    again = call(*arguments)
    assert "2 of 2 runs are already in" in again.stderr


def test_the_cost_of_a_pruner_is_measured(tmp_path: Path) -> None:
    table = tmp_path / "pruning.md"
    done = call("bench", "pruning", "--trials", "12", "--table", str(table), "--quiet")
    assert done.exit_code == 0, done.output
    (row,) = [line for line in table.read_text().splitlines() if line.startswith("| 12 |")]
    milliseconds = [float(cell) for cell in row.strip("| ").split(" | ")[1:]]
    assert len(milliseconds) == 7
    assert all(cell > 0.0 for cell in milliseconds)
