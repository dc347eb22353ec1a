"""Overviews of a study with other answers than it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pellucid.answers.base import WHOLE, Answer, Overview, Subject
from pellucid.answers.finding import Finding, NotKnown


def instead(overview: Overview, answer: Answer[Any], record: Finding | NotKnown, *subjects: Subject) -> Overview:
    """With this record in the place of the answers about these subjects, or about the whole study."""
    records = {(answer.compute, subject): record for subject in subjects or (WHOLE,)}
    return replace(overview, _known={**overview._known, **records})


def with_answers_of(overview: Overview, other: Overview, *answers: Answer[Any]) -> Overview:
    """With what a page shows of another study in these entries."""
    for answer in answers:
        for question in other.shown(answer):
            overview = instead(overview, answer, question.answered(), question.subject)
    return overview


def findings(overview: Overview) -> list[Finding]:
    """All that is known."""
    return [record for record in overview._known.values() if isinstance(record, Finding)]
