"""When, where and with which versions a run was made."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def versions(packages: Sequence[str]) -> dict[str, str]:
    return {"python": platform.python_version(), **{package: _version(package) for package in packages}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def stamp(packages: Sequence[str], command: str) -> dict[str, Any]:
    """The fields of a record that say how it was made."""
    return {"versions": versions(packages), "machine": platform.platform(), "date": now(), "command": command}
