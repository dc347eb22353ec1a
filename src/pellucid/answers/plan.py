"""What a two-step search has decided after its random trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pellucid.answers.finding import Finding


@dataclass(frozen=True)
class HeldParameter:
    """A parameter that the first step does not tune.

    cheap    whether its value was chosen for being cheap: a search for speed keeps it in the second step
    reason   why it has this value
    """

    name: str
    value: Any
    cheap: bool
    reason: str


@dataclass(frozen=True)
class TwoStepPlan(Finding):
    """Which parameters the first step tunes, and the values at which the others are held meanwhile.

    trial       the random trial whose values are held (those that it has)
    n_trials    random trials behind the plan;  n_goal  how many of them count as good
    """

    _pictured: ClassVar[bool] = False

    tuned: tuple[str, ...]
    held: tuple[HeldParameter, ...]
    trial: int
    n_trials: int
    n_goal: int
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        cheap = [f"`{held.name}` fixed at {held.reason}" for held in self.held if held.cheap]
        others: dict[str, list[str]] = {}
        for held in self.held:
            if not held.cheap:
                others.setdefault(held.reason, []).append(f"`{held.name}`")
        rest = [f"{', '.join(names)} {reason}" for reason, names in others.items()]
        tuned = ", ".join(f"`{name}`" for name in self.tuned)
        return "; ".join((f"Step 1 tunes {tuned}", *cheap, *rest)) + "."

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        rows = [
            *((name, None, "step 1 tunes it") for name in self.tuned),
            *((held.name, held.value, held.reason) for held in self.held),
        ]
        return {head: [row[i] for row in rows] for i, head in enumerate(("param", "held at", "reason"))}
