"""The one way to look at a study: `StudyView`, created once per call and passed on.

It holds the trials as they were at one moment, with everything that is read from them: objective, search space,
observations and receipts. It holds data, no model.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from pellucid.records import Receipt, RecordError
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.observations import Observations, observations
from pellucid.study.receipts import has_receipt, read_receipt, readable_receipt
from pellucid.study.storage import kept_model
from pellucid.study.trials import distributions

Direction = Literal["minimize", "maximize"]
# loss = sign * value
_SIGNS: dict[Direction, float] = {"minimize": 1.0, "maximize": -1.0}
_logger = logging.getLogger("pellucid")


@dataclass(frozen=True)
class Objective:
    """What a study optimises, with the name that the user gave it (`Study.set_metric_names`)."""

    name: str
    direction: Direction

    @property
    def sign(self) -> float:
        """loss = sign * value"""
        return _SIGNS[self.direction]


def single_objective(study: Study, asker: str) -> Direction:
    """The direction of a study with one objective. Raises ValueError if it has several."""
    directions = study.directions
    if len(directions) != 1:
        raise ValueError(
            f"{asker} works on studies with one objective, but this study has {len(directions)}. "
            "Use one of Optuna's multi-objective samplers for it."
        )
    return "maximize" if directions[0] == StudyDirection.MAXIMIZE else "minimize"


@dataclass(frozen=True, eq=False)
class StudyView:
    """A study with one objective, at one moment.

    trials       in the order of their numbers; they are the storage's own objects: read them, never change them
    constraint   the constraint that takes the place of the objective in every answer; None: the objective itself
    """

    direction: Direction
    trials: Sequence[FrozenTrial]
    study: Study = field(repr=False)
    constraint: str | None = None

    @staticmethod
    def of(study: Study, asker: str) -> StudyView:
        """`asker`: the caller that the error message names if the study has several objectives."""
        return StudyView(single_objective(study, asker), study.get_trials(deepcopy=False), study)

    @property
    def name(self) -> str:
        return self.study.study_name

    @cached_property
    def objective(self) -> Objective:
        if self.constraint is not None:
            return Objective(self.constraint, self.direction)
        names = self.study.metric_names
        return Objective(names[0] if names else "objective", self.direction)

    def about(self, objective: str | int | None) -> StudyView:
        """The view for answers about the objective or about a constraint, by its name. Raises ValueError if the study
        has none of this name."""
        if objective in (None, 0, self.objective.name):
            return self
        if objective in self.observations.constraints.names:
            return StudyView("minimize", self.trials, self.study, str(objective))
        names = ", ".join(repr(name) for name in (self.objective.name, *self.observations.constraints.names))
        raise ValueError(
            f"`objective` must be the objective or a constraint of this study ({names}), but got {objective!r}."
        )

    @property
    def sign(self) -> float:
        """+1 if the study minimises, -1 if it maximises: loss = sign * value."""
        return _SIGNS[self.direction]

    # ------------------------------------------------------------------ trials

    @cached_property
    def by_number(self) -> dict[int, FrozenTrial]:
        return {trial.number: trial for trial in self.trials}

    def trial(self, number: int) -> FrozenTrial:
        """The trial with this number. Raises ValueError if there is none."""
        return _trial(self.by_number, number)

    @cached_property
    def observations(self) -> Observations:
        return self._observed(self.trials)

    def observations_of(self, numbers: Sequence[int]) -> Observations:
        """The observations of these trials alone, in this order."""
        return self._observed([self.by_number[number] for number in numbers])

    def _observed(self, trials: Sequence[FrozenTrial]) -> Observations:
        observed = observations(trials, self.sign)
        return observed if self.constraint is None else observed.of_constraint(self.constraint)

    @property
    def constrained(self) -> bool:
        """Whether any trial with a value reports a constraint."""
        return bool(self.observations.constraints.names)

    # ------------------------------------------------------------------ search space

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Every parameter that finished trials had, with its newest distribution."""
        return distributions(self.trials)

    @cached_property
    def varying(self) -> dict[str, BaseDistribution]:
        """Those of the parameters that can take more than one value."""
        return {name: distribution for name, distribution in self.distributions.items() if not distribution.single()}

    def arrays(
        self,
        search_space: Mapping[str, BaseDistribution] | None = None,
        conditions: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
        ordinal: Sequence[str] | None = None,
    ) -> Arrays:
        """The observations inside the present ranges, encoded. Default: all parameters that vary."""
        return arrays(self.varying if search_space is None else search_space, self.observations, conditions, ordinal)

    @cached_property
    def data(self) -> Arrays:
        """`arrays()` with all parameters that vary: what the default model is fitted to."""
        return self.arrays()

    # ------------------------------------------------------------------ receipts

    def receipt(self, number: int) -> Receipt | None:
        """The receipt of a trial, or None. Raises RecordError if it is damaged or written by a newer version."""
        return read_receipt(self.by_number[number])

    @cached_property
    def receipts(self) -> dict[int, Receipt]:
        """Readable receipts by the number of the trial that has them."""
        receipts = {trial.number: readable_receipt(trial) for trial in self.trials}
        return {number: receipt for number, receipt in receipts.items() if receipt is not None}

    @cached_property
    def own_receipts(self) -> dict[int, Receipt]:
        """Those of the readable receipts that were written for the trial that has them: not copied from elsewhere."""
        return {number: receipt for number, receipt in self.receipts.items() if receipt.trial == number}

    @cached_property
    def unreadable(self) -> list[int]:
        """Trials whose receipt is damaged or written by a newer version."""
        return [trial.number for trial in self.trials if has_receipt(trial) and trial.number not in self.receipts]

    @cached_property
    def proposed(self) -> list[int]:
        """Trials that a model of pellucid proposed, by the receipt that they have."""
        return [number for number, receipt in self.receipts.items() if receipt.proposed]

    def kept_model(self, name: str) -> bytes:
        """A ranking model that the study keeps. Raises RecordError if it is missing or damaged."""
        return kept_model(self.study, name)


def _trial(by_number: Mapping[int, FrozenTrial], number: int) -> FrozenTrial:
    if number not in by_number:
        numbers = f"its trials are 0 to {max(by_number)}" if by_number else "it has no trials yet"
        raise ValueError(f"The study has no trial {number}; {numbers}.")
    return by_number[number]


def receipts(study: Study) -> list[Receipt]:
    """Every readable receipt of the study, by trial number. Damaged ones, and those of a newer version, are logged and
    left out."""
    readable = []
    for trial in study.get_trials(deepcopy=False):
        try:
            receipt = read_receipt(trial)
        except RecordError as error:
            _logger.warning("Trial %d: %s It is left out.", trial.number, error)
            continue
        if receipt is not None:
            readable.append(receipt)
    return readable


def receipt(study: Study, trial: int) -> Receipt:
    """The receipt of one trial. Raises ValueError if the trial has none, or none that can be read."""
    by_number = {candidate.number: candidate for candidate in study.get_trials(deepcopy=False)}
    stored = read_receipt(_trial(by_number, trial))
    if stored is None:
        raise ValueError(
            f"Trial {trial} has no receipt: pellucid did not propose it. `pellucid.receipts(study)` lists all receipts."
        )
    return stored
