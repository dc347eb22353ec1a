"""`pellucid bench faults` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.tests.helpers import call

pytest.importorskip("torch")
pytest.importorskip("psycopg2")


def test_faults_are_counted_and_a_second_run_continues(tmp_path: Path) -> None:
    out, table = tmp_path / "faults.jsonl", tmp_path / "faults.md"
    arguments = ("bench", "faults", "--kinds", "models", "--models", "15", "--out", str(out), "--table", str(table))
    done = call(*arguments, "--quiet")
    assert done.exit_code == 0, done.output
    text = table.read_text(encoding="utf-8")
    assert "| changed model file | structure | 6 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "| all |  | 15 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    again = call(*arguments)
    assert again.exit_code == 0, again.output
    assert "3 of 3 runs are already in" in again.stderr

    lines = out.read_text(encoding="utf-8").splitlines()
    broken = {**json.loads(lines[0]), "lost": 1, "notes": ["lost: trial 3"]}
    out.write_text("\n".join([*lines, json.dumps(broken)]) + "\n", encoding="utf-8")
    failed = call(*arguments, "--quiet")
    assert failed.exit_code == 1
    assert "Failed: 1." in failed.stderr
    assert "lost: trial 3" in table.read_text(encoding="utf-8")


def test_an_unknown_kind_is_refused() -> None:
    result = call("bench", "faults", "--kinds", "floods")
    assert result.exit_code == 2
    assert "--kinds takes some of statements, kills" in result.stderr
