"""Several acquisitions in turns: the default of the search."""

from __future__ import annotations

from dataclasses import dataclass

from pellucid.provenance import PolicyState
from pellucid.search.acquisition.base import Acquisition
from pellucid.search.acquisition.bounds import LCB
from pellucid.search.acquisition.policy import Decision, Evidence


@dataclass(frozen=True)
class Alternation:
    """Several acquisitions, each in its turn."""

    acquisitions: tuple[Acquisition, ...] = (LCB(0.5), LCB(2.0))
    name = "Alternation"
    wants_bounds = False

    def __post_init__(self) -> None:
        members: object = self.acquisitions
        if not isinstance(members, (tuple, list)) or not members:
            raise ValueError(
                f"`acquisitions` is a tuple of at least one acquisition, such as EI(), but got {members!r}."
            )
        if not all(isinstance(member, Acquisition) for member in members):
            raise ValueError(f"`acquisitions` has acquisitions only, such as EI(), but got {members!r}.")

    def decide(self, evidence: Evidence) -> Decision:
        states = (receipt.policy for receipt in evidence.newest())
        last = next((state for state in states if state is not None and state.name == self.name), None)
        turn = 0 if last is None else (int(last.numbers.get("turn", -1.0)) + 1) % len(self.acquisitions)
        return Decision(self.acquisitions[turn], PolicyState(self.name, {"turn": float(turn)}))


# No acquisition is best everywhere (lab/results/search). A wide bound explores too long with many parameters, a narrow
# one too little with few; in turns, neither happens. Chosen on the design problems of the laboratory: on BBOB other
# pairs of bounds were as good, among real models a narrower first bound was better. EI and a bound in turns were no
# better, and their terms differ from proposal to proposal, which explanations of a whole run cannot show.
DEFAULT_POLICY = Alternation()
