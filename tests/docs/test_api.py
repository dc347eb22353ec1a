"""What `python tools/api.py` writes is up to date, and type checkers find every public name in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools import api

import pellucid


@pytest.mark.parametrize("path", api.files())
def test_files_are_up_to_date(path: str) -> None:
    assert (api.ROOT / path).read_text(encoding="utf-8") == api.files()[path], "run `python tools/api.py`"


def test_type_checkers_find_every_public_name_and_no_other(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    used = [f"from pellucid import {name}" for name in pellucid.__all__]
    (tmp_path / "user.py").write_text("\n".join(["import pellucid", *used, "pellucid.nothing", "pellucid._modules"]))
    # Modules that the stub imports from are skipped: that they have the names is tested above.
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--no-incremental",
        "--follow-imports=skip",
        "user.py",
        api.ROOT / api.STUB,
    ]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert ['"nothing"' in line or '"_modules"' in line for line in errors] == [True, True], checked.stdout
