"""Turns for choices: every choice of a model gets its chance before the search settles on one.

A model that has seen three trials of a choice is surer of it than it should be, so an acquisition polishes the first
good choice and forgets the others. Two proposals in three therefore go to a choice that has not had its chance yet,
searched on its own: the proposal must improve on the best trial with that choice, not on the best of all. The choice
with the best trial needs no turns. Choices whose own search has settled have shown what they are worth; they come
last, and get one proposal in three. Among the others, those with the fewest trials come first.

Notation
    n_b   trials that had choice b: finished, failed or running
    p_b   chance that b holds something better than the best trials, from joint draws of the model
    m     latent means of the trials (smaller is better)

Chosen on the design families of the laboratory's `choices` and the design problems of its `models`. Turns in the order
of p_b found hidden choices less often: what a choice could still be is what the model does not know yet. So p_b is only
said in the receipt. Choices without parameters of their own are only tried twice, because the others say something
about them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from optuna.trial import FrozenTrial

from pellucid.acquisition.slices import Slice
from pellucid.explain.parts import Branch, best_rows, branches, inside_branch, joint_latent
from pellucid.explain.text import counted, value_text
from pellucid.numerics import Array, Mask
from pellucid.samplers.proposing import others
from pellucid.samplers.proposing.maximising import Region
from pellucid.study import trials
from pellucid.study.arrays import Arrays
from pellucid.study.encoding import Space
from pellucid.study.view import StudyView
from pellucid.surrogates import GaussianProcess

# Of so many proposals, the first is no turn, the second a turn of any choice, and the others of unsettled choices.
_PERIOD = 3
# Candidates of a choice that its chance is judged by, and the best trials that they are compared with.
_N_CANDIDATES, _N_BEST = 16, 4
# Trials of a choice without parameters of its own.
_FEWEST = 2
# A choice has settled if so many of its last trials lie this close to its best one, and have not brought it nearer to
# the best of all by more than this share.
_RECENT, _N_CLOSE, _CLOSE, _NEARER = 3, 2, 0.1, 0.25


def turn(view: StudyView, trial: FrozenTrial, data: Arrays, gp: GaussianProcess) -> Region:
    """The choice whose turn it is; the whole space if it is none's turn."""
    if trial.number % _PERIOD == 0:
        return Region()
    space, m = data.space, gp.latent_at_observed()
    active = space.active(data.X)
    waiting = []
    for branch in _waiting(view, trial, data):
        own = branch.holds(space, data.X, active)
        done = settled(space, data.X, m, own)
        if not own[int(np.argmin(m))] and not (done and trial.number % _PERIOD > 1):
            waiting.append((done, branch.n_trials, branch, own))
    if not waiting:
        return Region()
    known = others.known(space, view, trial.number)
    for _, _, branch, own in sorted(waiting, key=lambda item: item[:2]):
        part = _part(space, branch)
        if len(part.free) and not part.exhausted(known):
            words = _words(space, branch, _chance(gp, data, branch))
            return Region(part, turn=words, own=own if own.any() else None)
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


def _waiting(view: StudyView, trial: FrozenTrial, data: Arrays) -> list[Branch]:
    """Choices that have not had their chance: without an order, or with parameters of their own."""
    dimensions = data.space.dimensions
    without_value = [
        *(failed.params for failed in trials.failed(view.trials)),
        *trials.pending(view.trials, trial.number).values(),
    ]
    out = []
    for branch in branches(data):
        dimension = dimensions[branch.column]
        had = [configuration[dimension.name] for configuration in without_value if dimension.name in configuration]
        u, known = dimension.encode(had)
        more = int((known & (dimension.code(u) == branch.code)).sum())
        if (branch.n_own or dimension.nominal) and branch.n_trials + more < fair_chance(branch):
            out.append(replace(branch, n_trials=branch.n_trials + more))
    return out


def fair_chance(branch: Branch) -> int:
    """Trials after which a choice gets no more turns."""
    return branch.fair_chance if branch.n_own else _FEWEST


def _chance(gp: GaussianProcess, data: Arrays, branch: Branch) -> float:
    """p_b."""
    best, inside = best_rows(gp, data, _N_BEST), inside_branch(gp, data, branch, _N_CANDIDATES)
    draws = joint_latent((gp,), np.vstack([best, inside]))
    better = draws[:, len(best) :].min(axis=1) < draws[:, : len(best)].min(axis=1)
    return (float(better.sum()) + 1.0) / (len(draws) + 2.0)


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


def _words(space: Space, branch: Branch, chance: float) -> str:
    dimension = space.dimensions[branch.column]
    choice = value_text(dimension.decode(np.array([_value(space, branch)]))[0])
    tried = f"tried {counted(branch.n_trials, 'time')}, and {fair_chance(branch)} are its fair chance"
    alone = f"The model alone puts its chance of being best at {chance:.2g}."
    return f"It was the turn of `{dimension.name}` = {choice}: {tried}. {alone}"
