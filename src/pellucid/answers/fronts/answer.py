"""The front of a study, as its models see it: which configurations are on it, and what to expect of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.answers.fronts.records import Front, FrontMember
from pellucid.beliefs import Beliefs
from pellucid.beliefs.expectation import LEVEL, ExpectedOutcome, no_interval, too_few
from pellucid.beliefs.expected_outcomes import expected_outcomes
from pellucid.beliefs.feasibility import chance_of_feasible, none_feasible
from pellucid.beliefs.front_members import MOST_DRAWN, TOLERANCE, Tried, distinct, ends_of, spread_of
from pellucid.claims import ON_THE_FRONT
from pellucid.numerics import Array, Indices
from pellucid.pareto import check_number, front
from pellucid.study.arrays import Arrays, arrays
from pellucid.study.observations import Observations
from pellucid.study.view import StudyView
from pellucid.words import NoAnswerYet, Note, choice_note, counted

# The ends of the front are named unless the models rule them out, with a chance below this: where a front is flat,
# noise hides which trial is its end. Chosen on 84 studies of convex fronts with noise of 1% and 5% of their length: the
# named trials spanned 95% of the true front in 69 of them without this rule, and in all of them with it. In eight noisy
# studies of the design problems of `pellucid bench fronts` it named about one trial more.
_RULED_OUT = 0.05
# Members at most, and once more as many ends as there are objectives, at either side.
_MOST_MEMBERS = 250
# Other trials that a figure can show.
_MOST_OTHERS = 400


def front_of(beliefs: Beliefs) -> Front:
    """The front of a study with several objectives. Raises ValueError if no trial is known to be feasible."""
    view = beliefs.view
    data, n = modelled(view)
    if data is None:
        return _observed_front(view, finished(view))
    tried = Tried.of(beliefs, data)
    chances = np.where(tried.options, tried.chances(), -1.0)
    likely = _likely(chances)
    possible = np.flatnonzero(chances >= _RULED_OUT)
    on_it = np.union1d(likely, possible[ends_of(tried.expected[possible])] if len(possible) else likely)
    shown = _Shown.of(tried.expected[on_it], chances[on_it], tried.spread)
    named = on_it[shown.rows]
    limits = beliefs.constraint_models(data.space)
    feasible = chance_of_feasible(limits, data.X[named]) if view.constrained else None
    outcomes = expected_outcomes(beliefs, data, named.tolist(), tried.options)
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
    threshold = math.floor(100.0 * min(ON_THE_FRONT.threshold, float(chances[likely].min()))) / 100.0
    thinned = [data.observations.numbers[row] for row in on_it[shown.left_out].tolist()]
    notes = notes_on(view, data, n)
    if skipped := tried.skipped():
        compared = f"only its ends and {MOST_DRAWN} that are far from each other were compared"
        notes.append(Note(f"{counted(skipped, 'more trial')} may be on the front: {compared}.", "selection"))
    return _front(view, data.observations, n, members, threshold, shown.within, thinned, notes)


def _likely(chances: Array) -> Indices:
    """The rows with enough of a chance, and no fewer than are expected to be on the front."""
    count = max(int((chances >= ON_THE_FRONT.threshold).sum()), round(float(chances.clip(0.0).sum())), 1)
    return np.sort(np.argsort(-chances, kind="stable")[:count])


@dataclass(frozen=True, eq=False)
class _Shown:
    """Which of the configurations on a front are members, and which are left out because a member is within `within`
    (k,) of them in every objective."""

    rows: Indices
    left_out: Indices
    within: Array

    @staticmethod
    def of(Y: Array, chances: Array, spread: Array) -> _Shown:
        rows = distinct(Y, chances, TOLERANCE * spread, _MOST_MEMBERS)
        left_out = np.setdiff1d(np.arange(len(Y)), rows)
        Z = Y / np.where(spread > 0.0, spread, np.inf)
        apart = [np.abs(Z[rows] - Z[row]).max(axis=1).min() for row in left_out]
        return _Shown(rows, left_out, np.asarray(max([TOLERANCE, *apart]) * spread))


def finished(view: StudyView) -> Observations:
    """The complete trials. Raises ValueError if there is nothing to answer about."""
    advice = "combine some of them, or make them constraints"
    check_number(len(view.objectives), "Answers about fronts are for", advice)
    complete = view.observations.of_complete_trials
    if not len(complete):
        raise NoAnswerYet(
            "A front needs at least one finished trial with values; "
            f"this study has {len(view.trials)} trials, none of them finished with values."
        )
    if not complete.feasible.any():
        raise NoAnswerYet(f"There is nothing to recommend yet. {none_feasible(complete)}")
    return complete


def modelled(view: StudyView) -> tuple[Arrays | None, int]:
    """The complete trials that models are conditioned on, encoded, and how many they stand for; None if no parameter
    varies or no feasible trial is inside the present ranges."""
    complete = finished(view)
    data = arrays(view.varying, complete) if view.varying else None
    if data is None or not data.observations.feasible.any():
        return None, len(complete)
    return view.chosen(data), len(data)


def not_modelled(view: StudyView) -> str:
    """Why `modelled` is None."""
    return "no feasible trial is inside the present ranges" if view.varying else "no parameter varies"


def notes_on(view: StudyView, data: Arrays, n: int) -> list[str]:
    """Reasons for doubt that all answers about a front share. `data`: what stands for the `n` trials."""
    d = len(data.space)
    notes = choice_note(len(data), n, "The models rest")
    if too_few(n, d):
        notes.append(no_interval(n, d))
    spreads = np.ptp(data.observations.values, axis=0).tolist()
    constant = [o.name for o, spread in zip(view.objectives, spreads, strict=True) if n > 1 and spread == 0.0]
    same = [f"All {n} trials returned the same {name}." for name in constant]
    return [*notes, *(Note(text, "evidence") for text in same)]


def _front(
    view: StudyView,
    observations: Observations,
    n: int,
    members: list[FrontMember],
    threshold: float,
    within: Array,
    thinned: list[int],
    notes: Sequence[str],
) -> Front:
    sign = view.objectives[0].sign
    members = sorted(members, key=lambda member: (sign * member.outcomes[0].expected, member.trial))
    named = {member.trial for member in members}
    rows = [i for i in np.flatnonzero(observations.feasible).tolist() if observations.numbers[i] not in named]
    return Front(
        objectives=tuple(objective.name for objective in view.objectives),
        directions=tuple(objective.direction for objective in view.objectives),
        members=tuple(members),
        threshold=threshold,
        level=LEVEL,
        n_trials=n,
        within=tuple(within.tolist()),
        others=tuple(_returned(view, [observations.numbers[i] for i in rows[-_MOST_OTHERS:]])),
        notes=tuple(notes),
        thinned=tuple(thinned),
    )


def _returned(view: StudyView, numbers: list[int]) -> list[tuple[float, ...]]:
    return [tuple(view.by_number[number].values) for number in numbers]


def _observed_front(view: StudyView, complete: Observations) -> Front:
    """What the trials themselves say, for a study that cannot be modelled."""
    rows: Indices = np.flatnonzero(complete.feasible)
    values = np.array(_returned(view, [complete.numbers[i] for i in rows]))
    Y = values * [objective.sign for objective in view.objectives]
    ahead = np.flatnonzero(front(Y))
    shown = _Shown.of(Y[ahead], np.ones(len(ahead)), spread_of(Y))
    members = []
    for i in ahead[shown.rows].tolist():
        outcomes = tuple(
            ExpectedOutcome(objective.name, float(value), None, None, float(value))
            for objective, value in zip(view.objectives, values[i], strict=True)
        )
        params = dict(complete.configurations[rows[i]])
        members.append(FrontMember(complete.numbers[rows[i]], params, outcomes, None))
    why = not_modelled(view)
    unmodelled = f"{why[0].upper()}{why[1:]}, so there is no model: this is the front of what the trials returned."
    notes: list[str] = [Note(unmodelled, "scope")]
    thinned = [complete.numbers[row] for row in rows[ahead[shown.left_out]].tolist()]
    return _front(view, complete, len(complete), members, ON_THE_FRONT.threshold, shown.within, thinned, notes)
