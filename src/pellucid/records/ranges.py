"""Where to put a range: the cheapest value that costs nothing, and what to narrow, widen or drop."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pellucid.records.views import drawn, framed


@dataclass(frozen=True)
class IntervalReduction:
    """How much a parameter still matters when its cheap end is left out, cut by cut.

    cuts           values at which the range would begin (or end, where high values are cheap)
    index, stderr  HSIC towards the goal on what is left;  p  of its permutation test
    rate           share of the trials at the cheap end of what is left that reach the goal, and `base` of all of them
    n              trials left;  value  the cheapest one that costs nothing, None when that cannot be told
    """

    param: str
    cheap: str
    goal: str
    cuts: tuple[float, ...]
    index: tuple[float, ...]
    stderr: tuple[float, ...]
    p: tuple[float, ...]
    rate: tuple[float, ...]
    base: tuple[float, ...]
    n: tuple[int, ...]
    value: float | None
    verdict: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per cut."""
        names = ("cuts", "index", "stderr", "p", "rate", "base", "n")
        return framed({name: list(getattr(self, name)) for name in names})

    def plot(self) -> Any:
        """A Plotly figure: the index over the cuts, with errors, and where it stops to matter."""
        return drawn(self)

    def __str__(self) -> str:
        return " ".join((self.verdict, *self.notes))


@dataclass(frozen=True)
class RangeAdvice:
    """One piece of advice: `what` is 'widen', 'narrow' or 'drop'; p of what it rests on."""

    param: str
    what: str
    sentence: str
    p: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return self.sentence
