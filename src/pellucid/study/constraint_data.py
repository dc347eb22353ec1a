"""What the surrogate of a constraint is fitted to: the same for proposals, for answers and for what receipts hold."""

from __future__ import annotations

from dataclasses import dataclass

from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel, limit_of, targets, zero_of
from pellucid.models.states import Hyperparameters
from pellucid.provenance import ConstraintState
from pellucid.study.arrays import Arrays
from pellucid.study.targets import Target


@dataclass(frozen=True)
class ConstraintData:
    """Encoded observations of a constraint, with what its zeros stand for in their place.

    zero, limit   see `models.constraint`
    """

    name: str
    data: Arrays
    zero: float
    limit: float

    @staticmethod
    def of(constraint: Target, observed: Arrays) -> ConstraintData | None:
        """None if no trial reports it."""
        if not len(observed):
            return None
        zero = zero_of(observed.losses)
        data = observed.with_losses(targets(observed.losses, zero))
        return ConstraintData(constraint.name, data, zero, limit_of(data.losses))

    @staticmethod
    def again(known: ConstraintModel | ConstraintState, observed: Arrays) -> ConstraintData:
        """Read as for a model that was fitted before: what zeros stand for does not depend on these observations."""
        data = observed.with_losses(targets(observed.losses, known.zero))
        return ConstraintData(known.name, data, known.zero, known.limit)

    def model(self, gp: GaussianProcess) -> ConstraintModel:
        """`gp`: fitted to the data, or continued from an earlier fit."""
        return ConstraintModel(self.name, gp, self.limit, self.zero)

    def restored(self, hyperparameters: Hyperparameters) -> ConstraintModel:
        """The model with hyperparameters that were learned before."""
        gp = GaussianProcess.from_hyperparameters(hyperparameters)
        return self.model(gp.condition(self.data.X, self.data.losses))
