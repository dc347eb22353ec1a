"""The front of a study, as its models see it: which configurations are on it, and what to expect of them."""

from __future__ import annotations

import numpy as np

from pellucid.acquisition.fronts import check_number, front
from pellucid.explain.expectation import LEVEL, no_interval, too_few
from pellucid.explain.feasibility import chance_of_feasible, none_feasible
from pellucid.explain.fronts.expected import expected_outcomes
from pellucid.explain.fronts.membership import TOLERANCE, Tried, spread_of, usable
from pellucid.numerics import Array, Indices
from pellucid.records import ExpectedOutcome, Front, FrontMember
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.observations import Observations
from pellucid.study.view import StudyView

# A configuration is named if its chance of being on the front is at least this.
THRESHOLD = 0.25
# Other trials that a figure can show.
_MOST_OTHERS = 400


def front_of(view: StudyView) -> Front:
    """Of a study with several objectives. Raises ValueError if no trial is known to be feasible."""
    data = modelled(view)
    if data is None:
        return _observed_front(view, finished(view))
    tried = Tried.of(view, data)
    chances = tried.chances()
    named = tried.rows[chances[tried.rows] >= THRESHOLD]
    if not len(named):
        named = tried.rows[[int(np.argmax(chances[tried.rows]))]]
    feasible = chance_of_feasible(view.each[0], data.space, data.X[named]) if view.each[0].constrained else None
    outcomes = expected_outcomes(view, data, named.tolist(), usable(view, data))
    members = [
        FrontMember(
            trial=data.observations.numbers[row],
            params=dict(data.observations.configurations[row]),
            outcomes=expected,
            probability=float(chances[row]),
            feasible=None if feasible is None else float(feasible[i]),
        )
        for i, (row, expected) in enumerate(zip(named.tolist(), outcomes, strict=True))
    ]
    notes = [*notes_on(view, data), *_ends_left_out(view, tried, named)]
    return _front(view, data.observations, members, tried.spread, notes)


def _ends_left_out(view: StudyView, tried: Tried, named: Indices) -> list[str]:
    """Trials with the best value of an objective that are behind a named one only because of the tolerance."""
    notes, numbers = [], tried.data.observations.numbers
    for j, objective in enumerate(view.objectives):
        end = int(tried.rows[np.argmin(tried.Y[tried.rows, j])])
        near = named[(tried.Y[named] <= tried.Y[end] + tried.tolerance).all(axis=1)]
        if end not in named and len(near):
            other = int(near[np.argmin(tried.Y[near, j])])
            best, almost = (objective.sign * float(tried.Y[row, j]) for row in (end, other))
            notes.append(
                f"Trial {numbers[end]} returned the best {objective.name}, {best:.4g}. It is not named because trial "
                f"{numbers[other]} with {almost:.4g} is within {TOLERANCE:.0%} of the length of the front, and better "
                "otherwise."
            )
    return notes


def finished(view: StudyView) -> Observations:
    """The complete trials. Raises ValueError if there is nothing to answer about."""
    advice = "combine some of them, or make them constraints"
    check_number(len(view.objectives), "Answers about fronts are for", advice)
    complete = view.each[0].observations.of_complete_trials
    if not len(complete):
        raise ValueError(
            "A front needs at least one finished trial with values; "
            f"this study has {len(view.trials)} trials, none of them finished with values."
        )
    if not complete.feasible.any():
        raise ValueError(f"There is nothing to recommend yet. {none_feasible(complete)}")
    return complete


def modelled(view: StudyView) -> Arrays | None:
    """The complete trials, encoded; None if no parameter varies or no feasible trial is inside the present ranges."""
    complete = finished(view)
    data = arrays(view.varying, complete) if view.varying else None
    return None if data is None or not data.observations.feasible.any() else data


def not_modelled(view: StudyView) -> str:
    """Why `modelled` is None."""
    return "no feasible trial is inside the present ranges" if view.varying else "no parameter varies"


def notes_on(view: StudyView, data: Arrays) -> list[str]:
    """Reasons for doubt that all answers about a front share."""
    n, d = data.X.shape
    notes = []
    if too_few(n, d):
        notes.append(no_interval(n, d))
    constant = [about for about in view.each if n > 1 and np.ptp(data.about(about.observations).losses) == 0.0]
    return [*notes, *(f"All {n} trials returned the same {about.objective.name}." for about in constant)]


def _front(
    view: StudyView, observations: Observations, members: list[FrontMember], spread: Array, notes: list[str]
) -> Front:
    sign = view.objectives[0].sign
    members = sorted(members, key=lambda member: (sign * member.outcomes[0].expected, member.trial))
    named = {member.trial for member in members}
    rows = [i for i in np.flatnonzero(observations.feasible).tolist() if observations.numbers[i] not in named]
    return Front(
        objectives=tuple(objective.name for objective in view.objectives),
        directions=tuple(objective.direction for objective in view.objectives),
        members=tuple(members),
        threshold=THRESHOLD,
        level=LEVEL,
        n_trials=len(observations),
        within=tuple((TOLERANCE * spread).tolist()),
        others=tuple(_returned(view, [observations.numbers[i] for i in rows[-_MOST_OTHERS:]])),
        notes=tuple(notes),
    )


def _returned(view: StudyView, numbers: list[int]) -> list[tuple[float, ...]]:
    return [tuple(view.by_number[number].values) for number in numbers]


def _observed_front(view: StudyView, complete: Observations) -> Front:
    """What the trials themselves say, for a study that cannot be modelled."""
    rows: Indices = np.flatnonzero(complete.feasible)
    values = np.array(_returned(view, [complete.numbers[i] for i in rows]))
    Y = values * [objective.sign for objective in view.objectives]
    members = []
    for i in np.flatnonzero(front(Y)).tolist():
        outcomes = tuple(
            ExpectedOutcome(objective.name, float(value), None, None, float(value))
            for objective, value in zip(view.objectives, values[i], strict=True)
        )
        params = dict(complete.configurations[rows[i]])
        members.append(FrontMember(complete.numbers[rows[i]], params, outcomes, None))
    why = not_modelled(view)
    notes = [f"{why[0].upper()}{why[1:]}, so there is no model: this is the front of what the trials returned."]
    return _front(view, complete, members, spread_of(Y), notes)
