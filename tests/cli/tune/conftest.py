"""Workers that begin as copies of a process, for tests to which the way they begin does not matter."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.cli.tune.copies import CopiedProcess

from pellucid.surfaces.cli.tune import pool


@pytest.fixture
def copied_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`test_imports.py`, `test_display.py` and the tests of killed workers and of two jobs start them as users do."""
    real = pool.subprocess
    stand_in = SimpleNamespace(Popen=CopiedProcess, PIPE=real.PIPE, TimeoutExpired=real.TimeoutExpired)
    monkeypatch.setattr(pool, "subprocess", stand_in)
