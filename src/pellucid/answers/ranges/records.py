"""Which ranges to change: the cheapest value that costs nothing, and what to narrow, widen or drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from pellucid.answers.finding import Finding
from pellucid.notebook import Rows


@dataclass(frozen=True)
class IntervalReduction(Finding):
    """How much a parameter still matters after its cheap end is cut off, for a sequence of cuts.

    cuts           values at which the range would begin (or end, if high values are cheap)
    index, stderr  HSIC towards the goal on the remaining trials;  p  of its permutation test
    rate, base     share of the remaining trials that reach the goal: at their cheap end, and of all of them
    n_trials       remaining trials, per cut: not one number as in other answers
    value          the cheapest value that costs nothing; None if that is not known
    position       of the parameter in the study's order, which decides its colour
    """

    _rows: ClassVar[Rows] = "even"

    param: str
    cheap: str
    goal: str
    cuts: tuple[float, ...]
    index: tuple[float, ...]
    stderr: tuple[float, ...]
    p: tuple[float, ...]
    rate: tuple[float, ...]
    base: tuple[float, ...]
    n_trials: tuple[int, ...]
    value: float | None
    sentence: str
    notes: tuple[str, ...] = ()
    position: int = 0

    def _columns(self) -> Mapping[str, Any]:
        """One row per cut."""
        return {name: getattr(self, name) for name in ("cuts", "index", "stderr", "p", "rate", "base", "n_trials")}


@dataclass(frozen=True)
class RangeAdvice(Finding):
    """One piece of advice about a range.

    what          'widen', 'narrow' or 'drop'
    probability   that the advice is wrong, according to the model: that the objective does not improve towards the
                  bound, or that the part to remove holds something about as good as the rest
    cost          what is lost at most if it is wrong, in the unit of the objective; 0 for widening, which costs trials
    start, stop   the part of the range that it is about, as shares of the range on its own scale: linear, logarithmic,
                  or choice by choice
    n_trials      trials that it rests on
    """

    _pictured: ClassVar[bool] = False
    _told: ClassVar[tuple[str, ...]] = ("sentence",)

    param: str
    what: str
    sentence: str
    probability: float
    cost: float = 0.0
    start: float = 0.0
    stop: float = 1.0
    n_trials: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def _columns(self) -> Mapping[str, Any]:
        """One row."""
        return {name: [value] for name, value in asdict(self).items()}


@dataclass(frozen=True)
class RangeAxis:
    """The range of one parameter and where trials are in it, as shares of the range.

    ticks         positions with the parameter's values there, as text
    others, best  positions of the trials that have the parameter: those outside the best tenth, and those in it
    position      of the parameter in the study's order, which decides its colour
    """

    param: str
    ticks: tuple[tuple[float, str], ...]
    others: tuple[float, ...]
    best: tuple[float, ...]
    position: int = 0


@dataclass(frozen=True)
class ParameterRanges(Finding):
    """The ranges of a study, with advice on what to change: the most certain first."""

    axes: tuple[RangeAxis, ...]
    advice: tuple[RangeAdvice, ...]
    n_trials: int
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        if not self.advice:
            return f"Keep the ranges: nothing in the {self.n_trials} trials calls for a change."
        verbs = {"widen": "widen", "narrow": "narrow", "drop": "drop a choice of"}
        parts = []
        for what in dict.fromkeys(advice.what for advice in self.advice):
            names = dict.fromkeys(f"`{advice.param}`" for advice in self.advice if advice.what == what)
            parts.append(f"{verbs[what]} {', '.join(names)}")
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}."

    @property
    def reply(self) -> str:
        """Every piece of advice; without any, the sentence that says so."""
        return " ".join(map(str, self.advice)) if self.advice else self.sentence

    def _columns(self) -> Mapping[str, Any]:
        """One row per piece of advice."""
        names = ("param", "what", "probability", "cost", "start", "stop", "sentence")
        return {name: [getattr(advice, name) for advice in self.advice] for name in names}
