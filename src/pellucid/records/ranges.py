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
    """One piece of advice: `what` is 'widen', 'narrow' or 'drop'; p of what it rests on; `start`, `stop`: the part of
    the range that it is about, as shares of the range (on its own scale: logarithmic, or choice by choice)."""

    param: str
    what: str
    sentence: str
    p: float
    start: float = 0.0
    stop: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class RangeAxis:
    """The range of one parameter and where trials are in it, as shares of the range.

    ticks         positions with the parameter's values there, in words
    others, best  positions of the trials that have the parameter: those not among the best tenth, and those that are
    """

    param: str
    ticks: tuple[tuple[float, str], ...]
    others: tuple[float, ...]
    best: tuple[float, ...]


@dataclass(frozen=True)
class ParameterRanges:
    """The ranges of a study with what to change about them, surest first."""

    axes: tuple[RangeAxis, ...]
    advice: tuple[RangeAdvice, ...]
    n_trials: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per piece of advice."""
        return framed(
            {name: [getattr(one, name) for one in self.advice] for name in ("param", "what", "p", "sentence")}
        )

    def plot(self) -> Any:
        """A Plotly figure: the trials on every range, and the parts that the advice is about."""
        return drawn(self)

    def __str__(self) -> str:
        if not self.advice:
            return f"Nothing that {self.n_trials} trials say about the ranges calls for a change."
        by_kind: dict[str, list[str]] = {}
        for one in self.advice:
            names = by_kind.setdefault({"drop": "Drop a choice of"}.get(one.what, one.what.capitalize()), [])
            if f"`{one.param}`" not in names:
                names.append(f"`{one.param}`")
        return "; ".join(f"{what} {', '.join(names)}" for what, names in by_kind.items()) + "."
