"""Which parameters matter for reaching a goal: records of the HSIC analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.answers.finding import Finding
from pellucid.claims import GOAL_IMPACTFUL

VERDICTS = ("impactful", "cannot tell", "no effect")
# Names in one list of a headline.
_MOST_LISTED = 3


@dataclass(frozen=True)
class ParameterImportance:
    """How much one parameter matters for reaching a goal.

    index, stderr       HSIC between the parameter and reaching the goal;  null  its average without any effect
    p, p_adjusted       of a permutation test; adjusted for all parameters that were tested
    verdict             'impactful', 'cannot tell' or 'no effect'
    group               where the parameter exists, in words; empty if always
    n_trials, n_goal    trials that have the parameter, and those of them that reach the goal
    bins                (label, share of all trials, share of the trials in the goal) over the parameter's values
    position            in the study's order, which decides its colour
    ranges              which of the bins are ranges of values, not single ones
    """

    name: str
    index: float
    stderr: float
    null: float
    p: float
    p_adjusted: float
    verdict: str
    group: str
    n_trials: int
    n_goal: int
    bins: tuple[tuple[str, float, float], ...]
    position: int = 0
    ranges: tuple[bool, ...] = ()


@dataclass(frozen=True)
class PairImportance:
    """Two parameters together, neither of which is impactful alone: does their combination matter?"""

    params: tuple[str, str]
    index: float
    stderr: float
    null: float
    p: float
    p_adjusted: float

    @property
    def interact(self) -> bool:
        return self.p_adjusted <= GOAL_IMPACTFUL.threshold


@dataclass(frozen=True)
class HsicImportance(Finding):
    """What matters for reaching a goal, most important first.

    source   the trials behind it: 'random', 'all', or 'surrogate' for draws of a model
    """

    goal: str
    parameters: tuple[ParameterImportance, ...]
    pairs: tuple[PairImportance, ...]
    n_trials: int
    n_goal: int
    bandwidth: float
    source: str
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def impactful(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters if parameter.verdict == "impactful")

    @property
    def headline(self) -> str:
        """The sentence, short enough for a title."""
        names = {
            verdict: [f"`{parameter.name}`" for parameter in self.parameters if parameter.verdict == verdict]
            for verdict in VERDICTS
        }
        impactful, unclear, idle = names.values()
        if not impactful:
            text = f"For {self.goal}, no parameter matters measurably"
        elif len(impactful) == 1:
            text = f"{impactful[0]} matters for {self.goal}"
        else:
            text = f"{impactful[0]} matters most for {self.goal}, then {_listed(impactful[1:])}"
        if unclear:
            text += f"; too few trials to judge {_listed(unclear)}"
        return f"{text}; no effect of {_listed(idle)}." if idle else f"{text}."

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        names = ("name", "index", "stderr", "null", "p", "p_adjusted", "verdict", "group", "n_trials", "n_goal")
        return {name: [getattr(parameter, name) for parameter in self.parameters] for name in names}

    def plot(self, what: str = "importance") -> Any:
        """A Plotly figure. `what`: "importance" (indices with errors, and how the values of the first parameters
        differ in the goal), "indices" (those alone), "values" (of all parameters that matter) or "pairs"."""
        return self._drawn(what)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_LISTED])
    return f"{shown} and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else shown
