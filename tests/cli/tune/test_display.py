"""What `pellucid tune` shows on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.tune.scripts import PATIENCE_S, command

from pellucid.surfaces.cli.tune.display import PlainDisplay, printable_output


def read_terminal(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # The other end is closed.
            return
        if not data:
            return
        yield data


def test_a_terminal_gets_a_table_with_the_objectives_lines_above_it(folder: Path) -> None:
    reader, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(
        command("chatty", 21, "--sampler", "sawei", "--json"),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        env=environment,
    )
    os.close(terminal)
    shown = b"".join(read_terminal(reader)).decode()
    out, _ = process.communicate(timeout=PATIENCE_S)
    os.close(reader)
    assert process.returncode == 0, shown
    assert json.loads(out)["n_trials"] == 21
    for number in range(21):
        assert f"printed [bold]by[/bold] trial {number}" in shown
    assert "warned" in shown
    assert "by a library" in shown
    for row in ("alpha", "left at most", "last proposal", "21 of 21: 21 complete", "s per trial"):
        assert row in shown
    last = shown[shown.rindex("script in sqlite:///tuning.db") :]
    assert "printed" not in last
    assert "maximised WEI" in last


HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\u202e"


def test_a_terminal_gets_the_colours_of_the_objective_and_nothing_else() -> None:
    escaped = r"\x1b]52;c;aGk=\x07\x1b[2J\u202e"
    assert printable_output(f"\x1b[1;32mgreen\x1b[0m {HOSTILE}") == f"\x1b[1;32mgreen\x1b[0m {escaped}"


def test_a_log_file_gets_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    PlainDisplay().line(f"\x1b[1;32mgreen\x1b[0m {HOSTILE}")
    assert capsys.readouterr().err == r"green \x1b]52;c;aGk=\x07\x1b[2J\u202e" + "\n"
