"""The user's objective: how its errors are described."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pellucid.surfaces.cli.tune.target import described, load_objective, parse_target

MODULE = """
import pellucid


def objective(trial):
    return pellucid.best(2.0)
"""


def test_an_error_inside_pellucid_is_placed_in_the_users_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder / "asks_pellucid.py").write_text(MODULE)
    target = parse_target("asks_pellucid:objective")
    objective = load_objective(target)
    monkeypatch.delitem(sys.modules, "asks_pellucid")
    with pytest.raises(ValueError) as error:
        objective(None)
    line = MODULE.splitlines().index("    return pellucid.best(2.0)") + 1
    assert described(error.value, target).endswith(f"(asks_pellucid.py, line {line}, in objective)")
