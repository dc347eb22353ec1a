"""Which parameters matter for reaching a goal: records of the HSIC analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pellucid.records.views import drawn, framed

VERDICTS = ("impactful", "cannot tell", "no effect")
_MOST_LISTED = 3


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_LISTED])
    return f"{shown} and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else shown


@dataclass(frozen=True)
class ParameterImportance:
    """How much one parameter matters for reaching a goal.

    index, stderr   HSIC between the parameter and reaching the goal;  null  what it is on average without any effect
    p, p_adjusted   of a permutation test, and adjusted for all parameters that were looked at
    verdict         'impactful', 'cannot tell' or 'no effect'
    group           where the parameter exists, in words; empty when always
    n, n_goal       trials that have the parameter, and those of them in the goal
    bins            (label, share of all trials, share of the trials in the goal), over the parameter's values
    """

    name: str
    index: float
    stderr: float
    null: float
    p: float
    p_adjusted: float
    verdict: str
    group: str
    n: int
    n_goal: int
    bins: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class PairImportance:
    """Two parameters together, neither of which is impactful alone: does their combination matter?"""

    names: tuple[str, str]
    index: float
    stderr: float
    null: float
    p: float
    p_adjusted: float

    @property
    def interact(self) -> bool:
        return self.p_adjusted <= 0.05


@dataclass(frozen=True)
class HsicImportance:
    """What matters for reaching a goal, most important first; `source`: which trials (or model) it was told from."""

    goal: str
    parameters: tuple[ParameterImportance, ...]
    pairs: tuple[PairImportance, ...]
    n: int
    n_goal: int
    bandwidth: float
    source: str
    verdict: str
    notes: tuple[str, ...] = ()

    @property
    def impactful(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.parameters if one.verdict == "impactful")

    @property
    def headline(self) -> str:
        """What matters most and about what one cannot tell, in as few words as a title has."""
        verdicts = {name: [f"`{one.name}`" for one in self.parameters if one.verdict == name] for name in VERDICTS}
        sure, unsure, none = verdicts.values()
        if not sure:
            text = f"For {self.goal}, no parameter matters measurably"
        elif len(sure) == 1:
            text = f"{sure[0]} matters for {self.goal}"
        else:
            text = f"{sure[0]} matters most for {self.goal}, then {_listed(sure[1:])}"
        if unsure:
            text += f"; {_listed(unsure)}: cannot tell"
        return f"{text}; {_listed(none)}: no effect." if none else f"{text}."

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per parameter."""
        fields = ("name", "index", "stderr", "null", "p", "p_adjusted", "verdict", "group", "n", "n_goal")
        return framed({name: [getattr(one, name) for one in self.parameters] for name in fields})

    def plot(self, what: str = "importance") -> Any:
        """A Plotly figure: `what` is "importance" (indices with errors, and how the values of the first parameters
        differ in the goal), "indices" (those alone), "values" (of all parameters that matter) or "pairs"."""
        return drawn(self, what)

    def __str__(self) -> str:
        return " ".join((self.verdict, *self.notes))
