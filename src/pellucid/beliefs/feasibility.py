"""Which configurations are feasible, as far as the trials and a model of every constraint tell.

Notation
    P (n,)   chance that a configuration is feasible: the product over constraints of the chance that each is satisfied,
             averaged over models with plausible hyperparameters
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.models.constraint import ConstraintModel, log_chance
from pellucid.models.draws import joint_latent
from pellucid.numerics import Array
from pellucid.study.observations import Observations
from pellucid.words import value_text

# Of every constraint, the best fit and then the plausible ones.
Constraints = Sequence[tuple[ConstraintModel, ...]]


def subject(constraint: ConstraintModel) -> tuple[str, ...]:
    """The words that draws of a constraint begin with, see `Target.subject`."""
    return "constraint", constraint.name


def chance_of_feasible(constraints: Constraints, X: Array) -> Array:
    """P at encoded configurations; 1 without constraints."""
    chance: Array = np.ones(len(X))
    for models in constraints:
        drawn = models[1:] or models
        chance = chance * np.mean([model.probability(X) for model in drawn], axis=0)
    return chance


def feasible_losses(constraints: Constraints, Z: Array, F: Array) -> Array:
    """Joint draws F (s, m) of the objective at candidates Z (m, d), infinite where a draw of a constraint is above its
    limit."""
    for models in constraints:
        drawn = models[1:] or models
        latent = joint_latent(tuple(model.gp for model in drawn), Z, subject(models[0]))
        limits = np.repeat([model.threshold for model in drawn], len(latent) // len(drawn))
        F = np.where(latent[: len(F)] <= limits[: len(F), None], F, np.inf)
    return F


@dataclass(frozen=True)
class Feasibility:
    """What the best fits of a study's constraints say about configurations. `worst`: the loss that an
    infeasible configuration counts with."""

    constraints: tuple[ConstraintModel, ...]
    worst: float

    def log_chance(self, X: Array) -> Array:
        """(m,)"""
        return log_chance(self.constraints, X)

    def kept(self, Z: Array, F: Array) -> Array:
        """Joint draws F (s, m) of losses at Z (m, d), the worst where a draw of a constraint is above its limit."""
        for constraint in self.constraints:
            latent = joint_latent((constraint.gp,), Z, subject(constraint))
            F = np.where(np.resize(latent, F.shape) <= constraint.threshold, F, np.maximum(F, self.worst))
        return F


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
