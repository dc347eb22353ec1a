"""Constraints of a proposal: a surrogate each, and how an acquisition takes account of them."""

from __future__ import annotations

from dataclasses import dataclass

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel
from pellucid.numerics import Array, compress_integers
from pellucid.provenance import ConstraintState
from pellucid.search.acquisition.base import Acquisition, Pool, Situation
from pellucid.search.acquisition.constrained import Constrained
from pellucid.search.models import fit_constraint, pack
from pellucid.study.arrays import Arrays, encoded
from pellucid.study.constraint_data import ConstraintData
from pellucid.study.view import StudyView


@dataclass(frozen=True)
class ConstraintFit:
    """The surrogate of a constraint; the observations that it is conditioned on; and how many it was learned from."""

    model: ConstraintModel
    data: Arrays
    learned_from: int

    def state(self, model: ConstraintModel, x: Array) -> ConstraintState:
        """What a receipt says of it. `model`: with trials imputed; x (1, d): the proposal."""
        m, s = model.gp.latent(x)
        mean, sd = model.gp.from_latent(m, s)
        return ConstraintState(
            name=model.name,
            hyperparameters=model.gp.hyperparameters,
            limit=model.limit,
            fitted_on=compress_integers(self.data.observations.numbers),
            learned_from=self.learned_from,
            mean=float(mean[0]),
            sd=float(sd[0]),
            latent_mean=float(m[0]),
            latent_sd=float(s[0]),
            probability=float(model.probability(x)[0]),
            zero=model.zero,
            curvature=pack(self.model.gp.inverse_hessian),
        )


def fitted_constraints(
    view: StudyView, data: Arrays, template: GaussianProcess, deterministic: bool
) -> tuple[ConstraintFit, ...]:
    """The models of all constraints that a trial which fits the space reports."""
    fits = []
    for constraint in view.constraints:
        known = ConstraintData.of(constraint, encoded(data.space, view.observed(constraint)))
        if known is not None:
            gp, used, learned_from = fit_constraint(view, known, template, deterministic)
            fits.append(ConstraintFit(known.model(gp), used, learned_from))
    return tuple(fits)


def constrained(acquisition: Acquisition, situation: Situation, pool: Pool, *, any_feasible: bool) -> Acquisition:
    """The acquisition among feasible configurations; the search for one as long as none is known.

    An acquisition without a single score, to which the logarithm of a chance could be added, is returned unchanged.
    """
    names = tuple(constraint.name for constraint in situation.constraints)
    if not names or not acquisition.one_score:
        return acquisition
    if not any_feasible:
        return Constrained(None, names)
    return Constrained.among_feasible(acquisition, names, pool, situation.best)
