"""The examples run as they are, only shorter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers import ROOT


def test_effects_of_a_tpe_study(tmp_path: Path) -> None:
    figure = tmp_path / "effect.html"
    command = [sys.executable, "examples/effects.py", "--trials", "15", "--figure", str(figure)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Provisional: 15 trials for 5 parameters") == 5
    assert "`learning_rate`" in done.stdout
    assert figure.stat().st_size > 100_000
