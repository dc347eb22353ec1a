"""Everything that is fitted to one view of a study, or drawn from that: made when an answer asks for it, and kept."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from pellucid.beliefs.failing import Failing, failing_settings
from pellucid.beliefs.feasibility import Feasibility
from pellucid.beliefs.model import Fits, Model
from pellucid.beliefs.settings import FailingSetting
from pellucid.models import GaussianProcess
from pellucid.models.constraint import ConstraintModel
from pellucid.search.acquisition.adaptive import upper_bound_regret
from pellucid.space.encoding import Space
from pellucid.study.arrays import Arrays, encoded
from pellucid.study.constraint_data import ConstraintData
from pellucid.study.targets import Target
from pellucid.study.view import StudyView
from pellucid.threads import cached_property
from pellucid.words import Unanswered, cause_of, printable_traceback

_logger = logging.getLogger("pellucid")

ConstraintModels = tuple[tuple[ConstraintModel, ...], ...]


class Beliefs:
    """What is believed about the targets of a study: models, and what they say of feasibility and of failures.

    It is the only cache of a view: answers that get the same beliefs share every model.
    """

    def __init__(self, view: StudyView) -> None:
        self.view = view
        self._fits: dict[Target, Fits] = {}
        self._constraints: list[tuple[Space, ConstraintModels]] = []

    # ------------------------------------------------------------------ targets

    def fits(self, target: Target) -> Fits:
        """The models of a target."""
        return self._fits.setdefault(target, Fits(target))

    def data(self, target: Target) -> Arrays:
        """All observations of a target inside the present ranges, encoded."""
        return self.view.data_of(target)

    def model(self, target: Target, data: Arrays | None = None, template: GaussianProcess | None = None) -> Model:
        """Default: of the observations that models are conditioned on, with the default kernel and warp."""
        return self.fits(target).model(self.view.chosen(self.data(target)) if data is None else data, template)

    def objective_models(self, data: Arrays, template: GaussianProcess | None = None) -> tuple[Model, ...]:
        """A model of every objective, each fitted as if it were the only one."""
        objectives = self.view.objectives
        return tuple(self.model(objective, data.of(objective), template) for objective in objectives)

    def interval_models(self, model: Model, template: GaussianProcess) -> tuple[GaussianProcess, ...]:
        """Plausible models with the warp that was chosen, and without one. `template`: that of the model."""
        if model.gp.hyperparameters.warp is None:
            return model.plausible
        plain = self.model(model.target, model.data, template.unwarped())
        return (*model.plausible, *plain.plausible)

    # ------------------------------------------------------------------ constraints

    def constraint_models(self, space: Space) -> ConstraintModels:
        """The models of every constraint: the best fit, and then the plausible ones."""
        for other, models in self._constraints:
            if other == space:
                return models
        fitted = []
        for constraint in self.view.constraints:
            known = ConstraintData.of(constraint, self.view.chosen(encoded(space, self.view.observed(constraint))))
            if known is not None:
                model = self.model(constraint, known.data)
                best = known.model(model.gp)
                others = model.plausible if np.ptp(known.data.losses) > 0.0 else ()
                fitted.append((best, *(replace(best, gp=gp) for gp in others)))
        self._constraints.append((space, tuple(fitted)))
        return tuple(fitted)

    def constraint_fits(self, space: Space) -> tuple[ConstraintModel, ...]:
        """The best fit of every constraint."""
        return tuple(models[0] for models in self.constraint_models(space))

    def feasibility(self, target: Target, data: Arrays) -> Feasibility | None:
        """What is feasible according to the best fits, for an answer about a target from these data; None if there is
        nothing to keep."""
        if not self.view.constrained or target.is_constraint:
            return None
        constraints = self.constraint_fits(data.space)
        if self.view.choice is not None:
            pairs = zip(self._reported(data.space), constraints, strict=True)
            constraints = tuple(self._conditioned_on(data, reported, constraint) for reported, constraint in pairs)
        return Feasibility(constraints, float(data.of(target).losses.max()))

    def _reported(self, space: Space) -> list[Target]:
        """The constraints that have a model."""
        names = {models[0].name for models in self.constraint_models(space)}
        return [constraint for constraint in self.view.constraints if constraint.name in names]

    def _conditioned_on(self, data: Arrays, reported: Target, constraint: ConstraintModel) -> ConstraintModel:
        """The model of a constraint on the trials of `data` alone, if these are much fewer: thousands of candidates are
        asked about, and each costs the square of the trials."""
        if len(data) >= constraint.gp.n_observed // 2:
            return constraint
        observed, numbers = self.view.observed(reported), set(data.observations.numbers)
        rows = [i for i, number in enumerate(observed.numbers) if number in numbers]
        own = encoded(data.space, observed.select(rows))
        if not len(own):
            return constraint
        return ConstraintData.again(constraint, own).restored(constraint.gp.hyperparameters)

    # ------------------------------------------------------------------ failures

    @cached_property
    def failing(self) -> Failing:
        """The settings at which trials fail. Raises NoAnswerYet if there is nothing to compare."""
        return failing_settings(self.view.trials)

    @cached_property
    def known_failing(self) -> tuple[FailingSetting, ...]:
        """The same, as far as they are known. Other answers only add notes about them, so an error is logged."""
        try:
            return self.failing.settings
        except Unanswered:
            return ()
        except Exception as error:
            _logger.error(
                "The settings at which trials fail could not be found (%s).\n%s",
                cause_of(error),
                printable_traceback(error),
            )
            return ()

    # ------------------------------------------------------------------ what is left to find

    def room(self, model: Model, width: float) -> float:
        """How much better than the best trial any configuration could still be, by bounds `width` sds from the mean."""
        data = model.data
        tried, constraints = data.X[data.observations.measured], self.constraint_fits(data.space)
        return upper_bound_regret(model.gp, tried, data.space, width=width, constraints=constraints)[0]
