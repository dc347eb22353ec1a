"""Which configurations are feasible, as far as the trials and a model of every constraint tell.

Notation
    P (n,)   chance that a configuration is feasible: the product over constraints of the chance that each is satisfied,
             averaged over models with plausible hyperparameters
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from pellucid.explain.model import fitted_model, plausible_models
from pellucid.explain.parts import joint_latent
from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel, limit_of, log_chance, targets, zero_of
from pellucid.numerics import Array
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays, encoded
from pellucid.study.observations import Observations
from pellucid.study.view import StudyView
from pellucid.words import value_text

_models: WeakKeyDictionary[StudyView, list[tuple[Space, tuple[tuple[ConstraintModel, ...], ...]]]] = WeakKeyDictionary()


def constraint_models(view: StudyView, space: Space) -> tuple[tuple[ConstraintModel, ...], ...]:
    """Of every constraint, the best fit and then the plausible ones; of each once per view and space."""
    known = _models.setdefault(view, [])
    for other, models in known:
        if other == space:
            return models
    fitted = []
    for name in view.observations.constraints.names:
        about = view.about_constraint(name)
        data = view.chosen(encoded(space, about.observations))
        if len(data.losses):
            zero = zero_of(data.losses)
            data = data.with_values(targets(data.losses, zero))
            best = ConstraintModel(name, fitted_model(about, data), limit_of(data.losses), zero)
            others = plausible_models(best.gp, data) if np.ptp(data.losses) > 0.0 else ()
            fitted.append((best, *(replace(best, gp=gp) for gp in others)))
    known.append((space, tuple(fitted)))
    return known[-1][1]


def best_fits(view: StudyView, space: Space) -> tuple[ConstraintModel, ...]:
    """One model of every constraint."""
    return tuple(models[0] for models in constraint_models(view, space))


def subject(constraint: ConstraintModel) -> tuple[str, ...]:
    """What draws of a constraint are about: unlike an objective, whatever its name."""
    return "constraint", constraint.name


def chance_of_feasible(view: StudyView, space: Space, X: Array) -> Array:
    """P at encoded configurations; 1 without constraints."""
    chance: Array = np.ones(len(X))
    for models in constraint_models(view, space):
        drawn = models[1:] or models
        chance = chance * np.mean([model.probability(X) for model in drawn], axis=0)
    return chance


def feasible_losses(view: StudyView, space: Space, Z: Array, F: Array) -> Array:
    """Joint draws F (s, m) of the objective at candidates Z (m, d), infinite where a draw of a constraint is above its
    limit."""
    for models in constraint_models(view, space):
        drawn = models[1:] or models
        latent = joint_latent(tuple(model.gp for model in drawn), Z, subject(models[0]))
        limits = np.repeat([model.threshold for model in drawn], len(latent) // len(drawn))
        F = np.where(latent[: len(F)] <= limits[: len(F), None], F, np.inf)
    return F


@dataclass(frozen=True)
class Feasibility:
    """What the best fits of a study's constraints say about configurations of a space. `worst`: the loss that an
    infeasible configuration counts with."""

    constraints: tuple[ConstraintModel, ...]
    worst: float

    @staticmethod
    def of(view: StudyView, data: Arrays) -> Feasibility | None:
        """None if there is nothing to keep."""
        if not view.constrained or view.constraint is not None:
            return None
        constraints = best_fits(view, data.space)
        if view.choice is not None:
            constraints = tuple(_conditioned_on(data, view, constraint) for constraint in constraints)
        return Feasibility(constraints, float(data.losses.max()))

    def log_chance(self, X: Array) -> Array:
        """(m,)"""
        return log_chance(self.constraints, X)

    def kept(self, Z: Array, F: Array) -> Array:
        """Joint draws F (s, m) of losses at Z (m, d), the worst where a draw of a constraint is above its limit."""
        for constraint in self.constraints:
            latent = joint_latent((constraint.gp,), Z, subject(constraint))
            F = np.where(np.resize(latent, F.shape) <= constraint.threshold, F, np.maximum(F, self.worst))
        return F


def _conditioned_on(data: Arrays, view: StudyView, constraint: ConstraintModel) -> ConstraintModel:
    """The model of a constraint on the trials of `data` alone, if these are much fewer: thousands of candidates are
    asked about, and each costs the square of the trials."""
    if len(data.losses) >= constraint.gp.n_observed // 2:
        return constraint
    observed = view.about_constraint(constraint.name).observations
    numbers = set(data.observations.numbers)
    own = encoded(data.space, observed.select([i for i, number in enumerate(observed.numbers) if number in numbers]))
    if not len(own.losses):
        return constraint
    gp = GaussianProcess.from_hyperparameters(constraint.gp.hyperparameters)
    return replace(constraint, gp=gp.condition(own.X, targets(own.losses, constraint.zero)))


def none_feasible(observations: Observations) -> str:
    """The sentence about a study in which no trial is known to be feasible: which one comes closest."""
    return f"{none_feasible_clause(observations)}."


def none_feasible_clause(observations: Observations) -> str:
    """The same without its full stop."""
    constraints = observations.constraints
    n = len(observations)
    none = "The only trial is not" if n == 1 else f"None of the {n} trials is"
    order = np.argsort(constraints.violation, kind="stable")
    if not len(order) or not np.isfinite(constraints.violation[order[0]]):
        return f"{none} known to be feasible: no constraint was reported as a number"
    closest = int(order[0])
    nearest = f"The closest is trial {observations.numbers[closest]}: {violated(observations, closest)}"
    return f"{none} feasible. {nearest}"


def violated(observations: Observations, row: int) -> str:
    """ "`memory` is 3.2 above its limit" """
    values = zip(observations.constraints.names, observations.constraints.values[row].tolist(), strict=True)
    parts = [f"`{name}` is {value_text(value)} above its limit" for name, value in values if value > 0.0]
    return " and ".join(parts)
