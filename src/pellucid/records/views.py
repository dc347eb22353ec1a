"""How records become figures and tables: the one reference upwards, loaded when somebody asks for one."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def drawn(finding: Any, *what: str) -> Any:
    """Figures are drawn by `pellucid.plots`."""
    try:
        plots = import_module("pellucid.plots")
    except ImportError as error:
        raise ImportError("Figures need plotly: install it with `pip install 'pellucid[plots]'`.") from error
    return plots.draw(finding, *what)


def framed(columns: dict[str, Any]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Tables need pandas: install it with `pip install 'pellucid[plots]'`.") from error
    return pd.DataFrame(columns)
