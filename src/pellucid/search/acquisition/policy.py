"""What a policy is: it chooses the acquisition of every proposal, from evidence that the storage holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.numerics import Array
from pellucid.provenance import ModelReceipt, PolicyState
from pellucid.search.acquisition.base import Acquisition, Situation
from pellucid.threads import cached_property


@dataclass(frozen=True)
class Evidence:
    """What a policy bases its decision on.

    newest      receipts of the earlier proposals of a model, the newest first: a large study has too many to read all
    bounds      (UBR, min UCB, min LCB) of the current model; only for policies with `wants_bounds`
    best        best value observed so far, as a loss in the user's unit
    best_under  the configuration (d,) that an acquisition would propose now
    """

    newest: Callable[[], Iterator[ModelReceipt]]
    model: GaussianProcess
    situation: Situation
    bounds: tuple[float, float, float] | None
    best: float
    best_under: Callable[[Acquisition], Array]
    rng: np.random.Generator

    @cached_property
    def past(self) -> tuple[ModelReceipt, ...]:
        """All of these receipts, by trial number."""
        return tuple(self.newest())[::-1]


@dataclass(frozen=True)
class Decision:
    """The acquisition of a proposal.

    state    state of the policy that chose it, for the receipt
    x (d,)   the proposal, if the policy has already computed it
    bounds   bounds that the policy used, for the receipt: see `Evidence`
    """

    acquisition: Acquisition
    state: PolicyState | None = None
    x: Array | None = None
    bounds: tuple[float, ...] = ()


@runtime_checkable
class Policy(Protocol):
    """Chooses an acquisition for every proposal."""

    @property
    def wants_bounds(self) -> bool:
        """Whether `Evidence.bounds` is needed: it costs about a third of the proposal itself."""

    def decide(self, evidence: Evidence) -> Decision: ...
