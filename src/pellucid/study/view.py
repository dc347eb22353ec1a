"""The one way to look at a study: `StudyView`, created once per call and passed on.

It holds the trials as they were at one moment, with everything that is read from them: objective, search space,
observations and receipts. It holds data, no model.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from pellucid.models.curves.reports import Curves
from pellucid.numerics import is_whole_number
from pellucid.provenance import Receipt
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.curves import Extrapolation, curves
from pellucid.study.observations import Observations, observations
from pellucid.study.receipts import has_receipt, read_receipt, readable_receipt
from pellucid.study.storage import kept_model
from pellucid.study.trials import distributions
from pellucid.threads import cached_property
from pellucid.words import NoAnswer, RecordError, printable

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


def objectives_of(study: Study) -> tuple[Objective, ...]:
    """In the order in which trials return their values."""
    # A part of a study that Optuna's Hyperband pruner shows to samplers has no names.
    return _named(_directions(study), getattr(study, "metric_names", None) or ())


def _directions(study: Study) -> list[Direction]:
    return ["maximize" if direction == StudyDirection.MAXIMIZE else "minimize" for direction in study.directions]


def _named(directions: Sequence[Direction], names: Sequence[str]) -> tuple[Objective, ...]:
    if not names:
        several = len(directions) > 1
        names = [f"objective {i}" if several else "objective" for i in range(len(directions))]
    # Answers find objectives by name, so that two of the same name get their numbers.
    names = [name if names.count(name) == 1 else f"{name} {i}" for i, name in enumerate(names)]
    return tuple(Objective(name, direction) for name, direction in zip(names, directions, strict=True))


def single_objective(study: Study, asker: str) -> Objective:
    """The objective of a study with one. Raises NoAnswer if it has several."""
    objectives = objectives_of(study)
    if len(objectives) != 1:
        raise NoAnswer(
            f"{asker} works on studies with one objective, but this study has {len(objectives)}: {named(objectives)}. "
            "`pellucid.BayesianSampler` works on several."
        )
    return objectives[0]


def named(objectives: Sequence[Objective]) -> str:
    return ", ".join(repr(objective.name) for objective in objectives)


class Choice(Protocol):
    """Trials that stand for all of them."""

    @property
    def numbers(self) -> frozenset[int]: ...


@dataclass(frozen=True, eq=False)
class StudyView:
    """A study at one moment, and what answers are about: one of its objectives, or a constraint.

    objectives   all of them, in the order in which trials return their values
    trials       in the order of their numbers; they are the storage's own objects: read them, never change them
    index        the objective that answers are about
    constraint   the constraint that takes the place of the objective in every answer; None: the objective itself
    extrapolation   what trials that were stopped early or still run would return; None: it is not known, or not asked.
                    A model of curves makes it (`study.extrapolation`): a view holds data
    choice          the trials that models are conditioned on; None: all. See `explain.choice`
    """

    objectives: tuple[Objective, ...]
    trials: Sequence[FrozenTrial]
    study: Study = field(repr=False)
    index: int = 0
    constraint: str | None = None
    extrapolation: Extrapolation | None = None
    choice: Choice | None = None

    @staticmethod
    def of(study: Study, asker: str) -> StudyView:
        """Of a study with one objective. `asker`: the caller that the error message names if there are several."""
        return StudyView((single_objective(study, asker),), study.get_trials(deepcopy=False), study)

    @staticmethod
    def unnamed(study: Study, asker: str) -> StudyView:
        """`of`, without the name that the user gave to the objective: a proposal does not need it, and a storage would
        have to be asked for it."""
        if len(study.directions) > 1:
            return StudyView.of(study, asker)
        return StudyView(_named(_directions(study), ()), study.get_trials(deepcopy=False), study)

    @staticmethod
    def whole(study: Study) -> StudyView:
        """Of any study; if it has several objectives, `each` has a view about every one of them."""
        return StudyView(objectives_of(study), study.get_trials(deepcopy=False), study)

    @property
    def name(self) -> str:
        return self.study.study_name

    @property
    def several(self) -> bool:
        """Whether the study has more than one objective."""
        return len(self.objectives) > 1

    @cached_property
    def each(self) -> tuple[StudyView, ...]:
        """A view about every objective."""
        others = [replace(self, index=i, constraint=None) for i in range(len(self.objectives))]
        return tuple(self if i == self.index and self.constraint is None else view for i, view in enumerate(others))

    @cached_property
    def objective(self) -> Objective:
        return self.objectives[self.index] if self.constraint is None else Objective(self.constraint, "minimize")

    def about(self, objective: str | int | None) -> StudyView:
        """The view for answers about an objective, by its name or number, or about a constraint, by its name.

        Raises ValueError if the study has none of this name, or if it has several objectives and none is named.
        """
        names = [objective.name for objective in self.objectives]
        if objective is None and not self.several:
            return self
        if isinstance(objective, str) and objective in names:
            return self.each[names.index(objective)]
        if is_whole_number(objective) and 0 <= objective < len(names):
            return self.each[objective]
        constraints = self.observations.constraints.names
        if objective in constraints:
            return self.about_constraint(str(objective))
        rule = "one of the objectives" if self.several else "the objective"
        either = ", ".join(repr(name) for name in (*names, *constraints))
        raise ValueError(
            printable(f"`objective` must be {rule} or a constraint of this study ({either}), but got {objective!r}.")
        )

    def about_constraint(self, name: str) -> StudyView:
        """The view for answers about a constraint, which may have the name of an objective."""
        return replace(self, index=0, constraint=name)

    @property
    def direction(self) -> Direction:
        """Of what answers are about."""
        return self.objective.direction

    @property
    def sign(self) -> float:
        """+1 if the study minimises, -1 if it maximises: loss = sign * value."""
        return self.objective.sign

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
        if self.several:  # What a pruned trial reported is one number, which says nothing about each of several.
            trials = [trial for trial in trials if trial.state != TrialState.PRUNED]
        ahead = None if self.extrapolation is None else self.extrapolation.values
        observed = observations(trials, self.objectives[self.index].sign, self.index, ahead)
        return observed if self.constraint is None else observed.of_constraint(self.constraint)

    @cached_property
    def curves(self) -> Curves:
        """What trials reported before their value, as losses; none about a constraint, or with several objectives."""
        alone = not self.several and self.constraint is None
        return curves(self.trials if alone else [], self.objective.sign)

    @cached_property
    def stopped(self) -> Curves:
        """The curves of trials that were stopped early."""
        numbers = self.curves.numbers.tolist()
        return self.curves.select([i for i, n in enumerate(numbers) if self.by_number[n].state == TrialState.PRUNED])

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

    @cached_property
    def positions(self) -> dict[str, int]:
        """The place of every parameter in the order in which trials first had them: later trials change none."""
        names = dict.fromkeys(name for trial in self.trials for name in trial.params)
        return {name: i for i, name in enumerate(names)}

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
        """`arrays()` with all parameters that vary."""
        return self.arrays()

    def chosen(self, data: Arrays) -> Arrays:
        """Those of the observations that models are conditioned on: all, unless there are too many."""
        if self.choice is None:
            return data
        numbers = self.choice.numbers
        rows = [row for row, number in enumerate(data.observations.numbers) if number in numbers]
        return data if len(rows) == len(data.losses) else data.select(np.array(rows, dtype=np.intp))

    # ------------------------------------------------------------------ receipts

    def receipt(self, number: int) -> Receipt | None:
        """The receipt of a trial, or None. Raises UnreadableRecordError if it is damaged or of a newer version."""
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
        """A ranking model that the study keeps. Raises UnreadableRecordError if it is missing or damaged."""
        return kept_model(self.study, name)


def _trial(by_number: Mapping[int, FrozenTrial], number: int) -> FrozenTrial:
    if number not in by_number:
        numbers = f"its trials are 0 to {max(by_number)}" if by_number else "it has no trials yet"
        raise ValueError(printable(f"The study has no trial {number}; {numbers}."))
    return by_number[number]


def receipts(study: Study) -> list[Receipt]:
    """Every readable receipt of the study, by trial number. Damaged ones, and those of a newer version, are logged and
    left out."""
    readable = []
    for trial in study.get_trials(deepcopy=False):
        try:
            receipt = read_receipt(trial)
        except RecordError as error:
            _logger.warning("Trial %d: %s It is left out.", trial.number, printable(str(error)))
            continue
        if receipt is not None:
            readable.append(receipt)
    return readable


def receipt(study: Study, trial: int) -> Receipt:
    """The receipt of one trial. Raises NoAnswer if the trial has none, or none that can be read."""
    by_number = {candidate.number: candidate for candidate in study.get_trials(deepcopy=False)}
    stored = read_receipt(_trial(by_number, trial))
    if stored is None:
        raise NoAnswer(
            f"Trial {trial} has no receipt: pellucid did not propose it. `pellucid.receipts(study)` lists all receipts."
        )
    return stored
