"""What the processes of `pellucid tune` import from the user's folders: the user's code, and nothing else."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest
from tests.cli.tune.scripts import LOG, URL, call

# Packages that workers import at their start, when they open a storage and when they propose.
NAMES = ("optuna", "pellucid", "platform", "json", "secrets", "configparser", "sqlalchemy", "alembic", "scipy")
TRAP = "open(__name__ + '.was_run', 'w').close()\nraise RuntimeError('imported from the working folder')\n"

OBJECTIVE = """
import multiprocessing

import beside


def square(x):
    return x**2


def objective(trial):
    import in_the_working_folder

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        value = pool.apply(square, [trial.suggest_float("x", -1, 1)])
    return value + beside.ONE + in_the_working_folder.TWO
"""


@pytest.mark.parametrize("storage", [URL, pytest.param(LOG, marks=pytest.mark.slow)])
def test_files_with_the_names_of_packages_are_not_imported(folder: Path, storage: str) -> None:
    for name in NAMES:
        (folder / f"{name}.py").write_text(TRAP)
    command = Path(sysconfig.get_path("scripts")) / "pellucid"
    options = ["--trials", "12", "--storage", storage, "--quiet"]  # Twelve trials: the last two come from a model.
    result = subprocess.run([command, "tune", "script.py:bowl", *options], check=False, capture_output=True, text=True)
    assert list(folder.glob("*.was_run")) == []
    assert (result.returncode, result.stderr) == (0, "")


def test_an_objective_imports_from_its_own_folder_and_from_the_working_folder(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "objective.py").write_text(OBJECTIVE)
    (folder / "below" / "beside.py").write_text("ONE = 1\n")
    (folder / "in_the_working_folder.py").write_text("TWO = 2\n")
    result = call("tune", "below/objective.py:objective", "--trials", "1", "--storage", LOG, "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
