"""How records become figures, tables and plain data; figures are the one reference upwards, loaded when asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def plain(value: Any) -> Any:
    """NaN and infinities become null, arrays lists, keys text; what JSON does not know becomes its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):  # Arrays and numbers of NumPy.
        return plain(value.tolist())
    return str(value)
