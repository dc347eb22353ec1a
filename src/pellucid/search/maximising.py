"""A proposal by Bayesian optimisation: fit, impute, screen, decide, maximise, round.

Notation
    gp       the surrogate of the observations;  model  the same with failed and running trials imputed by its mean
    X (n, d) encoded observations;  x (d,) the proposal
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.models import GaussianProcess
from pellucid.models.constraint import log_chance
from pellucid.numerics import Array, Indices, Mask, compress_integers, stream
from pellucid.provenance import ModelReceipt, PolicyState
from pellucid.search import others
from pellucid.search.acquisition.adaptive import upper_bound_regret
from pellucid.search.acquisition.alternation import Alternation
from pellucid.search.acquisition.base import USUAL, Acquisition, AcquisitionFunction, Pool, Situation
from pellucid.search.acquisition.constrained import HARD
from pellucid.search.acquisition.feasible import FEWEST_FAILURES, Chance
from pellucid.search.acquisition.improvement import EI
from pellucid.search.acquisition.interleave import Interleave, Multiplied
from pellucid.search.acquisition.optimize import SEPARATION, propose, screen
from pellucid.search.acquisition.policy import Decision, Evidence, Policy
from pellucid.search.acquisition.slices import Slice
from pellucid.search.configuration import Configuration, model_state, rounded, shared_fields
from pellucid.search.constraints import ConstraintFit, constrained, fitted_constraints
from pellucid.search.models import fit
from pellucid.search.own_parts import at_work, check_scores, is_own
from pellucid.search.publishing import Proposal
from pellucid.search.rules import Predicate, Rule
from pellucid.study.arrays import Arrays
from pellucid.study.extrapolation import curve_state
from pellucid.study.receipts import newest_model_receipts
from pellucid.study.view import StudyView
from pellucid.threads import cached_property

# Observed configurations around which candidates are drawn: the best by the model's mean.
_N_INCUMBENTS = 5
# In a space with categories: if the last trials improved the best latent loss by less than the gain, polishing it
# further keeps other categories from being tried, so proposals then move by at least the separation in a coordinate.
_STAGNATION_WINDOW, _STAGNATION_GAIN, _STAGNATION_SEPARATION = 6, 0.01, 1e-2


@dataclass(frozen=True)
class Region:
    """Where a proposal may come from.

    slice   part of the space; None for all of it
    words   why, for the receipt: the step of a search in steps
    step    of such a search, if it holds parameters meanwhile; otherwise None
    turn    why, for the receipt: the turn of a choice, or a look elsewhere
    held    values of the slice in the user's units, which encoding would round
    own     observations (n,) that the proposal must improve on; None: on all
    look    the decision, with its configuration, if the proposal is a look elsewhere; None: the best one
    """

    slice: Slice | None = None
    words: str = ""
    step: int | None = None
    turn: str = ""
    held: Mapping[str, float] = field(default_factory=dict)
    own: Mask | None = None
    look: Decision | None = None


@dataclass(frozen=True)
class Fitted:
    """The surrogate; the observations that it is conditioned on; how many its hyperparameters were learned from; if the
    proposal is to learn about effects, the decision for that; the surrogates of constraints; the user's rule; and, with
    several objectives, how far the observations are behind the front (n,)."""

    gp: GaussianProcess
    data: Arrays
    learned_from: int
    lesson: Decision | None = None
    constraints: tuple[ConstraintFit, ...] = ()
    rule: Rule | None = None
    latent: Array | None = None

    @property
    def standing(self) -> Array:
        """How good the observations are (n,), smaller is better; infeasible ones come last."""
        return self.data.standing(self.gp.latent_at_observed() if self.latent is None else self.latent)

    def chance_of_feasible(self, X: Array) -> Array:
        """(n,); 1 without constraints, 0 where the rule allows nothing."""
        chance = np.exp(log_chance([constraint.model for constraint in self.constraints], X))
        return np.asarray(chance if self.rule is None else chance * self.rule(X))


Regions = Callable[[StudyView, FrozenTrial, Fitted], Region]


def whole_space(view: StudyView, trial: FrozenTrial, fitted: Fitted) -> Region:
    return Region()


@dataclass(frozen=True)
class Screening:
    """Everything that acquisitions are maximised with for one proposal.

    to_beat (k,)  observations that the proposal must improve on, as positions; none if none of them is feasible
    seen (m, d)   configurations that must not be proposed again;  separation  how far from them a proposal must stay
    chance        that a trial does not fail; None if failures are not avoided
    """

    data: Arrays
    model: GaussianProcess
    situation: Situation
    to_beat: Indices
    incumbents: Array
    pool: Pool
    seen: Array
    separation: float
    region: Region
    rule: Rule | None
    chance: Chance | None
    rng: np.random.Generator

    def bound(self, acquisition: Acquisition) -> AcquisitionFunction:
        """The acquisition applied to the model, times the chances if there are any."""
        if self.chance is not None:
            acquisition = self.chance.times(acquisition)
        acquisition = constrained(acquisition, self.situation, self.pool, any_feasible=len(self.to_beat) > 0)
        return acquisition.bind(self.model, self.situation, self.data.space)

    def best(self, function: AcquisitionFunction) -> Array:
        """The new configuration (d,) with the best score."""
        if self.region.slice is not None:
            return self.region.slice.best(function, self.data.X, self.seen, self.rng, self.separation, self.rule)
        space = self.data.space
        return propose(function, space, self.incumbents, self.seen, self.rng, self.separation, self.pool, self.rule)


@dataclass(frozen=True)
class Maximiser:
    """Settings of Bayesian optimisation, and how they make a proposal.

    policy          chooses the acquisition of every proposal; None: always `acquisition`
    surrogate       whose kernel and warp are used
    deterministic   the same parameters always return the same value
    """

    acquisition: Acquisition
    policy: Policy | None
    interleave: Interleave | None
    surrogate: GaussianProcess
    deterministic: bool
    avoid_failures: bool
    seed: int
    allowed: Predicate | None = None

    @property
    def named_params(self) -> tuple[str, ...]:
        """Parameters whose effects are to be learned, if they are named."""
        return (*self.acquisition.named_params, *(self.interleave.gain.named_params if self.interleave else ()))

    @cached_property
    def own_parts(self) -> tuple[object, ...]:
        """Those that the user wrote."""
        members = self.policy.acquisitions if isinstance(self.policy, Alternation) else ()
        return tuple(filter(is_own, (self.acquisition, self.policy, self.interleave, *members)))

    def propose(self, view: StudyView, trial: FrozenTrial, data: Arrays, regions: Regions) -> Proposal:
        """Parameters and their receipt. `data` has at least one observation."""
        fitted = self._fit(view, trial, data)
        if view.constrained:
            template = self.surrogate if fitted.lesson is None else self.surrogate.unwarped()
            fitted = replace(fitted, constraints=fitted_constraints(view, data, template, self.deterministic))
        fitted = replace(fitted, rule=Rule.of(self.allowed, view, data.space))
        every = others.Imputed.of(data, view, trial.number)
        imputed = every.thinned(fitted.gp)
        # What a proposal is to learn about concerns the whole space.
        region = regions(view, trial, fitted) if fitted.lesson is None else Region()
        seen = data.space.canonical(np.vstack([data.X, every.rows]))
        screening = self._screen(trial, fitted, imputed, region, seen)
        with at_work(self.own_parts, trial.number):
            decision = self._decide(view, trial, screening) if fitted.lesson is None else fitted.lesson
            function = screening.bound(decision.acquisition)
            x = screening.best(function) if decision.x is None else decision.x
            configuration = rounded(data.space, x, screening.rng, region.held)
            receipt = self._receipt(view, trial, screening, fitted, imputed, decision, function, configuration)
            if self.own_parts:
                check_scores(function, screening.pool, receipt.acquisition)
            return configuration.params, receipt

    def _fit(self, view: StudyView, trial: FrozenTrial, data: Arrays) -> Fitted:
        """The surrogate for improving the objective, or the one for learning about effects if this is its turn.

        Effects are averages of the objective itself, so their model has no output warp (and exact integrals).
        """
        turns = self.interleave if self.interleave is not None and self.interleave.mode != "multiply" else None
        with at_work(self.own_parts, trial.number):
            learns = bool(self.acquisition.learns_about(data.space))
            its_turn = turns is not None and turns.turn(trial.number, self.seed)
        if learns or its_turn:
            gp, used, learned_from = fit(view, view.objective, data, self.surrogate.unwarped(), self.deterministic)
            if learns or turns is None:
                return Fitted(gp, used, learned_from, Decision(self.acquisition))
            with at_work(self.own_parts, trial.number):
                gain, widths = turns.still_wide(gp, data.space)
            if gain is not None:
                numbers = {f"half-width {name}": width for name, width in widths.items()}
                return Fitted(gp, used, learned_from, Decision(gain, PolicyState("Interleave", numbers)))
        return Fitted(*fit(view, view.objective, data, self.surrogate, self.deterministic))

    def _screen(
        self, trial: FrozenTrial, fitted: Fitted, imputed: others.Imputed, region: Region, seen: Array
    ) -> Screening:
        """Candidates, and what is known about the space."""
        gp, data, space = fitted.gp, fitted.data, fitted.data.space
        model = gp.believe(imputed.rows)
        latent = gp.latent_at_observed()
        own = np.ones(len(latent), dtype=bool) if region.own is None else region.own
        to_beat = np.flatnonzero(own & data.observations.measured)
        best = float(latent[to_beat if len(to_beat) else own].min())
        models = tuple(constraint.model.believe(imputed.rows) for constraint in fitted.constraints)
        incumbents = data.X[np.argsort(data.standing(latent), kind="stable")[:_N_INCUMBENTS]]
        rng = stream(self.seed, "proposal", trial.number)
        # Around the best configurations there is no more to learn than elsewhere.
        also = None if fitted.rule is None else fitted.rule.found(data.X, stream(self.seed, "allowed", trial.number))
        near = incumbents if fitted.lesson is None else incumbents[:0]
        pool = screen(model, space, near, rng, also, HARD if models else USUAL)
        learn_chance = self.avoid_failures and len(imputed.X_failed) >= FEWEST_FAILURES
        return Screening(
            data=data,
            model=model,
            situation=Situation(best, len(latent), len(space), models),
            to_beat=to_beat,
            incumbents=incumbents,
            pool=pool,
            seen=seen,
            separation=_separation(gp.data.z) if space.nominal else SEPARATION,
            region=region,
            rule=fitted.rule,
            chance=Chance.learned(data.X, imputed.X_failed, space) if learn_chance else None,
            rng=rng,
        )

    def _decide(self, view: StudyView, trial: FrozenTrial, screening: Screening) -> Decision:
        """The acquisition of a proposal that is meant to improve the objective."""
        data, model = screening.data, screening.model
        if screening.region.look is not None:
            return screening.region.look
        if screening.region.own is not None or not len(screening.to_beat):
            return Decision(EI() if self.policy is not None else self.acquisition)
        if self.policy is not None:
            bounds = None
            if self.policy.wants_bounds:
                measured = data.X[data.observations.measured]
                bounds = upper_bound_regret(model, measured, data.space, pool=screening.pool)
            evidence = Evidence(
                newest=lambda: newest_model_receipts(view.trials, trial.number),
                model=model,
                situation=screening.situation,
                bounds=bounds,
                best=float(data.losses[data.observations.measured].min()),
                best_under=lambda acquisition: screening.best(screening.bound(acquisition)),
                rng=stream(self.seed, "policy", trial.number),
            )
            decision = self.policy.decide(evidence)
            if not isinstance(decision, Decision):
                raise TypeError(f"`decide` must return a Decision, but returned {decision!r}")
            return replace(decision, bounds=bounds or ())
        if self.interleave is not None and self.interleave.mode == "multiply":
            power = self.interleave.beta / max(screening.situation.n_observed, 1)
            gain, pool = self.interleave.gain, screening.pool
            return Decision(Multiplied.over(self.acquisition, gain, power, screening.bound, pool))
        return Decision(self.acquisition)

    def _receipt(
        self,
        view: StudyView,
        trial: FrozenTrial,
        screening: Screening,
        fitted: Fitted,
        imputed: others.Imputed,
        decision: Decision,
        function: AcquisitionFunction,
        configuration: Configuration,
    ) -> ModelReceipt:
        x, data = configuration.x, screening.data
        return ModelReceipt(
            **shared_fields(view, trial, self.seed, configuration, data),
            models=(model_state(view, view.objective, fitted.gp, screening.model, x, data, fitted.learned_from),),
            acquisition=function.state(x, data.space),
            constraints=tuple(
                fit.state(constraint, x)
                for fit, constraint in zip(fitted.constraints, screening.situation.constraints, strict=True)
            ),
            curves=curve_state(view, data.observations.numbers),
            believed=compress_integers(imputed.failed),
            pending={str(number): tuple(row.tolist()) for number, row in imputed.running.items()},
            policy=decision.state,
            bounds=decision.bounds,
            phase=screening.region.words,
            step=screening.region.step,
            turn=screening.region.turn,
            look=screening.region.look is not None,
        )


def _separation(z: Array) -> float:
    """How far a proposal must stay from known configurations, given latent losses (n,) in the order of the trials."""
    if len(z) <= _STAGNATION_WINDOW:
        return SEPARATION
    gain = float(z[:-_STAGNATION_WINDOW].min() - z.min())
    return _STAGNATION_SEPARATION if gain < _STAGNATION_GAIN else SEPARATION
