"""Which parameters matter: how the variance of the objective over the whole space divides between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pellucid.answers.finding import Finding


@dataclass(frozen=True)
class ParameterShare:
    """How much of the variance one parameter is responsible for.

    first       share of the variance due to the parameter alone (first-order Sobol index)
    total       the same with all its interactions (total index);  low, high  its interval at the record's level
    verdict     'matters', 'no effect' or 'cannot tell'
    branch      where the parameter exists, in words, and what the shares refer to; empty if everywhere
    n_trials    trials that have the parameter
    rank        'most' or 'probably most' if the sentence says that no other parameter of the branch matters more; else
                empty
    """

    name: str
    first: float
    total: float
    low: float
    high: float
    verdict: str
    branch: str
    n_trials: int
    rank: str = ""


@dataclass(frozen=True)
class PairShare:
    """The share of the variance that is due to the interaction of two parameters. `branch`: as for parameters."""

    params: tuple[str, str]
    index: float
    branch: str


@dataclass(frozen=True)
class Importance(Finding):
    """What matters for the objective: shares of its variance, largest total first.

    objective   its name;  level  of the intervals;  n_trials  behind the answer
    """

    objective: str
    parameters: tuple[ParameterShare, ...]
    pairs: tuple[PairShare, ...]
    n_trials: int
    level: float
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def matters(self) -> tuple[str, ...]:
        """Names of the parameters that are known to matter: first those that always exist."""
        known = [parameter for parameter in self.parameters if parameter.verdict == "matters"]
        return tuple(parameter.name for parameter in sorted(known, key=lambda parameter: bool(parameter.branch)))

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        names = ("name", "first", "total", "low", "high", "verdict", "branch", "n_trials")
        return {name: [getattr(parameter, name) for parameter in self.parameters] for name in names}

    def plot(self, what: str = "importance") -> Any:
        """A Plotly figure. `what`: "importance" (shares with intervals) or "pairs" (interactions)."""
        return self._drawn(what)
