"""Packages import downwards only, and the contracts that say so can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LINT = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]


def lint(directory: Path, source: Path | str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(source), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(
        LINT, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def clone(repository: Path, tmp_path: Path) -> Path:
    """A copy of the sources with the same contracts, to break them in."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(repository / "src", tmp_path / "src", ignore=ignore)
    shutil.copytree(repository / "lab" / "src", tmp_path / "src", ignore=ignore, dirs_exist_ok=True)
    shutil.copy(repository / "pyproject.toml", tmp_path)
    return tmp_path


def test_contracts_are_kept(repository: Path) -> None:
    run = lint(repository, os.pathsep.join([str(repository / "src"), str(repository / "lab" / "src")]))
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("path", "text", "contract"),
    [
        ("stray.py", "", "Packages import downwards only"),
        ("study/stray.py", "from pellucid.samplers import bayesian", "Packages import downwards only"),
        ("study/stray.py", "def f():\n    import pellucid.search.acquisition", "Packages import downwards only"),
        ("study/stray.py", "import pellucid", "Packages import downwards only"),
        ("answers/stray.py", "import pellucid_lab.base", "pellucid does not import its laboratory"),
        ("numerics.py", "import pellucid.answers", "Packages import downwards only"),
        ("models/stray.py", "def f():\n    import torch", "Torch is used by"),
        ("samplers/stray.py", "def f():\n    import plotly.graph_objects", "Plotly is used by"),
        ("search/stray.py", "from pellucid.beliefs import Beliefs", "The search imports no answer"),
        ("samplers/bayesian.py", "def f():\n    import pellucid.answers.stop.blocks", "The search imports no answer"),
        (
            "search/acquisition/stray.py",
            "def f():\n    import sklearn.svm",
            "Benchmark packages are used by the laboratory",
        ),
    ],
)
def test_a_breach_is_reported(clone: Path, path: str, text: str, contract: str) -> None:
    file = clone / "src" / "pellucid" / path
    kept = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(f"{kept}\n{text}\n", encoding="utf-8")
    run = lint(clone, clone / "src")
    assert run.returncode != 0
    assert any(contract in line and "BROKEN" in line for line in run.stdout.splitlines()), run.stdout


def test_a_cycle_between_siblings_is_reported(clone: Path) -> None:
    package = clone / "src" / "pellucid" / "models"
    (package / "stray_a.py").write_text("import pellucid.models.stray_b\n", encoding="utf-8")
    (package / "stray_b.py").write_text("import pellucid.models.stray_a\n", encoding="utf-8")
    run = lint(clone, clone / "src")
    assert run.returncode != 0
    assert any("No cycles" in line and "BROKEN" in line for line in run.stdout.splitlines()), run.stdout


def test_the_layers_are_those_that_contributing_describes(repository: Path) -> None:
    with (repository / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["id"] == "layers")
    assert layers["exhaustive"]
    line = " > ".join(layers["layers"]).replace("(", "").replace(")", "")
    assert line in (repository / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
