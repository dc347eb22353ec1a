"""A folder with the script, as the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.tune.scripts import SCRIPT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path
