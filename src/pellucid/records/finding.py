"""What stands in the place of an answer if there is none yet."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class NotKnown:
    """Stands where an answer would: why there is none yet."""

    reason: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return self.reason
