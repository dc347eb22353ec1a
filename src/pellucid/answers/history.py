"""What happened in a study, trial by trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from optuna.study import Study
from optuna.trial import TrialState

from pellucid.answers.finding import Finding
from pellucid.beliefs import Beliefs
from pellucid.beliefs.feasibility import none_feasible
from pellucid.beliefs.of_study import opened
from pellucid.notebook import Rows
from pellucid.pareto import check_front, front, in_lengths, reference_of, volumes
from pellucid.provenance import ModelReceipt, Receipt
from pellucid.study.observations import Observations
from pellucid.study.predictions import predicted_constraint
from pellucid.study.targets import Target
from pellucid.study.trials import nobodys_choice, repeated, state_of
from pellucid.study.view import StudyView
from pellucid.words import OBJECTIVE, counted, share_text, value_text


@dataclass(frozen=True)
class Phase:
    """Consecutive trials that were chosen in the same way: start-up trials, proposals, a step of a search."""

    first: int
    last: int
    label: str


@dataclass(frozen=True)
class History(Finding):
    """Every trial of a study; None if there is no value.

    states         'complete', 'pruned', 'failed', 'interrupted' (by the user), 'running' or 'waiting'
    values         what trials returned; the last reported value of a pruned trial
    best           the best value of a complete, feasible trial so far
    feasible       whether the trial was feasible; None if it has no value, or the study no constraints
    expected, sd   what the model predicted for the trial when it proposed it; sd is that of the value, noise included
                   (of the function alone in receipts of earlier versions)
    objective      its name
    """

    _rows: ClassVar[Rows] = "last"

    numbers: tuple[int, ...]
    states: tuple[str, ...]
    values: tuple[float | None, ...]
    best: tuple[float | None, ...]
    expected: tuple[float | None, ...]
    sd: tuple[float | None, ...]
    phases: tuple[Phase, ...]
    direction: str
    sentence: str
    notes: tuple[str, ...] = ()
    feasible: tuple[bool | None, ...] = ()
    objective: str = OBJECTIVE

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    @property
    def best_trial(self) -> int | None:
        """The first complete, feasible trial with the best value."""
        last = self.best[-1] if self.best else None
        return None if last is None else self.numbers[self.best.index(last)]

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        names = ("numbers", "states", "values", "best", "expected", "sd", *(("feasible",) if self.feasible else ()))
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class FrontHistory(Finding):
    """Every trial of a study with several objectives; None if there is no value.

    states       as in `History`
    values       what trials returned, one value for every objective
    volume       the volume that the feasible trials so far dominate, as a share of what all of them do
    feasible     as in `History`
    grew         trials that made the volume grow
    front        trials that are on the front now: feasible, and none is as good in every objective and better in one
    objectives   their names;  directions  of each
    reference    the point below which volume counts, in the units of the objectives; empty if no trial is feasible
    """

    _rows: ClassVar[Rows] = "last"

    numbers: tuple[int, ...]
    states: tuple[str, ...]
    values: tuple[tuple[float, ...] | None, ...]
    volume: tuple[float | None, ...]
    feasible: tuple[bool | None, ...]
    grew: tuple[int, ...]
    front: tuple[int, ...]
    phases: tuple[Phase, ...]
    objectives: tuple[str, ...]
    directions: tuple[str, ...]
    reference: tuple[float, ...]
    sentence: str
    notes: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        return len(self.numbers)

    def _columns(self) -> Mapping[str, Any]:
        """One row per trial."""
        grew, front = set(self.grew), set(self.front)
        columns: dict[str, Any] = {
            "numbers": self.numbers,
            "states": self.states,
            "volume": self.volume,
            "grew": [number in grew for number in self.numbers],
            "front": [number in front for number in self.numbers],
            **({"feasible": self.feasible} if self.feasible else {}),
        }
        for i, name in enumerate(self.objectives):
            free = name if name not in columns else f"objective {name}"
            columns[free] = [None if row is None else row[i] for row in self.values]
        return columns


_KINDS = {"startup": "start-up", "model": "model", "ranking": "earlier studies", "fallback": "random"}
_ANOTHER_SAMPLER, _REPEATED = "another sampler", "repeated"


def history(study: Study, *, objective: str | int | None = None) -> History | FrontHistory:
    """Every trial with its value, what the model expected of it, and which sampler chose it.

    With several objectives: every trial with its values, and the volume that the front of the feasible trials so far
    dominates.

    Args:
        study: any study.
        objective: the course of this one alone, by name or number, or of a constraint by its name.
    """
    if objective is None and len(study.directions) > 1:
        return front_history_of(Beliefs(StudyView.whole(study)))
    with opened(study, "history", objective) as (beliefs, target):
        return history_of(beliefs, target)


def history_of(beliefs: Beliefs, target: Target) -> History:
    view, sign = beliefs.view, target.sign
    observations = view.observed(target)
    value_of = dict(zip(observations.numbers, (sign * observations.returned).tolist(), strict=True))
    feasible = dict(zip(observations.numbers, observations.feasible.tolist(), strict=True))
    complete = {n for n, done in zip(observations.numbers, observations.complete, strict=True) if done and feasible[n]}
    best: list[float | None] = []
    best_trial: int | None = None
    for trial in view.trials:
        if trial.number in complete and (
            best_trial is None or sign * value_of[trial.number] < sign * value_of[best_trial]
        ):
            best_trial = trial.number
        best.append(None if best_trial is None else value_of[best_trial])
    expected = [_expected(view.own_receipts.get(trial.number), target) for trial in view.trials]
    return History(
        numbers=tuple(trial.number for trial in view.trials),
        states=_states(view),
        values=tuple(value_of.get(trial.number) for trial in view.trials),
        best=tuple(best),
        expected=tuple(mean for mean, _ in expected),
        sd=tuple(sd for _, sd in expected),
        phases=_phases(view),
        direction=target.direction,
        sentence=_sentence(view, target, value_of, best_trial),
        feasible=tuple(feasible.get(trial.number) for trial in view.trials) if view.constrained else (),
        objective=target.name,
    )


def plain_history(view: StudyView, sentence: str) -> History | FrontHistory:
    """Numbers, states and values of the trials alone, for a page whose history could not be computed."""
    numbers, states = tuple(trial.number for trial in view.trials), _states(view)
    returned = [trial.values if trial.state == TrialState.COMPLETE else None for trial in view.trials]
    nothing = (None,) * len(numbers)
    if len(view.objectives) == 1:
        values = tuple(None if row is None else row[0] for row in returned)
        (only,) = view.objectives
        return History(
            numbers, states, values, nothing, nothing, nothing, (), only.direction, sentence, objective=only.name
        )
    rows = tuple(None if row is None else tuple(row) for row in returned)
    names = tuple(objective.name for objective in view.objectives)
    directions = tuple(objective.direction for objective in view.objectives)
    return FrontHistory(numbers, states, rows, nothing, (), (), (), (), names, directions, (), sentence)


def _expected(receipt: Receipt | None, target: Target) -> tuple[float | None, float | None]:
    """Mean and sd of what a receipt predicted of the objective, or of a constraint."""
    if not isinstance(receipt, ModelReceipt):
        return None, None
    if target.is_constraint:
        return predicted_constraint(receipt, target.name) or (None, None)
    model = receipt.model(target.column)
    return (None, None) if model is None else (model.mean, model.expected_sd)


def _states(view: StudyView) -> tuple[str, ...]:
    return tuple(map(state_of, view.trials))


def _phases(view: StudyView) -> tuple[Phase, ...]:
    phases: list[Phase] = []
    for trial in view.trials:
        if nobodys_choice(trial):
            continue
        receipt = view.own_receipts.get(trial.number)
        label = _REPEATED if repeated(trial) is not None else _ANOTHER_SAMPLER if receipt is None else _label(receipt)
        if phases and phases[-1].label == label:
            phases[-1] = Phase(phases[-1].first, trial.number, label)
        else:
            phases.append(Phase(trial.number, trial.number, label))
    return tuple(phases)


def _label(receipt: Receipt) -> str:
    """The step of a search in steps, otherwise the kind of the receipt."""
    if isinstance(receipt, ModelReceipt) and receipt.step is not None:
        return f"step {receipt.step}"
    return _KINDS[receipt.kind]


def _sentence(view: StudyView, target: Target, value_of: dict[int, float], best_trial: int | None) -> str:
    if not view.trials:
        return "The study has no trials yet."
    observed = view.observed(target)
    if best_trial is None and value_of and view.constrained:
        return none_feasible(observed)
    if best_trial is None:
        return f"None of the {len(view.trials)} trials has finished with a value yet."
    later = sum(done and n > best_trial for n, done in zip(observed.numbers, observed.complete, strict=True))
    kind = "best feasible" if view.constrained else "best"
    what = "value" if target.name == OBJECTIVE else target.name
    best = f"The {kind} {what} is {value_text(value_of[best_trial])}, first reached by trial {best_trial}"
    infeasible = f" {_infeasible(observed)}" if view.constrained else ""
    if later == 0:
        return f"{best}, the last one with a value.{infeasible}"
    every = later == sum(trial.number > best_trial for trial in view.trials)
    kept = "" if every else " with a value"
    after = f"the one later trial{kept} was not" if later == 1 else f"none of the {later} later trials{kept} was"
    return f"{best}; {after} {'feasible and better' if view.constrained else 'better'}.{infeasible}"


def _infeasible(observed: Observations) -> str:
    """How many trials were feasible: "31 of 40 trials were feasible."."""
    feasible = observed.feasible
    were = "was" if len(feasible) == 1 else "were"
    return f"{int(feasible.sum())} of {counted(len(feasible), 'trial')} {were} feasible."


# ---------------------------------------------------------------------- several objectives


def front_history_of(beliefs: Beliefs) -> FrontHistory:
    """The history of several objectives, all of them together. Raises ValueError if there are too many for a front."""
    view = beliefs.view
    check_front(len(view.objectives))
    observations = view.observations
    numbers, feasible = np.array(observations.numbers, dtype=int), observations.feasible
    signs = [objective.sign for objective in view.objectives]
    returned = observations.raw * signs
    value_of = dict(zip(observations.numbers, map(tuple, returned.tolist()), strict=True))
    fine = dict(zip(observations.numbers, feasible.tolist(), strict=True))
    volume_of: dict[int, float] = {}
    grew = on_front = reference = np.empty(0)
    if feasible.any():
        Y, reference = observations.values[feasible], reference_of(observations.values, feasible)
        dominated = volumes(in_lengths(Y, reference, Y.min(axis=0)), np.zeros_like(reference))
        grew = numbers[feasible][np.diff(dominated, prepend=0.0) > 0.0]
        on_front = numbers[feasible][front(Y)]
        shares = dominated / dominated[-1]
        volume_of = dict(zip(numbers[feasible].tolist(), shares.tolist(), strict=True))
    course: list[float | None] = []
    for trial in view.trials:
        course.append(volume_of.get(trial.number, course[-1] if course else None))
    return FrontHistory(
        numbers=tuple(trial.number for trial in view.trials),
        states=_states(view),
        values=tuple(value_of.get(trial.number) for trial in view.trials),
        volume=tuple(course),
        feasible=tuple(fine.get(trial.number) for trial in view.trials) if view.constrained else (),
        grew=tuple(grew.tolist()),
        front=tuple(on_front.tolist()),
        phases=_phases(view),
        objectives=tuple(objective.name for objective in view.objectives),
        directions=tuple(objective.direction for objective in view.objectives),
        reference=tuple((reference * signs).tolist()) if len(reference) else (),
        sentence=_front_sentence(view, volume_of, grew.tolist(), len(on_front)),
    )


def _front_sentence(view: StudyView, volume_of: dict[int, float], grew: list[int], n_front: int) -> str:
    if not view.trials:
        return "The study has no trials yet."
    if not volume_of and len(view.observations):
        return none_feasible(view.observations)
    if not volume_of:
        return f"None of the {len(view.trials)} trials has finished with a value yet."
    n = len(view.observations)
    are = "is" if n_front == 1 else "are"
    infeasible = f" {_infeasible(view.observations)}" if view.constrained else ""
    here = f"By the values returned, {n_front} of {counted(n, 'trial')} {are} on the front; "
    here += f"it last grew with trial {grew[-1]}"
    recent = list(volume_of.values())[-1 - len(volume_of) // 3]
    if recent <= 0.0 or len(volume_of) < 3:
        return f"{here}.{infeasible}"
    growth = 1.0 / recent - 1.0
    return f"{here}, and its volume grew by {share_text(growth)} in the last third of the trials.{infeasible}"
