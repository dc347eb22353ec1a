"""Exit codes: the constants, the help and the page say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from pellucid.surfaces.cli import terminal
from pellucid.surfaces.cli.app import app


def test_every_exit_code_has_a_meaning() -> None:
    codes = [terminal.DONE, terminal.FAILED, terminal.WRONG, terminal.MISSING, terminal.BROKEN, terminal.STOPPED]
    assert list(terminal.EXIT_CODES) == codes == [0, 1, 2, 3, 4, 130]


def test_the_page_and_the_help_list_the_exit_codes(repository: Path) -> None:
    page = (repository / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", page, flags=re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == terminal.EXIT_CODES
    help_text = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    for code, meaning in terminal.EXIT_CODES.items():
        assert f"{code} {meaning}" in help_text


def test_json_is_printable_and_keeps_every_name() -> None:
    value = {"a\x1b[2J\x7f\x9b\u202e\ud800\U000e0041": ["\n", "学習率"]}
    text = terminal.json_text(value)
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == value
