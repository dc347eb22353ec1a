"""Answers about a study, from its storage alone."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Files are loaded when they are first used, as `pellucid.explain.shapley`."""
    if name in ("hsic", "shapley"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
