"""Turns for choices: every choice of a model gets its chance before the search settles on one.

A model that has seen three trials of a choice is surer of it than it should be, so an acquisition polishes the first
good choice and forgets the others. Two proposals in three therefore go to a choice that has not had its chance yet,
searched on its own: the proposal must improve on the best trial with that choice, not on the best of all. The choice
with the best trial needs no turns. Choices whose own search has settled, and that have no wide gap between their
trials, have shown what they are worth; they come last, and get one proposal in three. Among the others, those with the
fewest trials come first. If there is a wide gap, their turn is a look into it: a search that polishes a plateau has
settled too soon.

Notation
    n_b   trials that had choice b: finished, failed or running
    m     latent means of the trials (smaller is better); infeasible ones are worse than all others
    K     all trials, encoded: with a value, failed or running

Chosen on the design families of the laboratory's `choices` and the design problems of its `models`. Turns in the order
of the chance that a choice holds the best, by joint draws of the model, found hidden choices less often: what a choice
could still be is what the model does not know yet. Choices without parameters of their own are only tried twice,
because the others say something about them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.numerics import Array, Mask, low_discrepancy
from pellucid.search import others
from pellucid.search.acquisition.bounds import PosteriorVariance
from pellucid.search.acquisition.policy import Decision
from pellucid.search.acquisition.slices import Slice
from pellucid.search.looks import LIKELY, rooms
from pellucid.search.maximising import Fitted, Region
from pellucid.space.branches import Branch, branches, descends
from pellucid.space.encoding import Space
from pellucid.study import trials
from pellucid.study.arrays import Arrays
from pellucid.study.view import StudyView
from pellucid.words import value_text

# Of so many proposals, the first is no turn, the second a turn of any choice, and the others of unsettled choices.
_PERIOD = 3
# Trials of a choice without parameters of its own.
_FEWEST = 2
# A choice has settled if so many of its last trials lie this close to its best one, and have not brought it nearer to
# the best of all by more than this share.
_RECENT, _N_CLOSE, _CLOSE, _NEARER = 3, 2, 0.1, 0.25
# With so many parameters of its own it must also have been looked over: no place of these has more room than this.
_MOST_LOOKED_OVER, _N_PLACES, _LEAST_ROOM = 2, 128, 0.2


@dataclass(frozen=True)
class _Waiting:
    """A choice that has not had its chance. `own` (n,): its observations; `gap` (d,): where to look if it has settled
    too soon."""

    branch: Branch
    own: Mask
    settled: bool
    gap: Array | None

    @property
    def order(self) -> tuple[bool, int]:
        return self.settled, self.branch.n_trials


def turn(view: StudyView, trial: FrozenTrial, fitted: Fitted) -> Region:
    """The choice whose turn it is; the whole space if it is none's turn."""
    data = fitted.data
    if trial.number % _PERIOD == 0 or not any(dimension.categorical for dimension in data.space.dimensions):
        return Region()
    space, known = data.space, others.known(data.space, view, trial.number)
    waiting = _waiting(view, trial, data, fitted.standing, known)
    for choice in sorted(waiting, key=lambda choice: choice.order):
        part = _part(space, choice.branch)
        if not len(part.free) or part.exhausted(known) or (choice.settled and trial.number % _PERIOD > 1):
            continue
        words = _words(space, choice)
        looks = choice.gap is not None and fitted.chance_of_feasible(choice.gap[None])[0] >= LIKELY
        look = Decision(PosteriorVariance(), x=choice.gap) if looks else None
        return Region(part, turn=words, own=choice.own if choice.own.any() else None, look=look)
    return Region()


def settled(space: Space, X: Array, m: Array, own: Mask) -> bool:
    """Whether the search of a choice stays where it is. `own` (n,): its trials, in their order."""
    rows = np.flatnonzero(own)
    if len(rows) <= _RECENT:
        return False
    best = rows[int(np.argmin(m[rows]))]
    numeric = np.array([not dimension.nominal for dimension in space.dimensions]) & space.active(X[best : best + 1])[0]
    close = (np.abs(X[rows[-_RECENT:]] - X[best])[:, numeric] <= _CLOSE).all(axis=1)
    nearer = float(m[rows[:-_RECENT]].min() - m[best])
    return bool(close.sum() >= _N_CLOSE and nearer <= _NEARER * float(m[best] - m.min()))


def gap(space: Space, branch: Branch, x: Array, K: Array) -> Array | None:
    """Where to look: x (d,), the best with a choice, moved into the widest gap between the trials with that choice.

    None if no gap is wide, or if the choice has too many parameters of its own to look everywhere.
    """
    active = space.active(x[None])[0]
    numeric = [j for j, dimension in enumerate(space.dimensions) if active[j] and not dimension.categorical]
    columns = [j for j in numeric if descends(space, j, branch.column)]
    if not 0 < len(columns) <= _MOST_LOOKED_OVER:
        return None
    places = np.repeat(x[None], _N_PLACES, axis=0)
    places[:, columns] = low_discrepancy(0, _N_PLACES, np.full(len(columns), 0.5))
    places = space.canonical(places)
    room = rooms(places[:, columns], K[branch.holds(space, K, space.active(K))][:, columns])
    return None if room.max() <= _LEAST_ROOM else np.asarray(places[int(np.argmax(room))])


def _waiting(view: StudyView, trial: FrozenTrial, data: Arrays, m: Array, K: Array) -> list[_Waiting]:
    """Choices without an order, or with parameters of their own, that have not had their chance; not the best one."""
    space, out = data.space, []
    without_value = [
        *(failed.params for failed in trials.failed(view.trials)),
        *trials.pending(view.trials, trial.number).values(),
    ]
    active = space.active(data.X)
    for branch in branches(data.space, data.X):
        dimension = space.dimensions[branch.column]
        had = [configuration[dimension.name] for configuration in without_value if dimension.name in configuration]
        u, known = dimension.encode(had)
        tried = branch.n_trials + int((known & (dimension.code(u) == branch.code)).sum())
        own = branch.holds(space, data.X, active)
        if own[int(np.argmin(m))] or not (branch.n_own or dimension.nominal) or tried >= fair_chance(branch):
            continue
        still = settled(space, data.X, m, own)
        place = gap(space, branch, data.X[own][int(np.argmin(m[own]))], K) if still else None
        out.append(_Waiting(replace(branch, n_trials=tried), own, still and place is None, place))
    return out


def fair_chance(branch: Branch) -> int:
    """Trials after which a choice gets no more turns."""
    return branch.fair_chance if branch.n_own else _FEWEST


def _part(space: Space, branch: Branch) -> Slice:
    """Everything with this choice, and with what it takes for its parameter to exist."""
    held = {space.names[branch.column]: _value(space, branch)}
    name = space.names[branch.column]
    while name in space.conditions:
        rule = space.conditions[name]
        name = rule.parent
        parent = space.dimensions[space.index[name]]
        inside = 0.5 * (rule.low + rule.high)
        held[name] = float(parent.midpoint(np.array(rule.codes[:1]))[0]) if rule.codes else inside
    return Slice.of(space, held)


def _value(space: Space, branch: Branch) -> float:
    """The choice, encoded."""
    return float(space.dimensions[branch.column].midpoint(np.array([branch.code]))[0])


def _words(space: Space, waiting: _Waiting) -> str:
    branch = waiting.branch
    dimension = space.dimensions[branch.column]
    choice = value_text(dimension.decode(np.array([_value(space, branch)]))[0])
    tried = f"which had had {branch.n_trials} of the {fair_chance(branch)} trials that a choice is given"
    look = "" if waiting.gap is None else " Its search had settled, so this trial looked into the widest gap."
    return f"It was the turn of `{dimension.name}` = {choice}, {tried}.{look}"
