"""An acquisition among configurations that are likely to be feasible.

Notation
    P_c(x)   chance that constraint c is satisfied at x;  n constraints
    p        the chance that is enough: at p^(1/n) for every constraint, all of them are satisfied with chance p
    t_c(x)   min(0, log P_c - log p / n), the term of a constraint: 0 where it is likely enough to be satisfied
    score    of the acquisition (log EI, or a bound in standard deviations) + w * the sum over c of t_c. As long as no
             feasible configuration is known, the sum alone, with p = 1: the search is for one that is feasible.

EI times the chance of being feasible would be w = p = 1. But the best configurations often lie on the boundary of a
constraint. There the last bits of improvement are worth more nats than the chance of being infeasible costs, and half
of the proposals would be infeasible by a hair; with a bound in the place of log EI, whose last bits are worth little,
proposals would stay far from the boundary instead. So the chance counts only where it is not enough, and heavily: then
proposals approach the boundary from the inside, as fast as the model gets to know it. A bound that explores the
objective explores constraints as well: less is enough for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel
from pellucid.models.posterior import Posterior, Posteriors
from pellucid.numerics import Array
from pellucid.provenance import Term
from pellucid.search.acquisition.base import (
    Acquisition,
    AcquisitionFunction,
    Effort,
    PointwiseAcquisition,
    Pool,
    Situation,
    from_name,
)
from pellucid.search.acquisition.bounds import LCB
from pellucid.search.acquisition.feasible import Feasible
from pellucid.search.acquisition.units import LatentScale, Unit
from pellucid.space.encoding import Space
from pellucid.words import printable

# The weight beside a logarithm; and beside a bound, where it is multiplied by the distance to the best bound anywhere,
# feasible or not, or by this if it is more: what could be gained by ignoring constraints. These, and what is enough,
# were chosen on the design problems of the laboratory's `constrained`.
_LOG_WEIGHT, _BOUND_WEIGHT, _LEAST_REACH = 10.0, 0.15, 0.1
# The chance that is enough, and for bounds from this width on.
_ENOUGH, _WIDE_ENOUGH, _WIDE = 0.85, 0.5, 1.5
# Where several constraints meet, the best configuration lies at the end of a narrow, winding ridge, one of many.
HARD = Effort(40, 1e-4, climbs=30, everywhere=1024)
# Terms are at least this: hopeless is hopeless. Most of a space can be thousands of nats away from being feasible, and
# an explanation would speak of nothing else. The score is not cut off, because climbs need its slope.
_FLOOR = math.log(1e-3)
# A term that falls short of 0 by less makes no difference to one that does not.
_CERTAIN = 1e-16
# Terms of constraints are called this, and the name of the constraint.
PREFIX = "feasible: "


@dataclass(frozen=True)
class Constrained(Acquisition):
    """`base` times the chance that the constraints of these names are satisfied; None: this chance alone."""

    base: Acquisition | None
    constraints: tuple[str, ...]
    weight: float = 1.0
    enough: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.enough <= 1.0:
            raise ValueError(f"The chance that is enough must be above 0 and at most 1, but got {self.enough!r}.")

    @staticmethod
    def among_feasible(base: Acquisition, constraints: tuple[str, ...], pool: Pool, best: float) -> Constrained:
        """With the weight and the chance that suit the base, given candidates and the best feasible trial's loss."""
        of = base.base if isinstance(base, Feasible) else base
        if not isinstance(of, LCB):
            return Constrained(base, constraints, _LOG_WEIGHT, _ENOUGH)
        width = _WIDE if of.lam is None else of.lam
        reach = max(best - float((pool.mean - width * pool.sd).min()), _LEAST_REACH)
        return Constrained(base, constraints, _BOUND_WEIGHT * reach, _WIDE_ENOUGH if width >= _WIDE else _ENOUGH)

    def words(self) -> dict[str, Term]:
        words = {} if self.base is None else _base_words(self.base)
        for name in self.constraints:
            words[f"{PREFIX}{name}"] = Term(
                f"chance of being feasible ({name})", f"likely to keep the limit on {name}", "feasibility"
            )
        return words

    def unit(self, scale: LatentScale) -> Unit:
        bound = isinstance(self.base, PointwiseAcquisition) and self.base.mean_term is not None
        return self.base.unit(scale) if bound and self.base is not None else Unit("log", 1.0)

    def settings(self) -> dict[str, Any]:
        base = {} if self.base is None else {"base": self.base.name, "base settings": _listed(self.base.settings())}
        return {**base, "constraints": list(self.constraints), "weight": self.weight, "enough": self.enough}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Constrained:
        base: Acquisition | None = None
        if "base" in settings:
            base = from_name(settings["base"], _unlisted(settings["base settings"]))
        if base is not None and not base.one_score:
            raise ValueError(f"Only an acquisition with one score can be constrained, but got {settings['base']!r}.")
        names = tuple(settings["constraints"])
        if not all(isinstance(name, str) for name in names):
            raise ValueError(f"A constrained acquisition takes names of constraints, but got {names!r:.200}.")
        return cls(base, names, float(settings["weight"]), float(settings["enough"]))

    def bind(self, model: GaussianProcess, situation: Situation, space: Space) -> AcquisitionFunction:
        known = {constraint.name for constraint in situation.constraints}
        if not known.issuperset(self.constraints):
            missing = ", ".join(name for name in self.constraints if name not in known)
            raise ValueError(
                printable(f"A constrained acquisition needs a model of every constraint, but {missing} has none.")
            )
        base = None if self.base is None else self.base.bind(model, situation, space)
        return _ConstrainedFunction(self, model, situation, base)


@dataclass(frozen=True)
class _ConstrainedFunction(AcquisitionFunction):
    acquisition: Constrained
    model: GaussianProcess
    situation: Situation
    base: AcquisitionFunction | None

    @property
    def effort(self) -> Effort:
        return HARD

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
        short = {f"{PREFIX}{c.name}": self._short(c.log_probability(X)) for c in self._constraints}
        if self.base is not None:
            short = {name: np.maximum(term, _FLOOR) for name, term in short.items()}
        return {**base, **short}

    @property
    def models(self) -> tuple[GaussianProcess, ...]:
        of_base = () if self.base is None else self.base.models
        # What the base needs beside models, this needs too.
        return (*of_base, *(c.gp for c in self._constraints)) if of_base or self.base is None else ()

    def terms_from(self, posteriors: Posteriors, floor: Mapping[str, float]) -> dict[str, Array]:
        terms: dict[str, Array] = {}
        n = len(posteriors) - len(self._constraints)
        if self.base is not None and _adds_up(self.base):
            terms = self.base.terms_from(posteriors[:n], floor)
        elif self.base is not None:
            terms = {"acquisition": self.base.score_from(posteriors[:n], floor["acquisition"])}
        for constraint, posterior in zip(self._constraints, posteriors[n:], strict=True):
            name = f"{PREFIX}{constraint.name}"
            lowest = floor[name] if self.base is None else max(floor[name], _FLOOR)
            terms[name] = np.maximum(self._short_from(constraint, posterior, lowest), lowest)
        return terms

    def _short_from(self, constraint: ConstraintModel, posterior: Posterior, lowest: float) -> Array:
        """t_c, or less than `lowest` where it is. A larger sd takes a chance closer to 1/2, so that most chances that
        are hopeless or certain are known from bounds on the sds."""
        if lowest == -np.inf:
            return self._short(constraint.log_from(posterior.mean, posterior.sd()))
        short = self._short(constraint.log_from(posterior.mean, posterior.sd_at_most()))
        between = (short > lowest) & (short < -_CERTAIN)
        short[between] = self._short(constraint.log_from(posterior.mean[between], posterior.sd_where(between)))
        return short

    def score(self, X: Array) -> Array:
        base = np.zeros(len(X)) if self.base is None else self.base.score(X)
        return base + self.acquisition.weight * sum(self._short(c.log_probability(X)) for c in self._constraints)

    def screen_pool(self, pool: Pool) -> Array:
        base = np.zeros(len(pool.X)) if self.base is None else self.base.screen_pool(pool)
        chances = sum(self._short(c.screened(pool.X)) for c in self._constraints)
        return base + self.acquisition.weight * chances

    def score_with_gradient(self, X: Array) -> tuple[Array, Array]:
        score, slope = np.zeros(len(X)), np.zeros_like(X)
        if self.base is not None:
            score, slope = self.base.score_with_gradient(X)
        for constraint in self._constraints:
            log_p, gradient = constraint.log_probability_with_gradient(X)
            short = self._short(log_p)
            score = score + self.acquisition.weight * short
            slope = slope + self.acquisition.weight * np.where((short < 0.0)[:, None], gradient, 0.0)
        return score, slope

    def _short(self, log_p: Array) -> Array:
        """t_c: by how much the logarithm of a chance falls short of what is enough; never positive."""
        return np.minimum(0.0, log_p - math.log(self.acquisition.enough) / len(self.acquisition.constraints))

    @property
    def _constraints(self) -> list[ConstraintModel]:
        return [c for c in self.situation.constraints if c.name in self.acquisition.constraints]


def _adds_up(function: AcquisitionFunction) -> bool:
    """Whether the score is the sum of the terms, which can then stand next to those of the constraints."""
    return function.mean_term is not None or isinstance(function.acquisition, Feasible)


def _base_words(base: Acquisition) -> dict[str, Term]:
    if isinstance(base, Feasible) or (isinstance(base, PointwiseAcquisition) and base.mean_term is not None):
        return base.words()
    return {"acquisition": base.score_words()}


def _listed(settings: Mapping[str, Any]) -> list[Any]:
    """Settings as a list of pairs: receipts hold lists inside settings, not dictionaries."""
    return [[name, value] for name, value in settings.items()]


def _unlisted(pairs: Any) -> dict[str, Any]:
    return {str(name): value for name, value in pairs}
