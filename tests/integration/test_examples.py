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


def test_why_trials_were_proposed(tmp_path: Path) -> None:
    command = [sys.executable, "examples/why.py", "--trials", "16", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Trial 10 was proposed mainly for" in done.stdout
    assert "Over 6 proposals (trials 10 to 15)" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"proposal.html", "paths.html"}


def test_what_mattered_in_two_steps(tmp_path: Path) -> None:
    figure = tmp_path / "matters.html"
    command = [sys.executable, "examples/matters.py", "--random", "40", "--steps", "3", "--figure", str(figure)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "For being among the best 10 %" in done.stdout
    assert "Step 1 tunes" in done.stdout
    assert "Step 2 tunes" in done.stdout
    assert figure.stat().st_size > 100_000
