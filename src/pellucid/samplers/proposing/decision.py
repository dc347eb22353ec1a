"""What a proposal is made with: the acquisition that was chosen, what it shall learn about, where it may look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pellucid.acquisition import EI, WEI, Acquisition, Composed, InformationGain, Scored, Situation
from pellucid.acquisition.slices import Slice
from pellucid.numerics import Array
from pellucid.records import AcquisitionState, PolicyState
from pellucid.surrogates import GaussianProcess


@dataclass(frozen=True)
class Choice:
    """The acquisition of one proposal, what it was applied to, and why it was this one."""

    acquisition: Acquisition | Composed
    function: Scored
    model: GaussianProcess
    situation: Situation
    policy: PolicyState | None = None
    bounds: tuple[float, ...] = ()

    def state(self, x: Array, m: Array, s: Array) -> AcquisitionState:
        """What the receipt says of it at the proposal, where the posterior is m, s."""
        chosen, situation, function = self.acquisition, self.situation, self.function
        if isinstance(chosen, Composed):
            weights, terms = function.weights(), function.terms(x)
            score = chosen.score_of(weights, terms)
        else:
            if isinstance(chosen, WEI) and chosen.guard:
                # What was really maximised: where WEI's guard had to step in, EI.
                parts, shares = chosen.terms(m, s, situation), chosen.weights(situation)
                if sum(shares[name] * float(part[0]) for name, part in parts.items()) <= 0.0:
                    chosen = EI()
            weights = chosen.weights(situation)
            terms, score = chosen.terms(m, s, situation), chosen.score(m, s, situation)
        values = {name: float(term[0]) for name, term in terms.items()}
        return AcquisitionState(chosen.name, chosen.settings(), weights, values, float(score[0]), situation.best)


@dataclass(frozen=True)
class Part:
    """Of the space, where a proposal may come from (None: anywhere), and why, in words; `exact`: numbers that are held,
    which encoding would round."""

    slice: Slice | None
    words: str
    exact: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Lesson:
    """What a proposal shall learn about, the model that knows it, and how wide the bands were."""

    gain: InformationGain
    gp: GaussianProcess
    learned_from: int
    state: PolicyState | None = None
