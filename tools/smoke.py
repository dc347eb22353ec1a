"""A small test of an installed pellucid: python tools/smoke.py

It needs neither pytest nor the checkout. It imports every public name, tunes a study of 12 trials with the command
`pellucid`, explains the study, and writes a report if plotly is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

N_TRIALS = 12
OBJECTIVE = """
def objective(trial):
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 8)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return (depth - 5) ** 2 + abs(rate - 0.01) + (kind == "a")
"""
# The base dependencies, whose versions are printed.
BASE = ("numpy", "optuna", "rich", "scipy", "threadpoolctl", "typer")
# Packages whose public names a user imports.
PACKAGES = ("pellucid", "pellucid.acquisition", "pellucid.surrogates")


def main() -> None:
    versions = ", ".join(f"{name} {version(name)}" for name in BASE)
    print(f"Python {sys.version.split()[0]}, {versions}")
    print(f"  {load_public_names()} public names can be imported")
    with tempfile.TemporaryDirectory(prefix="pellucid-smoke-") as folder:
        check_commands(Path(folder))
    print("  passed")


def load_public_names() -> int:
    """Import every public name; returns how many there are without those whose optional package is missing."""
    return sum(
        available(import_module(package), name) for package in PACKAGES for name in import_module(package).__all__
    )


def available(module: ModuleType, name: str) -> bool:
    """Whether a name can be imported; False if it needs an optional package and says which."""
    try:
        getattr(module, name)
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        return False
    return True


def check_commands(folder: Path) -> None:
    (folder / "smoke_objective.py").write_text(OBJECTIVE)
    run(folder, "--version")
    run(folder, "--help")
    trials = ["--trials", str(N_TRIALS), "--seed", "0"]
    tuned = answer(folder, "tune", "smoke_objective.py:objective", *trials, "--json", "--quiet")
    check(tuned["n_trials"] == N_TRIALS, f"tune counts {tuned['n_trials']} trials")
    explained = answer(folder, "explain", "--json")
    check(explained["counts"]["complete"] == N_TRIALS, f"explain counts {explained['counts']}")
    schema = json.loads((files("pellucid.cli") / "explain.schema.json").read_text(encoding="utf-8"))
    surplus = set(explained) - set(schema["properties"])
    check(not surplus, f"explain prints {surplus}, which its schema lacks")
    check("recommendation" in explained, "explain has no recommendation")
    check("verdict" in explained, "explain has no verdict")
    print(f"  tune and explain: recommended {explained['recommendation']['params']}")
    if find_spec("plotly") is None:
        print("  no report: plotly is not installed")
    else:
        run(folder, "report", "--quiet")
        print(f"  report: {(folder / 'report.html').stat().st_size / 1e6:.1f} MB")


def answer(folder: Path, *arguments: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    data: dict[str, Any] = json.loads(run(folder, *arguments))
    return data


def run(folder: Path, *arguments: str) -> str:
    """What a command prints. Ends this script if the command fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pellucid.cli", *arguments]
    done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)
    check(done.returncode == 0, f"`pellucid {' '.join(arguments)}` ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def check(condition: bool, problem: str) -> None:
    if not condition:
        sys.exit(f"Failed: {problem}")


if __name__ == "__main__":
    main()
