"""Running what a page of the documentation says, in its order and in a folder of its own.

A Python block that begins with a comment like `# worker.py` is a file, for the commands that follow; any other is run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import optuna
from tests.helpers import ROOT
from typer.testing import CliRunner

from pellucid.cli.app import app

PAGES = ROOT / "docs" / "machines"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The name of the file that a Python block is."""
        named = _FILE.match(self.text)
        return named[1] if self.language == "python" and named else None

    @property
    def commands(self) -> list[str]:
        """The commands of a console block, without the values of environment variables."""
        lines = [line.removeprefix("$ ") for line in self.text.splitlines() if line.startswith("$ ")]
        return [re.sub(r"^(\w+=\S+ )+", "", line) for line in lines] if self.language == "console" else []


def blocks(page: Path, placeholders: Mapping[str, str] | None = None) -> list[Block]:
    """The blocks of a page, with values of the test for its placeholders, each of which the page must have."""
    text = page.read_text(encoding="utf-8")
    for placeholder, value in (placeholders or {}).items():
        assert placeholder in text, f"{page.name} does not have {placeholder}"
        text = text.replace(placeholder, value)
    return [Block(language, content) for language, content in _FENCE.findall(text)]


def python_blocks(page: Path, placeholders: Mapping[str, str] | None = None) -> list[str]:
    return [block.text for block in blocks(page, placeholders) if block.language == "python"]


def extras(page: Path) -> set[str]:
    """The extras that the page installs."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"pip install '\.\[(.*?)\]'", page.read_text(encoding="utf-8")))))


def run_page(page: Path, placeholders: Mapping[str, str] | None = None) -> list[str]:
    """Run the page in the working directory, and return what each command printed. Nothing is installed; a command that
    starts a server is left to the test."""
    printed = []
    for block in blocks(page, placeholders):
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            Path("block.py").write_text(block.text, encoding="utf-8")
            printed.append(run_command("python block.py"))
        printed += [run_command(line) for line in block.commands if not line.startswith(("pip ", "python proxy.py"))]
    return printed


def run_command(line: str) -> str:
    """What a command prints; it must succeed. Ours run in this process, which has imported the packages already."""
    program, *arguments = shlex.split(line)
    if program == "pellucid":
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return result.output
    if program == "python":
        return run_file(*arguments)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [program, *arguments], env=environment, text=True, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_file(name: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), quiet():
        runpy.run_path(name, run_name="__main__")
    return printed.getvalue()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
