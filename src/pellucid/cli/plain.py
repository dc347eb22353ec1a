"""Records as JSON that every reader takes."""

from __future__ import annotations

import json
from typing import Any

from pellucid.records import plain


def json_text(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False)
