"""What each parameter contributed: Shapley values of any function and of a study's proposals.

Contributions are signed: positive ones made a configuration more attractive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pellucid.answers.finding import Finding
from pellucid.notebook import Rows
from pellucid.provenance import Term
from pellucid.words import OBJECTIVE

Array = npt.NDArray[np.float64]
# The only term of an explained prediction.
PREDICTED = "predicted"


@dataclass(frozen=True)
class Contribution:
    """What one parameter of a proposal contributed: in total, and by term of the acquisition (weights included).

    value          of the parameter, in the user's units
    low, high      interval of the total;  term_low, term_high  of the terms; a single point if there is a closed form
    """

    name: str
    value: Any
    total: float
    low: float
    high: float
    terms: dict[str, float]
    term_low: dict[str, float]
    term_high: dict[str, float]

    @property
    def sure(self) -> bool:
        """Whether the interval leaves no doubt about the sign."""
        return self.low > 0.0 or self.high < 0.0

    def times(self, sign: float) -> Contribution:
        """The same, counted the other way round if the sign is negative."""
        if sign > 0.0:
            return self
        low, high = ({name: -value for name, value in ends.items()} for ends in (self.term_high, self.term_low))
        terms = {name: -value for name, value in self.terms.items()}
        return Contribution(self.name, self.value, -self.total, -self.high, -self.low, terms, low, high)


@dataclass(frozen=True)
class ExpectedValue:
    """What a model expected of a trial: of one objective without noise, in the user's units and direction."""

    objective: str
    direction: str
    mean: float
    sd: float


@dataclass(frozen=True)
class ProposalExplanation(Finding):
    """Why a trial was proposed: its acquisition, split among its parameters and by term; or what was predicted of one
    objective, split in the same way.

    contributions  one per parameter that the proposal has, in the order of the space
    terms          the words for each term of the acquisition
    payouts        by term, weights included: how much better the proposal is than `compared_with`;  total  their sum
    unit           of all numbers: 'objective' (the user's unit; the direction is taken care of: positive is better; of
                   a prediction it is more, whatever is better), 'standardised variance', 'probability', 'nats' or 'log'
    transformed    the model saw the objective through a monotone transformation: the unit holds for the whole payout of
                   the mean, and parts of it are in proportion
    exact          terms whose contributions come from closed forms or from full enumeration, without sampling error
    n_samples      background configurations behind the other terms;  level  of their intervals
    background     'global', 'local', 'hybrid' or 'baseline';  compared_with  the same in words
    proposed       whether pellucid proposed the trial; otherwise this is what its model would have said
    objective      what is explained: the objective that the acquisition improves, or whose prediction is split; "" if
                   the acquisition improves several
    expected       what the model expected of the trial, of every objective that is explained
    direction, mean, sd   the same of a single one; None if there are several
    n_trials       finished trials that the model had seen
    reasons        the parameters that the sentence names for the proposal, or for what was predicted
    against        those that it names against that
    """

    trial: int
    acquisition: str
    contributions: tuple[Contribution, ...]
    terms: dict[str, Term]
    weights: dict[str, float]
    payouts: dict[str, float]
    total: float
    unit: str
    transformed: bool
    exact: tuple[str, ...]
    n_samples: int
    level: float
    background: str
    compared_with: str
    proposed: bool
    direction: str | None
    mean: float | None
    sd: float | None
    n_trials: int
    sentence: str
    notes: tuple[str, ...] = ()
    objective: str = OBJECTIVE
    expected: tuple[ExpectedValue, ...] = ()
    reasons: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def term_names(self) -> tuple[str, ...]:
        return tuple(self.payouts)

    @property
    def predicted(self) -> bool:
        """Whether a prediction is explained, not an acquisition."""
        return self.term_names == (PREDICTED,)

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        rows = self.contributions
        columns: dict[str, Any] = {
            "param": [c.name for c in rows],
            "value": [c.value for c in rows],
            "contribution": [c.total for c in rows],
            "low": [c.low for c in rows],
            "high": [c.high for c in rows],
        }
        for term in self.term_names:
            columns[term] = [c.terms[term] for c in rows]
        return columns


@dataclass(frozen=True)
class DesirabilityPaths(Finding):
    """Explanations of many proposals of one study, in order; `skipped` says which trials have none, and why."""

    _rows: ClassVar[Rows] = "last"

    explanations: tuple[ProposalExplanation, ...]
    skipped: dict[int, str]
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        """Trials that are explained."""
        return len(self.explanations)

    @property
    def params(self) -> tuple[str, ...]:
        """Every parameter that any of the proposals had, in order of appearance."""
        return tuple(dict.fromkeys(c.name for explanation in self.explanations for c in explanation.contributions))

    @property
    def term_names(self) -> tuple[str, ...]:
        return tuple(self.terms)

    @property
    def terms(self) -> dict[str, Term]:
        """The words for every term that any of the proposals had, in order of appearance."""
        return {name: term for explanation in self.explanations for name, term in explanation.terms.items()}

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial and parameter."""
        rows = [(explanation.trial, c) for explanation in self.explanations for c in explanation.contributions]
        columns: dict[str, Any] = {
            "trial": [trial for trial, _ in rows],
            "param": [c.name for _, c in rows],
            "value": [c.value for _, c in rows],
            "contribution": [c.total for _, c in rows],
            "low": [c.low for _, c in rows],
            "high": [c.high for _, c in rows],
        }
        for term in self.term_names:
            columns[term] = [c.terms.get(term) for _, c in rows]
        return columns

    def plot(self, what: str = "contributions") -> Any:
        """A Plotly figure: `what` is "contributions" (a panel per parameter) or "payouts" (by term, over the run)."""
        return self._drawn(what)


@dataclass(frozen=True)
class ProposalInteractions(Finding):
    """How parameters worked together in a proposal; all values sum to the total of its explanation.

    main    by parameter, what it contributed alone;  pairs  what two contributed together beyond that
    unit, compared_with, notes, objective, n_trials   as in `ProposalExplanation`
    """

    trial: int
    main: dict[str, float]
    pairs: dict[tuple[str, str], float]
    unit: str
    compared_with: str
    sentence: str
    notes: tuple[str, ...] = ()
    objective: str = OBJECTIVE
    n_trials: int = 0

    @property
    def params(self) -> tuple[str, ...]:
        return tuple(self.main)

    def to_dict(self) -> dict[str, Any]:
        pairs = [{"params": list(pair), "value": value} for pair, value in self.pairs.items()]
        return {**super().to_dict(), "pairs": pairs}

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter, then one per pair."""
        return {
            "param": [*self.main, *(first for first, _ in self.pairs)],
            "with": [*(None for _ in self.main), *(second for _, second in self.pairs)],
            "value": [*self.main.values(), *self.pairs.values()],
        }


@dataclass(frozen=True)
class ImportanceComparison(Finding):
    """Shares of the parameters in a trial's predicted objective by four methods; absolute shares sum to 1.

    shapley, ablation, local, permutation   see `pellucid.answers.compare`
    ablation_order                          parameters in the order in which the ablation flipped them
    interactions                            Friedman's H by pair: 0 if they add up, 1 if they only interact
    n_trials                                finished trials that the model had seen
    """

    trial: int
    params: tuple[str, ...]
    shapley: tuple[float, ...]
    ablation: tuple[float, ...]
    local: tuple[float, ...]
    permutation: tuple[float, ...]
    ablation_order: tuple[str, ...]
    interactions: dict[tuple[str, str], float]
    proposed: bool
    objective: str = OBJECTIVE
    n_trials: int = 0

    METHODS: ClassVar[tuple[str, ...]] = ("shapley", "ablation", "local", "permutation")

    def to_dict(self) -> dict[str, Any]:
        pairs = [{"params": list(pair), "h": h} for pair, h in self.interactions.items()]
        return {**super().to_dict(), "interactions": pairs}

    def _columns(self) -> Mapping[str, Any]:
        """One row per parameter."""
        return {"param": self.params, **{name: getattr(self, name) for name in self.METHODS}}

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    @property
    def _prediction(self) -> str:
        what = "prediction" if self.objective == OBJECTIVE else f"predicted {self.objective}"
        return f"the {what} of trial {self.trial}"

    @property
    def sentence(self) -> str:
        if not any(self.shapley):
            return f"The model of trial {self.trial} predicts the same everywhere, so no parameter matters to it."

        def first(shares: tuple[float, ...]) -> str:
            return f"`{self.params[max(range(len(shares)), key=lambda i: abs(shares[i]))]}`"

        leaders = {name: first(getattr(self, name)) for name in self.METHODS}
        if len(set(leaders.values())) == 1:
            text = f"By all four methods, {leaders['shapley']} mattered most for {self._prediction}"
        else:
            words = {"shapley": "Shapley values", "local": "local variance"}
            listed = ", ".join(f"{who} by {words.get(name, name)}" for name, who in leaders.items())
            text = f"For {self._prediction}, the most important parameter is {listed}"
        if self.interactions:
            (a, b), h = max(self.interactions.items(), key=lambda item: item[1])
            text += f"; `{a}` and `{b}` interact most (H = {h:.2f})"
        return f"{text}."
