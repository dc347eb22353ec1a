"""The one way to look at a study: `StudyView`, created once per call and passed on.

It holds the trials as they were at one moment, with everything that is read from them: objective, search space,
observations and receipts. It holds data, no model.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from pellucid.models.curves.reports import Curves
from pellucid.numerics import is_whole_number
from pellucid.provenance import Receipt
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.curves import Extrapolation, curves
from pellucid.study.observations import Observations, observations
from pellucid.study.receipts import has_receipt, read_receipt, readable_receipt
from pellucid.study.storage import kept_model
from pellucid.study.targets import Target, objectives_of, single_objective, unnamed_objectives
from pellucid.study.trials import distributions
from pellucid.threads import cached_property
from pellucid.words import NoAnswer, RecordError, printable

_logger = logging.getLogger("pellucid")


class Choice(Protocol):
    """Trials that stand for all of them."""

    @property
    def numbers(self) -> frozenset[int]: ...


@dataclass(frozen=True, eq=False)
class StudyView:
    """A study at one moment.

    objectives   in the order in which trials return their values
    trials       in the order of their numbers; they are the storage's own objects: read them, never change them
    extrapolation   what trials that were stopped early or still run would return; None: it is not known, or not asked.
                    A model of curves makes it (`study.extrapolation`): a view holds data
    choice          the trials that models are conditioned on; None: all. See `beliefs.choice`
    """

    objectives: tuple[Target, ...]
    trials: Sequence[FrozenTrial]
    study: Study = field(repr=False)
    extrapolation: Extrapolation | None = None
    choice: Choice | None = None

    @staticmethod
    def of(study: Study, asker: str) -> StudyView:
        """The view of a study with one objective. `asker`: the caller that the error names if there are several."""
        return StudyView((single_objective(study, asker),), study.get_trials(deepcopy=False), study)

    @staticmethod
    def unnamed(study: Study, asker: str) -> StudyView:
        """`of`, without the name that the user gave to the objective: a proposal does not need it, and a storage would
        have to be asked for it."""
        if len(study.directions) > 1:
            return StudyView.of(study, asker)
        return StudyView(unnamed_objectives(study), study.get_trials(deepcopy=False), study)

    @staticmethod
    def whole(study: Study) -> StudyView:
        """The view of any study."""
        return StudyView(objectives_of(study), study.get_trials(deepcopy=False), study)

    @property
    def name(self) -> str:
        return self.study.study_name

    @property
    def several(self) -> bool:
        """Whether the study has more than one objective."""
        return len(self.objectives) > 1

    # ------------------------------------------------------------------ targets

    @property
    def objective(self) -> Target:
        """The only one."""
        (only,) = self.objectives
        return only

    @cached_property
    def constraints(self) -> tuple[Target, ...]:
        """Those that trials with a value report, in the order of the first report."""
        names = self.observations.constraints.names
        return tuple(Target(name, kind="constraint", column=i) for i, name in enumerate(names))

    def target(self, objective: str | int | None) -> Target:
        """An objective, by its name or number, or a constraint, by its name.

        Raises ValueError if the study has none of this name, or if it has several objectives and none is named.
        """
        names = [objective.name for objective in self.objectives]
        if objective is None and not self.several:
            return self.objectives[0]
        if isinstance(objective, str) and objective in names:
            return self.objectives[names.index(objective)]
        if is_whole_number(objective) and 0 <= objective < len(names):
            return self.objectives[objective]
        for constraint in self.constraints:
            if objective == constraint.name:
                return constraint
        rule = "one of the objectives" if self.several else "the objective"
        either = ", ".join(repr(target.name) for target in (*self.objectives, *self.constraints))
        raise ValueError(
            printable(f"`objective` must be {rule} or a constraint of this study ({either}), but got {objective!r}.")
        )

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
        return observations(trials, self.objectives, None if self.extrapolation is None else self.extrapolation.values)

    def observed(self, target: Target) -> Observations:
        """The observations of one target."""
        if target not in self._by_target:
            self._by_target[target] = self.observations.of(target)
        return self._by_target[target]

    @cached_property
    def _by_target(self) -> dict[Target, Observations]:
        return {}

    @cached_property
    def curves(self) -> Curves:
        """What trials reported before their value, as losses of the only objective; none of several."""
        return curves([] if self.several else self.trials, self.objectives[0].sign)

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

    def data_of(self, target: Target) -> Arrays:
        """The same of one target. What trials report of a constraint decides about its space."""
        if target not in self._data_of:
            constraint = target.is_constraint
            self._data_of[target] = arrays(self.varying, self.observed(target)) if constraint else self.data.of(target)
        return self._data_of[target]

    @cached_property
    def _data_of(self) -> dict[Target, Arrays]:
        return {}

    def chosen(self, data: Arrays) -> Arrays:
        """Those of the observations that models are conditioned on: all, unless there are too many."""
        if self.choice is None:
            return data
        numbers = self.choice.numbers
        rows = [row for row, number in enumerate(data.observations.numbers) if number in numbers]
        return data if len(rows) == len(data) else data.select(np.array(rows, dtype=np.intp))

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
