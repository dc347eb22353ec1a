"""Rules between answers. None of them changes a number: where two differ, both stand, and one line says so."""

from __future__ import annotations

from typing import Any

from pellucid.answers.base import Question
from pellucid.answers.catalogue import RANGES, VERDICT

IF_YOU_GO_ON = "If you go on:"


def lead(question: Question[Any]) -> str:
    """What stands before an answer because of others that were asked before it; mostly nothing."""
    if question.answer is not RANGES:
        return ""
    verdict = question.overview.known(VERDICT)
    ranges = question.overview.known(RANGES, question.subject)
    advised = verdict is not None and verdict.stop and ranges is not None and bool(ranges.advice)
    return IF_YOU_GO_ON if advised else ""
