"""The words for the terms of an acquisition, whose values a receipt has by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from pellucid.words import printable

Role = Literal["prediction", "uncertainty", "room", "information", "feasibility"]


@dataclass(frozen=True)
class Term:
    """The words for a term of an acquisition.

    label    in figures
    reason   in sentences: why a parameter made a proposal attractive by this term
    role     what the term stands for: 'prediction', 'uncertainty', 'room' (for improvement: large near the value to
             beat, known or not), 'information' or 'feasibility'

    Label and reason may contain `{objective}` (the name of the metric), `{better}` ("high" or "low", by the direction)
    and `{subject}` (what the acquisition learns about).
    """

    label: str
    reason: str
    role: Role

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise ValueError(
                printable(f"The role of a term is one of {', '.join(get_args(Role))}, but got {self.role!r}.")
            )

    def filled(self, *, objective: str, direction: str, subject: str) -> Term:
        """With the words of a study in place of the placeholders."""
        words = {"objective": objective, "better": "high" if direction == "maximize" else "low", "subject": subject}
        return replace(self, label=self.label.format(**words), reason=self.reason.format(**words))
