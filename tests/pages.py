"""Running what a page of the documentation says, in its order and in a folder of its own.

A Python block that begins with a comment like `# worker.py` is a file, for the blocks that follow; any other is run. On
the pages of `docs/machines` every block is a program of its own (`run_page`); the blocks of a guide share their names,
and a `text` block says what the Python block before it prints (`run_guide`).

`python -m tests.pages docs/guides/use.md ...` runs guides, each in a temporary folder, and writes what they print into
their `text` blocks.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from typer.testing import CliRunner

from pellucid.surfaces.cli.app import app
from tests.helpers import ROOT

DOCS = ROOT / "docs"
PAGES = DOCS / "machines"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEXT = re.compile(r"^```text\n.*?^```$", re.MULTILINE | re.DOTALL)
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


def run_guide(page: Path) -> list[tuple[Block, str]]:
    """Run the guide in the working directory: its Python blocks, which share their names, and its commands of pellucid,
    except those that serve until somebody ends them.

    Returns the blocks of the page, each with what it printed.
    """
    names: dict[str, Any] = {}
    ran = []
    for block in blocks(page):
        printed = ""
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            Path("block.py").write_text(block.text, encoding="utf-8")
            printed, names = run_with_names("block.py", names)
        for line in block.commands:
            if line.startswith("pellucid ") and "--serve" not in line:
                printed += run_command(line)
        ran.append((block, printed))
    return ran


def renew(page: Path) -> None:
    """Write what the Python blocks of a guide print into the `text` blocks that follow them."""
    start = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)  # As for a script that a reader starts in the folder.
        try:
            ran = run_guide(page)
        finally:
            os.chdir(start)
            sys.path.remove(folder)
            sys.modules.pop("script", None)
    outputs = (before for (_, before), (block, _) in itertools.pairwise(ran) if block.language == "text")
    text = page.read_text(encoding="utf-8")
    text = _TEXT.sub(lambda _: f"```text\n{next(outputs)}```", text)
    page.write_text(text, encoding="utf-8")


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
    return run_with_names(name, {})[0]


def run_with_names(name: str, names: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What a file prints that starts with these names, and all names at its end."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), quiet():
        names = runpy.run_path(name, init_globals=names, run_name="__main__")
    return printed.getvalue(), names


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(Path(name).resolve())
