"""An acquisition among configurations that are likely to be feasible.

Notation
    P_c(x)   chance that constraint c is satisfied at x, with a margin in standard deviations of the constraint (see
             `surrogates.constraint`)
    score    of the acquisition (log EI, or a bound in standard deviations) + w * the sum over c of log P_c. As long as
             no feasible configuration is known, the sum alone: the search is for one that is feasible.

With w = 1 and no margin this is EI times the chance of being feasible. But the best configurations often lie on the
boundary of a constraint. There the last bits of improvement are worth more nats than the chance of being infeasible
costs, and half of the proposals would be infeasible by a hair. With a larger weight and a margin they approach the
boundary from the inside, as fast as the model gets to know it. A bound in standard deviations varies less than log EI,
so its weight is smaller; one that explores the objective explores constraints as well, and has no margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.acquisition.base import (
    Acquisition,
    AcquisitionFunction,
    Climb,
    PointwiseAcquisition,
    Pool,
    Situation,
    from_name,
)
from pellucid.acquisition.bounds import LCB
from pellucid.acquisition.feasible import Feasible
from pellucid.acquisition.units import LatentScale, Unit
from pellucid.numerics import Array
from pellucid.records import Term
from pellucid.study.encoding import Space
from pellucid.surrogates import GaussianProcess
from pellucid.surrogates.constraint import ConstraintModel

# Weights of log P beside a logarithm and beside a bound, and the margin beside both; that of a bound shrinks with its
# width, to nothing at this one. Chosen on the design problems of the laboratory's `constrained`.
_LOG_WEIGHT, _BOUND_WEIGHT, _MARGIN, _WIDE = 10.0, 0.07, 1.0, 2.0
# Terms of constraints are called this, and the name of the constraint.
PREFIX = "feasible: "


@dataclass(frozen=True)
class Constrained(Acquisition):
    """`base` times the chance that the constraints of these names are satisfied; None: this chance alone."""

    base: PointwiseAcquisition | Feasible | None
    constraints: tuple[str, ...]
    weight: float = 1.0
    margin: float = 0.0

    @staticmethod
    def among_feasible(base: PointwiseAcquisition | Feasible, constraints: tuple[str, ...]) -> Constrained:
        """With the weight and the margin that suit the base."""
        of = base.base if isinstance(base, Feasible) else base
        if not isinstance(of, LCB):
            return Constrained(base, constraints, _LOG_WEIGHT, _MARGIN)
        width = _WIDE if of.lam is None else of.lam
        return Constrained(base, constraints, _BOUND_WEIGHT, _MARGIN * max(0.0, 1.0 - width / _WIDE))

    def words(self) -> dict[str, Term]:
        words = {} if self.base is None else _base_words(self.base)
        for name in self.constraints:
            words[f"{PREFIX}{name}"] = Term(
                f"chance of being feasible ({name})", f"likely to be feasible: {name}", "feasibility"
            )
        return words

    def unit(self, scale: LatentScale) -> Unit:
        return Unit("log", 1.0)

    def settings(self) -> dict[str, Any]:
        base = {} if self.base is None else {"base": self.base.name, "base settings": _listed(self.base.settings())}
        return {**base, "constraints": list(self.constraints), "weight": self.weight, "margin": self.margin}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Constrained:
        base: Acquisition | None = None
        if "base" in settings:
            base = from_name(settings["base"], _unlisted(settings["base settings"]))
        if base is not None and not isinstance(base, (PointwiseAcquisition, Feasible)):
            raise ValueError(f"Only an acquisition with one score can be constrained, but got {settings['base']!r}.")
        return cls(base, tuple(settings["constraints"]), float(settings["weight"]), float(settings["margin"]))

    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> AcquisitionFunction:
        known = {constraint.name for constraint in situation.constraints}
        if not known.issuperset(self.constraints):
            missing = ", ".join(name for name in self.constraints if name not in known)
            raise ValueError(f"A constrained acquisition needs a model of every constraint, but {missing} has none.")
        base = None if self.base is None else self.base.bind(model, situation, space)
        return _ConstrainedFunction(self, model, situation, base)


@dataclass(frozen=True)
class _ConstrainedFunction(AcquisitionFunction):
    acquisition: Constrained
    model: GaussianProcess
    situation: Situation
    base: AcquisitionFunction | None

    @property
    def climb(self) -> Climb:
        """Longer: where several constraints meet, the way to the best configuration is a narrow, winding ridge."""
        return Climb(40, 1e-4)

    @property
    def mean_term(self) -> str | None:
        return self.base.mean_term if self.base is not None else None

    def weights(self) -> dict[str, float]:
        base = {} if self.base is None else self.base.weights() if _adds_up(self.base) else {"acquisition": 1.0}
        return {**base, **{f"{PREFIX}{name}": self.acquisition.weight for name in self.acquisition.constraints}}

    def terms(self, X: Array) -> dict[str, Array]:
        base: dict[str, Array] = {}
        if self.base is not None:
            base = self.base.terms(X) if _adds_up(self.base) else {"acquisition": self.base.score(X)}
        margin = self.acquisition.margin
        return {**base, **{f"{PREFIX}{c.name}": c.log_probability(X, margin) for c in self._constraints}}

    def score(self, X: Array) -> Array:
        return self(X)

    def screen_pool(self, pool: Pool) -> Array:
        base = np.zeros(len(pool.X)) if self.base is None else self.base.screen_pool(pool)
        chances = sum(c.screened(pool.X, self.acquisition.margin) for c in self._constraints)
        return base + self.acquisition.weight * chances

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        score, slope = np.zeros(len(X)), np.zeros_like(X)
        if self.base is not None:
            score, slope = self.base.score_with_gradient(X)
        for constraint in self._constraints:
            log_p, gradient = constraint.log_probability_with_gradient(X, self.acquisition.margin)
            score, slope = score + self.acquisition.weight * log_p, slope + self.acquisition.weight * gradient
        return score, slope

    @property
    def _constraints(self) -> list[ConstraintModel]:
        return [c for c in self.situation.constraints if c.name in self.acquisition.constraints]


def _adds_up(function: AcquisitionFunction) -> bool:
    """Whether the score is the sum of the terms, which can then stand next to those of the constraints."""
    return function.mean_term is not None or isinstance(function.acquisition, Feasible)


def _base_words(base: PointwiseAcquisition | Feasible) -> dict[str, Term]:
    if isinstance(base, Feasible) or base.mean_term is not None:
        return base.words()
    return {"acquisition": Term(f"acquisition ({base.name})", "{better} predicted {objective}", "prediction")}


def _listed(settings: Mapping[str, Any]) -> list[Any]:
    """Settings as a list of pairs: receipts hold lists inside settings, not dictionaries."""
    return [[name, value] for name, value in settings.items()]


def _unlisted(pairs: Any) -> dict[str, Any]:
    return {str(name): value for name, value in pairs}
