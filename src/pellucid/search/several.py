"""A proposal for several objectives: a model of each, and what a trial is expected to add to their front.

How much volume a trial adds depends on the reference point. Far behind the front, the ends of the front are worth most:
a front that was first found at one end is followed to the other, but then its ends are polished for ever. Just behind
the front, gaps and the middle are worth most. So the two take turns. With constraints, every second proposal also goes
where it may well be infeasible if there is much to gain: the feasible part that was found first may not be the only
one.

With two objectives, an outcome has to be better than the front by a small share of its length to count. Without that, a
search never leaves an end of the front: at the least value of one objective, its model is almost sure that nothing is
better, but a very little better would be worth much below a far reference point. A piece of the front that is still to
be found is worth less. With constraints, or with three and more objectives, the tolerance found nothing more.

With three and more objectives, only half of the sds count. The more objectives, the more ways there are to be better by
luck: whole sds sent many proposals into corners of the space, where all models know least.

Chosen on the design problems of the laboratory's `moo`. There, models without an output warp were better than those
with one. A warp resolves what is close to the best value of an objective, where many trials of such a search are, and
the front is everywhere else.

Notation
    k objectives;  n observations
    Y (n, k)   latent means of the observations, smaller is better: without the luck of noisy values
    behind     (n,), how much an observation would have to improve in every objective to be on the front; 0 on it
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.models import GaussianProcess
from pellucid.numerics import Array, Indices, compress_integers, stream
from pellucid.pareto import apart, behind, front, reference_of, reference_point, steady_reference_point
from pellucid.provenance import ModelReceipt, ModelState
from pellucid.search import others
from pellucid.search.acquisition.base import AcquisitionFunction, Outcomes, Situation, latent_rows
from pellucid.search.acquisition.constrained import HARD, Constrained
from pellucid.search.acquisition.ehvi import EHVI, MANY, latent_reference
from pellucid.search.acquisition.feasible import FEWEST_FAILURES, Chance
from pellucid.search.acquisition.optimize import SEPARATION, screen
from pellucid.search.configuration import Configuration, model_state, rounded, shared_fields
from pellucid.search.constraints import fitted_constraints
from pellucid.search.maximising import Fitted, Maximiser, Region, Regions, Screening
from pellucid.search.models import fit
from pellucid.search.publishing import Proposal
from pellucid.search.rules import Rule
from pellucid.study.arrays import Arrays
from pellucid.study.targets import Target
from pellucid.study.view import StudyView

# Every proposal whose number is not a multiple of this has the near reference point.
_FAR_EVERY = 2
# See above: the tolerance with up to this many objectives, and the share of the sds with more.
_TOLERANCE, _FEW, _WIDTH_OF_MANY = 0.002, 2, 0.5
# Observed configurations around which candidates are drawn: of the front, or the nearest to it, at least and at most.
_FEWEST_INCUMBENTS, _MOST_INCUMBENTS = 5, 32

# Members of the front that a proposal is to improve at most, by the number of objectives: they leave about 4,000 boxes
# open, and an ask takes a second. Of more, those that are far from each other stand for the others.
_MOST_TO_BEAT = {2: 4000, 3: 2000, 4: 500}

# Members of the front whose neighbours a model keeps if there are too many trials for all of them.
_MOST_NEIGHBOURED = 200


@dataclass(frozen=True)
class _ObjectiveFit:
    """The surrogate of an objective; the observations that it is conditioned on; and how many it was learned from."""

    view: StudyView
    objective: Target
    ceiling: float
    gp: GaussianProcess
    data: Arrays
    learned_from: int

    @staticmethod
    def of(
        view: StudyView, objective: Target, data: Arrays, ceiling: float, settings: Maximiser, best: Indices
    ) -> _ObjectiveFit:
        own = data.of(objective).below(ceiling)
        return _ObjectiveFit(
            view, objective, ceiling, *fit(view, objective, own, settings.surrogate, settings.deterministic, best)
        )

    def state(self, model: GaussianProcess, x: Array) -> ModelState:
        """What a receipt says of it. `model`: with trials imputed; x (1, d): the proposal."""
        objective, named = self.objective, self.objective.name
        return model_state(
            self.view, objective, self.gp, model, x, self.data, self.learned_from, name=named, ceiling=self.ceiling
        )


def propose(settings: Maximiser, view: StudyView, trial: FrozenTrial, data: Arrays, regions: Regions) -> Proposal:
    """Parameters and their receipt. `data` has at least one observation."""
    losses = data.observations.values
    # What is beyond this adds no volume, so models need not know how far beyond: one bad trial is bad, however bad.
    among = _candidates_of_front(data)
    ceilings = zip(view.objectives, _ceilings(losses, among), strict=True)
    best = among[front(losses[among])]
    best = best[apart(losses[best], _MOST_NEIGHBOURED)]
    fits = [_ObjectiveFit.of(view, objective, data, ceiling, settings, best) for objective, ceiling in ceilings]
    Y = np.stack([_means(each, data) for each in fits], axis=1)
    fitted = Fitted(fits[0].gp, data, fits[0].learned_from, latent=_behind(Y, among))
    if view.constrained:
        constraints = fitted_constraints(view, data, settings.surrogate, settings.deterministic)
        fitted = replace(fitted, constraints=constraints)
    fitted = replace(fitted, rule=Rule.of(settings.allowed, view, data.space))
    every = others.Imputed.of(data, view, trial.number)
    imputed = every.thinned(fits[0].gp)
    region = regions(view, trial, fitted)
    to_beat, near = _to_beat(Y, data, region), trial.number % _FAR_EVERY > 0
    outcomes = Outcomes(
        tuple(each.gp.believe(imputed.rows) for each in fits),
        latent_rows([each.gp for each in fits], data.X[to_beat]),
        _reference(fits, data, losses, Y, near=near),
        0.0 if view.constrained or len(view.objectives) > _FEW else _TOLERANCE,
        1.0 if len(view.objectives) <= _FEW else _WIDTH_OF_MANY,
    )
    screening = _screened(settings, trial, fitted, fits[0].data, imputed, region, outcomes, to_beat)
    seen = data.space.canonical(np.vstack([data.X, every.rows]))
    function = _bound(screening, explores=near)
    x = replace(screening, seen=seen).best(function) if region.look is None else region.look.x
    assert x is not None
    configuration = rounded(data.space, x, screening.rng, region.held)
    receipt = _receipt(settings, view, trial, screening, fits, fitted, imputed, function, configuration, to_beat)
    return configuration.params, receipt


def _behind(Y: Array, among: Indices) -> Array:
    """See above. `among`: the observations that can be on the front."""
    return behind(Y, Y[among][front(Y[among])])


def _means(fit: _ObjectiveFit, data: Arrays) -> Array:
    """Y, of one objective: a large study is fitted on a choice of its trials."""
    thinned = len(fit.data) < len(data)
    return fit.gp.latent_means(data.X) if thinned else fit.gp.latent_at_observed()


def _candidates_of_front(data: Arrays) -> Indices:
    """Observations that can be on the front, as positions: the feasible ones, or all if none is."""
    feasible = data.observations.feasible
    return np.flatnonzero(feasible if feasible.any() else np.ones(len(feasible), dtype=bool))


def _ceilings(losses: Array, rows: Indices) -> list[float]:
    """One for each objective; `rows`: the observations that can be on the front."""
    can_be = np.isin(np.arange(len(losses)), rows)
    return [float(value) for value in np.maximum(steady_reference_point(losses), reference_of(losses, can_be))]


def _reference(fits: list[_ObjectiveFit], data: Arrays, losses: Array, Y: Array, *, near: bool) -> Array:
    """The reference point, on the latent scale: just behind the front as the models see it, or that of all values."""
    rows = _candidates_of_front(data)
    if near:
        return reference_point(Y[rows][front(Y[rows])])
    point = reference_of(losses, np.isin(np.arange(len(Y)), rows))
    return latent_reference([each.gp for each in fits], point, Y[rows])


def _bound(screening: Screening, *, explores: bool) -> AcquisitionFunction:
    """The acquisition applied to the models. `explores`: times the chance of being feasible, instead of only where that
    is likely."""
    constraints = screening.situation.constraints
    if not explores or not constraints or not len(screening.to_beat):
        return screening.bound(EHVI())
    base = EHVI() if screening.chance is None else screening.chance.times(EHVI())
    product = Constrained(base, tuple(constraint.name for constraint in constraints))
    return product.bind(screening.model, screening.situation, screening.data.space)


def _to_beat(Y: Array, data: Arrays, region: Region) -> Indices:
    """The observations of the front that the proposal is to improve, as positions."""
    possible = data.observations.feasible if region.own is None else data.observations.feasible & region.own
    rows = np.flatnonzero(possible)
    rows = rows[front(Y[rows])]
    return np.asarray(rows[apart(Y[rows], _MOST_TO_BEAT[Y.shape[1]])])


def _screened(
    settings: Maximiser,
    trial: FrozenTrial,
    fitted: Fitted,
    first: Arrays,
    imputed: others.Imputed,
    region: Region,
    outcomes: Outcomes,
    to_beat: Indices,
) -> Screening:
    """Candidates, and what is known about the space. `first`: what the model of the first objective is fitted to."""
    data, space = fitted.data, fitted.data.space
    rng = stream(settings.seed, "proposal", trial.number)
    constraints = tuple(constraint.model.believe(imputed.rows) for constraint in fitted.constraints)
    order = np.argsort(fitted.standing, kind="stable")
    n_front = int((fitted.standing <= 0.0).sum())
    nearest = order[: max(n_front, _FEWEST_INCUMBENTS)]
    incumbents = data.X[nearest if len(nearest) <= _MOST_INCUMBENTS else rng.choice(nearest, _MOST_INCUMBENTS, False)]
    also = None if fitted.rule is None else fitted.rule.found(data.X, stream(settings.seed, "allowed", trial.number))
    learn_chance = settings.avoid_failures and len(imputed.X_failed) >= FEWEST_FAILURES
    return Screening(
        data=data,
        model=outcomes.models[0],
        situation=Situation(outcomes.volume, len(data), len(space), constraints, outcomes),
        to_beat=to_beat,
        incumbents=incumbents,
        pool=screen(outcomes.models[0], space, incumbents, rng, also, HARD if constraints else MANY),
        seen=data.X,
        separation=SEPARATION,
        region=region,
        rule=fitted.rule,
        chance=Chance.learned(first.X, imputed.X_failed, space) if learn_chance else None,
        rng=rng,
    )


def _receipt(
    settings: Maximiser,
    view: StudyView,
    trial: FrozenTrial,
    screening: Screening,
    fits: list[_ObjectiveFit],
    fitted: Fitted,
    imputed: others.Imputed,
    function: AcquisitionFunction,
    configuration: Configuration,
    to_beat: Indices,
) -> ModelReceipt:
    outcomes, x = screening.situation.outcomes, configuration.x
    assert outcomes is not None
    numbers = screening.data.observations.numbers
    return ModelReceipt(
        **shared_fields(view, trial, settings.seed, configuration, screening.data),
        models=tuple(each.state(model, x) for each, model in zip(fits, outcomes.models, strict=True)),
        believed=compress_integers(imputed.failed),
        pending={str(number): tuple(row.tolist()) for number, row in imputed.running.items()},
        acquisition=function.state(x, screening.data.space),
        turn=screening.region.turn,
        look=screening.region.look is not None,
        constraints=tuple(
            each.state(constraint, x)
            for each, constraint in zip(fitted.constraints, screening.situation.constraints, strict=True)
        ),
        front=compress_integers([numbers[row] for row in to_beat]),
        reference=tuple(outcomes.reference.tolist()),
        tolerance=outcomes.tolerance,
        width=outcomes.width,
    )
