"""What a two-step search has decided after its random trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pellucid.records.finding import Finding


@dataclass(frozen=True)
class Held:
    """A parameter that the first step does not tune: its value, whether that is a cheap one which a search for speed
    keeps, and why."""

    name: str
    value: Any
    cheap: bool
    why: str


@dataclass(frozen=True)
class TwoStepPlan(Finding):
    """Which parameters the first step tunes, and at what the others are held meanwhile.

    trial       the random trial whose values are held (those that it has)
    n, n_goal   random trials it was told from, and how many of them count as good
    """

    tuned: tuple[str, ...]
    held: tuple[Held, ...]
    trial: int
    n: int
    n_goal: int
    notes: tuple[str, ...] = ()

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        rows = [
            *((name, None, "step 1 tunes it") for name in self.tuned),
            *((h.name, h.value, h.why) for h in self.held),
        ]
        return {head: [row[i] for row in rows] for i, head in enumerate(("name", "held at", "why"))}

    @property
    def sentence(self) -> str:
        cheap = [f"`{one.name}` fixed at {one.why}" for one in self.held if one.cheap]
        others: dict[str, list[str]] = {}
        for one in self.held:
            if not one.cheap:
                others.setdefault(one.why, []).append(f"`{one.name}`")
        rest = [f"{', '.join(names)} {why}" for why, names in others.items()]
        tuned = ", ".join(f"`{name}`" for name in self.tuned)
        return "; ".join((f"Step 1 tunes {tuned}", *cheap, *rest)) + "."
