"""Asking a study: an answer, or the sentence that says why there is none yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unknown:
    why: str


def answer(ask: Callable[[], Any]) -> Any:
    """A record, a list of records, or `Unknown`: the errors of explainers are sentences written for users."""
    try:
        return ask()
    except ValueError as error:
        return Unknown(str(error))
