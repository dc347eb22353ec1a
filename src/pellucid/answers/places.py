"""Where answers appear: sections of a page, cards on its first screen, and chapters of a note."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """How an answer appears in one place of a page or a note.

    title    what stands above it
    content  reference to a function of an overview, which returns pieces (see `answers.pieces`); without one these are
             the sentences
    """

    title: str | Callable[[Any], str]
    content: str = ""

    def heading(self, overview: Any) -> str:
        return self.title if isinstance(self.title, str) else self.title(overview)


@dataclass(frozen=True)
class Section:
    """A section of a page. `each`: if there are several objectives, it is a part of the section about each of them."""

    key: str
    title: str
    each: bool = False


# In the order in which a reader decides: what to set, what matters, which ranges to change, when to stop; then the
# evidence: were predictions true, the trials themselves, and why each was proposed.
SECTIONS = (
    Section("front", "Best configurations"),
    Section("tradeoff", "Trade-off"),
    Section("effects", "What to set", each=True),
    Section("matters", "What matters", each=True),
    Section("ranges", "Ranges"),
    Section("stop", "How much is left"),
    Section("curves", "Learning curves"),
    Section("constraints", "Constraints"),
    Section("failures", "Failures"),
    Section("true", "Were predictions true", each=True),
    Section("trials", "Trials"),
    Section("why", "Why this trial"),
)
