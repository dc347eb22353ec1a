"""Answers about a study, from its storage alone."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Modules are loaded when they are first used, as `pellucid.explain.shapley`."""
    if name == "hsic":
        return import_module(f"{__name__}.importance.hsic")
    if name == "shapley":
        return import_module(f"{__name__}.shapley")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
