"""Records as JSON that every reader takes: no NaN, no infinities, no types of NumPy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


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


def json_text(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False)
