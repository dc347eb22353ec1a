"""Which parameters matter for reaching a goal: records of the HSIC analysis."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pellucid.records.views import drawn, framed


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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row per parameter."""
        fields = ("name", "index", "stderr", "null", "p", "p_adjusted", "verdict", "group", "n", "n_goal")
        return framed({name: [getattr(one, name) for one in self.parameters] for name in fields})

    def plot(self) -> Any:
        """A Plotly figure: indices with errors, and how the values of the first parameters differ in the goal."""
        return drawn(self)

    def __str__(self) -> str:
        return " ".join((self.verdict, *self.notes))
