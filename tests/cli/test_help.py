"""The help of every command."""

from __future__ import annotations

import os
import subprocess
import sys

# Every command, and every option and argument with its words.
PRINT = """
from typer.main import get_command
from pellucid.surfaces.cli.app import app

group = get_command(app)
print(group.get_help(group.context_class(group)))
for name, command in group.commands.items():
    print(command.get_help(group.context_class(command, info_name=name)))
    assert command.help and command.get_short_help_str(), name
    for option in command.params:
        assert getattr(option, "help", None), option.name
"""


def printed(level: int) -> str:
    environment = {**os.environ, "PYTHONOPTIMIZE": str(level), "COLUMNS": "120"}
    finished = subprocess.run(
        [sys.executable, "-c", PRINT], check=False, env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_python_without_docstrings_says_the_same() -> None:
    ordinary = printed(0)
    assert "Explain a study of any sampler" in ordinary
    assert "It runs your code: tune only what you trust." in ordinary
    assert printed(2) == ordinary
